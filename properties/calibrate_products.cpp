// Tensor-core properties from sums made to tell: which products survive beside larger ones, which
// way results are rounded. After numerics of Fasi, Higham, Mikaitis and Pranesh (PeerJ CS 7:e330)
// and FPRev (arXiv 2411.00442).
// Three products must fit in a step, and 23 bits be kept: every known device has more.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "properties/assert.hpp"
#include "properties/calibrate_rows.hpp"
#include "properties/translate.hpp"

namespace halfulp::properties {

namespace {

struct Pair {
  double a, b;
};
// c + sum of a b, one pair a k; further k are zero.
struct Dot {
  double c = 0;
  std::vector<Pair> pairs;
};

constexpr int kBitsMost = 28;  // 2^-28 is a product of two normal halves

std::uint32_t bits(gpu::Format format, double value) {
  const reference::Format stored = reference_format(format);
  const auto result = static_cast<std::uint32_t>(reference::encode(stored, value));
  HALFULP_ASSERT(reference::decode(stored, result) == value, "the factor is exact");
  return result;
}

// Each sum in all 128 elements of one instruction, which must agree.
std::vector<double> sums(const Subject& subject, gpu::Format format, const std::vector<Dot>& dots) {
  const auto depth = static_cast<std::size_t>(gpu::products_depth(format));
  gpu::Products products;
  products.format = format;
  for (const Dot& dot : dots) {
    const auto pair = [&](std::size_t k) { return k < dot.pairs.size() ? dot.pairs[k] : Pair{}; };
    for (std::size_t e = 0; e < 16 * depth; ++e) {
      products.a.push_back(bits(format, pair(e % depth).a));
    }
    for (std::size_t e = 0; e < depth * 8; ++e) products.b.push_back(bits(format, pair(e / 8).b));
    products.c.insert(products.c.end(), 128, bits(gpu::Format::f32, dot.c));
  }
  const auto words = checked(gpu::multiply_add(subject.options.target, products));
  std::vector<double> results;
  for (std::size_t i = 0; i < words.size(); i += 128) {
    for (std::size_t e = 1; e < 128; ++e) {
      if (words[i + e] != words[i]) {
        throw DeviceError(fmt::format("elements 0 and {} of one product differ: {:#010x} {:#010x}",
                                      e, words[i], words[i + e]));
      }
    }
    results.push_back(std::bit_cast<float>(words[i]));
  }
  return results;
}

// 2^exponent as a product of normal factors.
Pair power(int exponent) {
  const int half = exponent >> 1;
  return {std::ldexp(1, half), std::ldexp(1, exponent - half)};
}

// The largest t up to which 2^-t is kept beside 1 and -1, as a product and as the addend.
std::pair<int, int> bits_kept(const Subject& subject, gpu::Format format) {
  std::vector<Dot> dots;
  for (int t = 1; t <= kBitsMost; ++t) {
    dots.push_back({0, {{1, 1}, {-1, 1}, power(-t)}});
    dots.push_back({std::ldexp(1, -t), {{1, 1}, {-1, 1}}});
  }
  const std::vector<double> results = sums(subject, format, dots);
  int kept[2] = {0, 0};
  for (std::size_t which = 0; which < 2; ++which) {
    for (int t = 1; t <= kBitsMost; ++t) {
      if (results[2 * static_cast<std::size_t>(t - 1) + which] != std::ldexp(1, -t)) break;
      kept[which] = t;
    }
  }
  return {kept[0], kept[1]};
}

int alignment_bits_of(const Subject& subject, gpu::Format format) {
  const auto [product, addend] = bits_kept(subject, format);
  return std::min(product, addend);
}

Finding alignment_bits(const Subject& subject, gpu::Format format) {
  const auto [product, addend] = bits_kept(subject, format);
  Finding finding =
      at_least(std::min(product, addend), subject.declarations.tensor_core.alignment_bits);
  if (product != addend) finding.detail = fmt::format("products {}, addend {}", product, addend);
  return finding;
}

// With +2^30 as the addend or the first product and -2^30 at k = j, ones elsewhere: how many ones
// survive. Those in one step with either big one are lost, and those added to a big sum.
std::vector<int> survivors(const Subject& subject, gpu::Format format, bool in_addend) {
  const int depth = static_cast<int>(gpu::products_depth(format));
  std::vector<Dot> dots;
  for (int j = in_addend ? 0 : 1; j < depth; ++j) {
    Dot dot;
    dot.pairs.assign(static_cast<std::size_t>(depth), {1, 1});
    dot.pairs[static_cast<std::size_t>(j)] = {-0x1p15, 0x1p15};
    if (in_addend) dot.c = 0x1p30;
    if (!in_addend) dot.pairs[0] = {0x1p15, 0x1p15};
    dots.push_back(dot);
  }
  const std::vector<double> results = sums(subject, format, dots);
  return {results.begin(), results.end()};
}

// Products a step, if blocks of that many ascending k explain all survivors; otherwise 0.
int products_a_step_of(const Subject& subject, gpu::Format format, std::string& detail) {
  const int depth = static_cast<int>(gpu::products_depth(format));
  const std::vector<int> addend = survivors(subject, format, true);
  const std::vector<int> product = survivors(subject, format, false);
  const int step = depth - addend.front();
  const auto explained = [&](const std::vector<int>& counts, int first) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const int j = static_cast<int>(i) + first;
      if (step <= 0 || counts[i] != std::max(0, depth - step * (j / step + 1))) return false;
    }
    return true;
  };
  if (explained(addend, 0) && explained(product, 1)) return step;
  detail = fmt::format("ones that survive 2^30 in the addend: {}; in a product: {}",
                       fmt::join(addend, " "), fmt::join(product, " "));
  return 0;
}

