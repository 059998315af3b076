#include "properties/spec.hpp"

#include <algorithm>
#include <charconv>

namespace halfulp::properties {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above + 1, row[j - 1] + 1, replaced});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

bool Spec::has(std::string_view argument) const {
  return std::find(arguments.begin(), arguments.end(), argument) != arguments.end();
}

bool Spec::take(std::string_view argument) {
  const auto found = std::find(arguments.begin(), arguments.end(), argument);
  if (found == arguments.end()) return false;
  arguments.erase(found);
  return true;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  if (text.empty()) return parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Spec split_spec(std::string_view text) {
  Spec spec;
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.empty()) return spec;
  spec.family = parts.front();
  spec.arguments.assign(parts.begin() + 1, parts.end());
  return spec;
}

std::string print(const Spec& spec) {
  std::string text = spec.family;
  for (const std::string& argument : spec.arguments) text += ":" + argument;
  return text;
}

std::string canonical_spec(std::string_view text) {
  Spec spec = split_spec(text);
  for (std::string& argument : spec.arguments) {
    if (const auto value = parse_integer(argument)) argument = std::to_string(*value);
  }
  return print(spec);
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return value;
}

std::string_view nearest(std::string_view text, const std::vector<std::string_view>& words) {
  std::string_view best;
  std::size_t best_distance =
      std::min<std::size_t>(3, std::max<std::size_t>(1, text.size() / 2)) + 1;
  for (const std::string_view word : words) {
    const std::size_t distance = edit_distance(text, word);
    if (distance < best_distance) {
      best = word;
      best_distance = distance;
    }
  }
  return best;
}

std::string join(const std::vector<std::string_view>& words, std::string_view separator) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

}  // namespace halfulp::properties
