#include "tests/reference/ops/flash_attention_simulated.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

namespace halfulp::reference::simulated {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

constexpr float kLog2E = 1.44269504f;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

float step(float x, std::int64_t ulps) {
  for (; ulps > 0; --ulps) x = std::nextafter(x, kInfinity);
  for (; ulps < 0; ++ulps) x = std::nextafter(x, 0.0f);
  return x;
}

// The sums of the keys seen so far.
struct State {
  float maximum = -kInfinity;
  float sum = 0;
  std::vector<float> out;
};

class Kernel {
 public:
  Kernel(const FlashAttention& op, const FlashStyle& style, std::int64_t head, std::int64_t query,
         Generator& generator)
      : op_(op),
        style_(style),
        declared_(style.declared()),
        batch_(head / op.heads),
        head_(head % op.heads),
        query_(query),
        generator_(generator) {}

  std::vector<double> run();

 private:
  bool base_2() const { return style_.exponent != Exponent::difference; }
  float flushed(float x) const {
    return declared_.flush_to_zero && std::abs(x) < 0x1p-126f ? 0 : x;
  }
  float multiply(float x, float y) const { return flushed(flushed(x) * flushed(y)); }
  float add(float x, float y) const { return flushed(flushed(x) + flushed(y)); }
  float multiply_add(float x, float y, float z) const {
    if (!style_.fma) return add(multiply(x, y), z);
    return flushed(std::fma(flushed(x), flushed(y), flushed(z)));
  }
  std::int64_t off() { return below(generator_, 2 * style_.exp_ulps + 1) - style_.exp_ulps; }

  // `push`: the direction in which a larger weight moves the answer.
  float exponential(float x, double push);
  // of a score, or an old maximum.
  float weight(float score, float maximum, double push);
  float score(std::int64_t key);
  void take(const std::vector<std::int64_t>& keys, State& state);
  void add_products(const std::vector<float>& weights, const std::vector<std::int64_t>& keys,
                    std::vector<float>& out);
  float tree_sum(std::vector<float> leaves);
  float tensor_core_step(float sum, const std::vector<double>& a, const std::vector<double>& b,
                         std::size_t first, std::size_t last) const;
  State merged(const std::vector<State>& parts);

