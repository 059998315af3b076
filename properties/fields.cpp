#include "properties/fields.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <deque>

#include "properties/assert.hpp"
#include "properties/spec.hpp"

namespace halfulp::properties {
namespace {

// Lives as long as the program: fields hold views.
std::string_view keep(std::string text) {
  static std::deque<std::string> kept;
  return kept.emplace_back(std::move(text));
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::string plain(double value) {
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

std::string integer_text(double value) { return std::to_string(static_cast<std::int64_t>(value)); }

std::string canonical_integer(const Field& field, std::string_view text) {
  const auto value = parse_integer(text);
  const bool in_range = value && static_cast<double>(*value) >= field.low &&
                        static_cast<double>(*value) <= field.high;
  return in_range ? std::to_string(*value) : std::string();
}

// A number other than 0 that fp32 takes for 0.
bool underflows(std::string_view text) {
  float value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc::result_out_of_range || rest != end) return false;
  return std::fabs(std::strtod(std::string(text).c_str(), nullptr)) < 1;  // else it overflows
}

// 0.digits times 10^exponent; no digits: 0.
struct Decimal {
  bool negative = false;
  std::string digits;  // the first and the last are not 0
  std::int64_t exponent = 0;

  // `text` is a number as from_chars() reads one.
  explicit Decimal(std::string_view text) {
    negative = text.starts_with('-');
    const std::size_t e = std::min(text.find_first_of("eE"), text.size());
    if (e < text.size()) {
      std::string_view rest = text.substr(e + 1);
      if (rest.starts_with('+')) rest.remove_prefix(1);
      std::from_chars(rest.data(), rest.data() + rest.size(), exponent);
    }
    bool fraction = false;
    for (const char c : text.substr(0, e)) {
      if (c == '.') fraction = true;
      if (c < '0' || c > '9') continue;
      const bool leading = digits.empty() && c == '0';
      if (!leading) digits += c;
      exponent += (fraction ? 0 : 1) - (leading ? 1 : 0);
    }
    digits.erase(digits.find_last_not_of('0') + 1);
  }
};

bool less(const Decimal& a, const Decimal& b) {
  const auto sign = [](const Decimal& x) { return x.digits.empty() ? 0 : x.negative ? -1 : 1; };
  if (sign(a) != sign(b)) return sign(a) < sign(b);
  if (sign(a) == 0) return false;
  const bool smaller = a.exponent != b.exponent ? a.exponent < b.exponent : a.digits < b.digits;
  const bool same = a.exponent == b.exponent && a.digits == b.digits;
  return !same && smaller != a.negative;
}

// Of the number that is written: fp32 rounds some of those beyond into the range.
bool in_range(const Field& field, std::string_view text) {
  const Decimal value(text);
  return !less(value, Decimal(plain(field.low))) && !less(Decimal(plain(field.high)), value);
}

std::string canonical_real(const Field& field, std::string_view text) {
  float value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end || !std::isfinite(value)) return {};
  if (value < field.low || value > field.high || !in_range(field, text)) return {};
  if (value == 0) value = 0;  // -0 has no spelling of its own
  std::array<char, 64> buffer{};
  const auto last = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  std::string shortest(buffer.data(), last);
  const std::size_t exponent = shortest.find('e');  // "1e-06" is written 1e-6
  if (exponent != std::string::npos && shortest.size() == exponent + 4 &&
      shortest[exponent + 2] == '0') {
    shortest.erase(exponent + 2, 1);
  }
  return shortest;
}

std::string canonical_seed(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (hexadecimal) text.remove_prefix(2);
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, hexadecimal ? 16 : 10);
  if (error != std::errc{} || rest != end) return {};
  std::array<char, 32> buffer{};
  const auto last = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, 16).ptr;
  return "0x" + std::string(buffer.data(), last);
}

std::string canonical_word(const Field& field, std::string_view text) {
  for (const std::string_view word : split(field.words, '|')) {
    if (word == text) return std::string(text);
  }
  return {};
}

}  // namespace