int declared_products(const gpu::TensorCore& core, gpu::Format format) {
  return format == gpu::Format::tf32 ? core.products_tf32 : core.products_16_bit;
}

Finding products_a_step(const Subject& subject, gpu::Format format) {
  std::string detail;
  const int measured = products_a_step_of(subject, format, detail);
  Finding finding = at_least(measured, declared_products(subject.declarations.tensor_core, format));
  if (measured == 0) finding.measured = "irregular";
  finding.detail = detail;
  return finding;
}

// An addend beside 2^30 - 2^30: lost where it is aligned with them.
Finding addend(const Subject& subject, gpu::Format format) {
  const double result = sums(subject, format, {{1, {{0x1p15, 0x1p15}, {-0x1p15, 0x1p15}}}})[0];
  return word(result == 0 ? "in the first step" : "apart", "in the first step");
}

// Which way +base and -base go when something below their last bit is added: by more than half of
// it and by less, each a pair (for +, for -) of whether the magnitude grew.
std::string_view direction(bool more_up, bool more_down, bool less_up, bool less_down) {
  if (!more_up && !more_down) return "toward zero";
  if (more_up && more_down) return less_up || less_down ? "away from zero" : "nearest";
  return more_up ? "upward" : "downward";
}

// 3/4 and 1/4 of the last bit kept beside +-1 and -+1.
Finding alignment_cut(const Subject& subject, gpu::Format format) {
  const int kept = alignment_bits_of(subject, format);
  const auto beside_one = [&](double quarters) {
    const Pair p = power(-kept - 2);
    return Dot{0, {{1, 1}, {-1, 1}, {quarters * p.a, p.b}}};
  };
  if (kept + 2 > kBitsMost) return word("exact", "toward zero", "exact");
  const std::vector<double> r =
      sums(subject, format, {beside_one(3), beside_one(-3), beside_one(1), beside_one(-1)});
  return word(direction(r[0] > 0, r[1]<0, r[2]> 0, r[3] < 0), "toward zero", "nearest");
}