  const FlashAttention& op_;
  const FlashStyle& style_;
  const Arithmetic& declared_;
  std::int64_t batch_, head_, query_;
  Generator& generator_;
  float scale_ = 1;   // what is applied to a sum of products to make it a score
  float factor_ = 1;  // what is applied to scores
  float lazy_ = 0;    // in units of scores
  bool masked_ = false;
  std::vector<float> scores_;
};

float Kernel::exponential(float x, double push) {
  if (x == 0) return 1;
  double y = base_2() ? std::exp2(double{x}) : std::exp(double{x});
  float result = static_cast<float>(y);
  const ExponentialModel& model = declared_.exponential;
  if (result > 0 && !std::isinf(result)) {
    const auto most =
        style_.exp_ulps + static_cast<std::int64_t>(model.ulps_slope * std::abs(double{x}));
    result = step(result, style_.exp_adversarial ? (push > 0 ? most : -most) : off());
  }
  return model.flushes && result < 0x1p-126f ? 0 : flushed(result);
}

float Kernel::weight(float score, float maximum, double push) {
  if (score == -kInfinity) return 0;
  switch (style_.exponent) {
    case Exponent::scaled_difference:
      return exponential(multiply(add(score, -maximum), kLog2E), push);
    case Exponent::raw_difference:
      return exponential(multiply(add(score, -maximum), factor_), push);
    case Exponent::fused:
      return exponential(flushed(std::fma(score, factor_, -multiply(maximum, factor_))), push);
    case Exponent::unfused:
      return exponential(add(multiply(score, factor_), -multiply(maximum, factor_)), push);
    default:
      return exponential(add(score, -maximum), push);
  }
}

float Kernel::score(std::int64_t key) {
  const float mask = masked_ ? static_cast<float>(op_.mask.at(batch_, head_, query_, key)) : 0.0f;
  if (mask == -kInfinity) return mask;
  std::vector<double> q(index(op_.dim)), k(q.size());
  op_.q.row(batch_, head_, query_, 3, op_.dim, q.data());
  op_.k.row(batch_, head_, key, 3, op_.dim, k.data());
  float scale = scale_;
  if (style_.query_scaled) {
    for (double& x : q) x = double{multiply(static_cast<float>(x), scale)};
    scale = 1;
  }
  const float product = static_cast<float>(dot(style_.dot, q, k, generator_));
  if (!masked_) return style_.query_scaled ? product : multiply(product, scale);
  const float added = style_.exponent == Exponent::folded ? multiply(mask, kLog2E) : mask;
  return style_.query_scaled ? add(product, added) : multiply_add(product, scale, added);
}

float Kernel::tree_sum(std::vector<float> leaves) {
  const bool random = below(generator_, 2) == 0;
  while (leaves.size() > 1) {
    const std::size_t at = random ? index(below(generator_, std::ssize(leaves) - 1)) : 0;
    leaves[at] = add(leaves[at], leaves[at + 1]);
    leaves.erase(leaves.begin() + std::int64_t(at) + 1);
  }
  return leaves.empty() ? 0 : leaves[0];
}

// [first, last) of the products and the accumulator, aligned to the largest exponent, truncated.
float Kernel::tensor_core_step(float sum, const std::vector<double>& a,
                               const std::vector<double>& b, std::size_t first,
                               std::size_t last) const {
  if (!std::isfinite(sum)) return sum;
  for (std::size_t i = first; i < last; ++i) {
    if (!std::isfinite(a[i] * b[i])) return static_cast<float>(a[i] * b[i]);
  }
  const int least = traits(declared_.input).exponent_min;
  const auto operand = [&](double x) {
    if (x != 0) return std::max(std::ilogb(x), least);
    return style_.dot.zero_has_exponent ? -126 : -100000;
  };
  int largest = sum != 0 ? std::max(std::ilogb(sum), -126) : -100000;
  for (std::size_t i = first; i < last; ++i) {
    largest = std::max(largest, operand(a[i]) + operand(b[i]));
  }
  if (largest < -1000) return sum;
  const int grid = largest - declared_.tensor_core.alignment_bits;
  double total = std::trunc(std::ldexp(double{sum}, -grid));
  for (std::size_t i = first; i < last; ++i) {
    total += std::trunc(std::ldexp(a[i] * b[i], -grid));
  }
  return static_cast<float>(round_to(Format::fp32, std::ldexp(total, grid), Rounding::toward_zero));
}

// out += weights v, over a tile of keys.
void Kernel::add_products(const std::vector<float>& weights, const std::vector<std::int64_t>& keys,
                          std::vector<float>& out) {
  const Rounding rounding =
      declared_.operand_roundoff == 0x1p-10 ? Rounding::toward_zero : Rounding::nearest_even;
  std::vector<double> a(weights.begin(), weights.end()), b(keys.size());
  for (std::int64_t d = 0; d < op_.dim; ++d) {
    for (std::size_t j = 0; j < keys.size(); ++j) {
      b[j] = op_.v.at(batch_, head_, keys[j], d);
      if (declared_.operand_roundoff > 0) b[j] = round_to(Format::tf32, b[j], rounding);
    }
    float sum = declared_.product_apart ? 0 : out[index(d)];
    if (declared_.tensor_core.alignment_bits != 0) {
      const std::size_t products = index(declared_.tensor_core.products);
      for (std::size_t j = 0; j < keys.size(); j += products) {
        sum = tensor_core_step(sum, a, b, j, std::min(j + products, keys.size()));
      }
    } else if (style_.dot.summation == Summation::tree) {
      std::vector<float> leaves{sum};
      for (std::size_t j = 0; j < keys.size(); ++j) {
        if (a[j] != 0) leaves.push_back(multiply(weights[j], static_cast<float>(b[j])));
      }
      sum = tree_sum(leaves);
    } else {
      for (std::size_t j = 0; j < keys.size(); ++j) {
        sum = multiply_add(weights[j], static_cast<float>(b[j]), sum);
      }
    }
    out[index(d)] = declared_.product_apart ? add(out[index(d)], sum) : sum;
  }
}

void Kernel::take(const std::vector<std::int64_t>& keys, State& state) {
  std::vector<float> scores, weights, rounded;
  for (const std::int64_t key : keys) scores.push_back(scores_[index(key)]);
  float largest = state.maximum;
  for (const float s : scores) largest = std::max(largest, s);
  if (largest == -kInfinity) return;
  const bool keep =
      state.maximum != -kInfinity &&
      (!style_.online || largest - state.maximum <= lazy_ || largest == state.maximum);
  const bool rescaled = style_.online && state.maximum != -kInfinity;
  if (!keep || (declared_.exponential.log2e_first && rescaled)) {
    const float next = keep ? state.maximum : largest;
    const float rescale = state.maximum == -kInfinity ? 0 : weight(state.maximum, next, 1);
    state.sum = multiply(state.sum, rescale);
    for (float& x : state.out) x = multiply(x, rescale);
    state.maximum = next;
  }
  const Rounding rounding =
      declared_.operand_roundoff == 0x1p-10 ? Rounding::toward_zero : Rounding::nearest_even;
  for (std::size_t j = 0; j < keys.size(); ++j) {
    const double push = op_.v.at(batch_, head_, keys[j], 0);
    weights.push_back(weight(scores[j], state.maximum, push));
    rounded.push_back(static_cast<float>(round_to(declared_.weight, double{weights[j]}, rounding)));
  }
  state.sum = add(state.sum, tree_sum(declared_.weight_sum_rounded ? rounded : weights));
  add_products(rounded, keys, state.out);
}

State Kernel::merged(const std::vector<State>& parts) {
  if (parts.size() == 1) return parts[0];
  State all;
  all.out.assign(index(op_.dim), 0);
  for (const State& part : parts) all.maximum = std::max(all.maximum, part.maximum);
  for (const State& part : parts) {
    if (part.maximum == -kInfinity) continue;
    const float factor = weight(part.maximum, all.maximum, 1);
    all.sum = multiply_add(part.sum, factor, all.sum);
    for (std::size_t d = 0; d < all.out.size(); ++d) {
      all.out[d] = multiply_add(part.out[d], factor, all.out[d]);
    }
  }
  return all;
}

std::vector<double> Kernel::run() {
  masked_ = op_.mask.data != nullptr;
  const float scale = op_.scale != 0 ? static_cast<float>(op_.scale)
                                     : 1.0f / std::sqrt(static_cast<float>(op_.dim));
  scale_ = scale;
  if (style_.exponent == Exponent::folded) scale_ = scale * kLog2E;
  factor_ = kLog2E;
  const bool in_exponent = style_.exponent == Exponent::fused ||
                           style_.exponent == Exponent::unfused ||
                           style_.exponent == Exponent::raw_difference;
  if (in_exponent && !masked_) {  // only the factor's magnitude may wait until maxima are taken
    factor_ = std::abs(scale) * kLog2E;
    scale_ = std::copysign(1.0f, scale);
  }
  lazy_ = static_cast<float>(style_.lazy_bits);
  if (style_.exponent != Exponent::folded) lazy_ /= factor_ * 1.0001f;
  if (!base_2()) lazy_ = static_cast<float>(style_.lazy_bits * 0.693);

  for (std::int64_t key = 0; key < op_.keys; ++key) scores_.push_back(score(key));
  std::vector<std::vector<std::int64_t>> tiles;
  for (std::int64_t first = 0; first < op_.keys; first += style_.tile) {
    std::vector<std::int64_t>& tile = tiles.emplace_back();
    for (std::int64_t key = first; key < std::min(first + style_.tile, op_.keys); ++key) {
      tile.push_back(key);
    }
  }
  if (style_.reverse) std::reverse(tiles.begin(), tiles.end());
  std::vector<State> parts(index(style_.splits));
  for (State& part : parts) part.out.assign(index(op_.dim), 0);
  if (!style_.online) {
    for (std::int64_t key = 0; key < op_.keys; ++key) {
      for (State& part : parts) part.maximum = std::max(part.maximum, scores_[index(key)]);
    }
  }
  for (std::size_t t = 0; t < tiles.size(); ++t) take(tiles[t], parts[t % parts.size()]);
  const State whole = merged(parts);
  std::vector<double> result;
  for (const float x : whole.out) {
    if (whole.sum == 0) {
      result.push_back(0);
    } else if (style_.reciprocal_ulps < 0) {
      result.push_back(double{flushed(x / whole.sum)});
    } else {
      const bool power = whole.sum == std::exp2(static_cast<float>(std::ilogb(whole.sum)));
      const std::int64_t most = power ? 0 : style_.reciprocal_ulps;  // of a power of two: exact
      const float reciprocal = step(1 / whole.sum, below(generator_, 2 * most + 1) - most);
      result.push_back(double{multiply(x, reciprocal)});
    }
  }
  return result;
}

}  // namespace