std::vector<Field> with_common_fields(std::span<const Field> own, CommonWords words) {
  const std::string_view laws =
      keep(words.laws.empty() ? std::string("none") : "none|" + std::string(words.laws));
  std::vector<Field> fields;
  fields.push_back({.name = "backend",
                    .kind = FieldKind::word,
                    .fallback = "host",
                    .words = "host|host-checked|cuda",
                    .always = true,
                    .help = "what runs the kernel"});
  fields.push_back({.name = "in",
                    .kind = FieldKind::word,
                    .fallback = "f32",
                    .words = words.storage,
                    .always = true,
                    .help = "storage format of every floating-point operand"});
  fields.insert(fields.end(), own.begin(), own.end());
  fields.push_back({.name = "fill",
                    .kind = FieldKind::word,
                    .fallback = "normal",
                    .words = words.fills,
                    .always = true,
                    .help = "values of the inputs"});
  fields.push_back({.name = "layout",
                    .kind = FieldKind::spec,
                    .fallback = "packed",
                    .help = "packed, gap:G, every:N, permuted, broadcast, offset:K or mixed"});
  fields.push_back({.name = "order",
                    .kind = FieldKind::word,
                    .fallback = "round_robin",
                    .words = "round_robin|reverse|burst|exhaustive",
                    .help = "schedule of the host executor"});
  fields.push_back({.name = "resident",
                    .kind = FieldKind::integer,
                    .fallback = "4",
                    .low = 1,
                    .high = 64,
                    .help = "blocks resident at once on the host executor"});
  fields.push_back({.name = "law",
                    .kind = FieldKind::word,
                    .fallback = "none",
                    .words = laws,
                    .help = "a law to check beside the numbers"});
  fields.push_back({.name = "seed",
                    .kind = FieldKind::seed,
                    .fallback = "0x1",
                    .always = true,
                    .help = "seed of values, random graphs and burst schedules"});
  return fields;
}

std::string shown(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string result;
  for (const char c : text.substr(0, kShownBytes)) {
    if (!is_control(c)) {
      result += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      result += "\\x";
      result += kDigits[byte >> 4];
      result += kDigits[byte & 15];
    }
  }
  return text.size() <= kShownBytes ? result : result + "...";
}

std::string range_text(const Field& field) {
  if (field.kind == FieldKind::integer) {
    return integer_text(field.low) + " to " + integer_text(field.high);
  }
  return plain(field.low) + " to " + plain(field.high);
}

std::string accepted(const Field& field) {
  switch (field.kind) {
    case FieldKind::integer:
      return "an integer from " + range_text(field);
    case FieldKind::real:
      return "a number from " + range_text(field);
    case FieldKind::word:
      return "one of " + join(split(field.words, '|'), ", ");
    case FieldKind::spec:
      return std::string(field.help);
    case FieldKind::seed:
      return "0x and up to 16 hexadecimal digits, or a decimal number";
  }
  HALFULP_ASSERT(false, "no such field kind");
  return {};
}

std::string canonical_value(const Field& field, std::string_view text, std::string& error) {
  std::string value;
  switch (field.kind) {
    case FieldKind::integer:
      value = canonical_integer(field, text);
      break;
    case FieldKind::real:
      value = canonical_real(field, text);
      break;
    case FieldKind::word:
      value = canonical_word(field, text);
      break;
    case FieldKind::spec:
      if (std::ranges::none_of(text, is_control)) value = canonical_spec(text);
      break;
    case FieldKind::seed:
      value = canonical_seed(text);
      break;
  }
  if (value.empty()) {
    error = std::string(field.name) + "=" + shown(text) + ": expected " + accepted(field);
    const bool lost = field.kind == FieldKind::real && underflows(text);
    if (lost) error += "; fp32 takes this one for 0";
  }
  return value;
}

}  // namespace halfulp::properties