// Half of the last bit of an odd 1 + 2^-23, which rounds up to even, and a quarter of it.
Finding write_out(const Subject& subject, gpu::Format format) {
  const double odd = 1 + 0x1p-23;
  const auto onto = [&](double sign, int exponent) {
    const Pair p = power(exponent);
    return Dot{sign * odd, {{sign * p.a, p.b}}};
  };
  const std::vector<double> r =
      sums(subject, format, {onto(1, -24), onto(-1, -24), onto(1, -25), onto(-1, -25)});
  return word(direction(r[0] > odd, r[1]<-odd, r[2]> odd, r[3] < -odd), "toward zero", "nearest");
}

// Subnormal factors on either side, and a subnormal addend; a subnormal result too where the
// format's products reach so low.
Finding subnormals(const Subject& subject, gpu::Format format) {
  const double least = reference::subnormal_spacing(reference_format(format));
  const double scale = format == gpu::Format::f16 ? 0x1p15 : 0x1p100;
  const bool deep = format != gpu::Format::f16;
  const Pair tiny = deep ? Pair{0x1p-70, 0x1p-70} : Pair{1, 1};
  const std::vector<double> r = sums(
      subject, format, {{0, {{least, scale}}}, {0, {{scale, least}}}, {0x1p-149, {}}, {0, {tiny}}});
  const double expected[] = {least * scale, least * scale, 0x1p-149, tiny.a * tiny.b};
  const char* const what[] = {"in a", "in b", "addend", "result"};
  std::string lost;
  for (std::size_t i = 0; i < 4; ++i) {
    if (r[i] != expected[i]) lost += fmt::format("{}{}", lost.empty() ? "" : ", ", what[i]);
  }
  Finding finding = word(lost.empty() ? "kept" : "flushed", "kept");
  finding.detail = lost;
  return finding;
}

// 2^-9 as a subnormal times a large number, and as normal ones: the addend 2^-30 is lost beside the
// first where a subnormal counts with the smallest exponent of its format.
Finding exponents(const Subject& subject, gpu::Format format) {
  const double least = reference::subnormal_spacing(reference_format(format));
  const std::vector<double> r =
      sums(subject, format, {{0x1p-30, {{least, 0x1p-9 / least}}}, {0x1p-30, {{0x1p-9, 1}}}});
  const double both = 0x1p-9 + 0x1p-30;
  Finding finding =
      word(r[0] == both ? "normalised" : "not normalised", "not normalised", "normalised");
  if (r[1] != both) finding.detail = "2^-30 is lost beside a normal 2^-9 too";
  return finding;
}

// A zero times the largest power of two: does it count as an exponent?
Finding zeros(const Subject& subject, gpu::Format format) {
  const double large = format == gpu::Format::f16 ? 0x1p15 : 0x1p127;
  const std::vector<double> r =
      sums(subject, format,
           {{0x1p-30, {{0, large}}}, {0x1p-30, {{large, 0}}}, {0x1p-30, {{0, -large}}}});
  const bool ignored = std::ranges::all_of(r, [](double x) { return x == 0x1p-30; });
  Finding finding = word(ignored ? "ignored" : "aligned to", "ignored");
  if (!ignored) {
    finding.detail =
        fmt::format("2^-30 + 0 x {:a} = {:a}, with the zero in b {:a}", large, r[0], r[1]);
  }
  return finding;
}

}  // namespace

gpu::TensorCore measured_tensor_core(const Subject& subject, gpu::Format format) {
  std::string detail;
  const int step = products_a_step_of(subject, format, detail);
  return {alignment_bits_of(subject, format), step, step};
}

std::span<const ProductRow> product_rows() {
  static constexpr ProductRow kRows[] = {
      {"alignment bits", alignment_bits},
      {"what is cut in alignment", alignment_cut},
      {"products a step", products_a_step},
      {"the addend", addend},
      {"write-out", write_out},
      {"subnormals", subnormals},
      {"exponents of subnormals", exponents},
      {"zero factors", zeros},
      {"random products", random_products},
  };
  return kRows;
}

}  // namespace halfulp::properties