std::vector<double> run(const FlashAttention& op, const FlashStyle& style, std::int64_t head,
                        std::int64_t query, Generator& generator) {
  return Kernel(op, style, head, query, generator).run();
}

const char* name_of(Exponent exponent) {
  const char* const names[] = {"e^(s-m)",        "2^((s-m)c)", "2^((qk-m)c')",
                               "2^fma(s,c,-mc)", "2^(sc-mc)",  "2^(s'-m')"};
  return names[static_cast<int>(exponent)];
}

FlashStyle random_flash_style(Format input, std::int64_t keys, Generator& generator) {
  FlashStyle style;
  Arithmetic& declared = style.dot.declared;
  const auto either = [&] { return below(generator, 2) == 0; };
  declared.input = input;
  declared.weight = Format::fp32;
  style.dot.summation =
      static_cast<Summation>(below(generator, static_cast<int>(Summation::kinds)));
  style.dot.fma = either();
  style.dot.zero_has_exponent = either();
  style.fma = either();
  if (input != Format::fp32 && below(generator, 3) != 0) {
    const TensorCore cores[] = {kVolta, kAmpere, kHopper};
    declared.tensor_core = cores[below(generator, 3)];
    declared.weight = input;
    declared.weight_sum_rounded = either();
    declared.product_apart = either();
    if (input == Format::tf32) {
      declared.tensor_core.products = either() ? 4 : 8;
      declared.operand_roundoff = either() ? 0 : either() ? 0x1p-11 : 0x1p-10;
    }
  } else if (input == Format::fp32 || input == Format::fp16) {
    style.query_scaled = either();
  }
  style.exponent = static_cast<Exponent>(below(generator, static_cast<int>(Exponent::kinds)));
  if (style.exponent != Exponent::difference && style.exponent != Exponent::scaled_difference &&
      style.exponent != Exponent::folded) {
    style.query_scaled = false;
  }
  ExponentialModel& model = declared.exponential;
  model.base_2 = style.exponent != Exponent::difference;
  model.log2e_first = style.exponent == Exponent::fused || style.exponent == Exponent::unfused ||
                      style.exponent == Exponent::folded;
  model.flushes = model.base_2 && either();
  if (!model.base_2 && either()) model.ulps_slope = 1.173;
  style.exp_ulps = static_cast<int>(model.ulps);
  style.exp_adversarial = either();
  style.online = either();
  style.reverse = either();
  style.tile = std::int64_t{1} << below(generator, 7);
  const std::int64_t tiles = (keys + style.tile - 1) / style.tile;
  if (style.online) {
    if (below(generator, 3) == 0) style.splits = 1 + below(generator, 3);
    if (below(generator, 3) == 0) style.lazy_bits = 8;
    declared.rescales = tiles + (style.splits > 1 ? style.splits : 0);
    declared.rescale_lazy = style.lazy_bits * std::log(2.0);
  }
  declared.flush_to_zero = declared.tensor_core.alignment_bits == 0 && below(generator, 6) == 0;
  if (below(generator, 2) == 0) {
    style.reciprocal_ulps = static_cast<int>(below(generator, 2));
    declared.division_roundings = style.reciprocal_ulps == 0 ? 2.01 : 4.02;
  }
  declared.output = Format::fp64;
  return style;
}

}  // namespace halfulp::reference::simulated
