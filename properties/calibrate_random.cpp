// Random mma instructions against the model of what is declared, bit for bit: wide exponents,
// subnormals, cancelling, any bits at all.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "properties/calibrate_rows.hpp"
#include "properties/parallel.hpp"
#include "properties/philox.hpp"
#include "properties/translate.hpp"

namespace halfulp::properties {

namespace {

constexpr int kAtOnce = 4096;  // instructions in memory

enum class Recipe : std::uint32_t { narrow, wide, subnormal, cancelling, any };
constexpr std::uint64_t kRecipes = 5;

struct Layout {
  int fraction_bits, exponent_bits, bias, unused_bits;  // unused: the low bits of a word
};
Layout layout(gpu::Format format) {
  if (format == gpu::Format::f16) return {10, 5, 15, 0};
  if (format == gpu::Format::bf16) return {7, 8, 127, 0};
  return {format == gpu::Format::tf32 ? 10 : 23, 8, 127, format == gpu::Format::tf32 ? 13 : 0};
}

// A number with its exponent from low to high and a random significand; the exponent is cut to the
// format's. At its lower end it is subnormal.
std::uint32_t number_between(gpu::Format format, std::uint64_t random, int low, int high) {
  const Layout f = layout(format);
  const auto span = static_cast<std::uint64_t>(high - low + 1);
  const int exponent = low + static_cast<int>((random >> 32) % span);
  const int stored = std::clamp(exponent + f.bias, 0, (1 << f.exponent_bits) - 2);
  const auto fraction = static_cast<std::uint32_t>(random) & ((1u << f.fraction_bits) - 1);
  const auto sign = static_cast<std::uint32_t>(random >> 31 & 1);
  const std::uint32_t bits =
      (sign << f.exponent_bits | static_cast<std::uint32_t>(stored)) << f.fraction_bits | fraction;
  return bits << f.unused_bits;
}

std::uint32_t any_bits(gpu::Format format, std::uint64_t random) {
  const bool half = format == gpu::Format::f16 || format == gpu::Format::bf16;
  return static_cast<std::uint32_t>(random) & (half ? 0xffffu : 0xffffffffu);
}

std::uint32_t element(gpu::Format format, Recipe recipe, std::uint64_t random, bool factor) {
  const int emax = format == gpu::Format::f16 ? 15 : 60;
  if (factor && recipe != Recipe::any && (random >> 48) % 16 == 0) return 0;
  switch (recipe) {
    case Recipe::wide:
      return factor ? number_between(format, random, -emax, emax)
                    : number_between(format, random, -2 * emax, 2 * emax);
    case Recipe::subnormal:  // half of the factors at the lower end, the others large
      if (!factor) return number_between(format, random, format == gpu::Format::f16 ? -40 : -60, 4);
      return (random >> 47 & 1) != 0 ? number_between(format, random, -1000, -1000)
                                     : number_between(format, random, 0, emax);
    case Recipe::any:
      return any_bits(format, random);
    default:
      return number_between(format, random, -4, 4);
  }
}

// Products k and k + 1 differ in sign and, one time in four, in the last bit.
void cancel(gpu::Products& products, std::size_t i, std::size_t depth, std::uint64_t random) {
  const Layout f = layout(products.format);
  const std::uint32_t sign = 1u << (f.fraction_bits + f.exponent_bits + f.unused_bits);
  for (std::size_t k = 0; k + 1 < depth; k += 2) {
    for (std::size_t m = 0; m < 16; ++m) {
      const std::size_t at = (i * 16 + m) * depth + k;
      const bool nudged = (random >> (k + m) & 3) == 0;
      products.a[at + 1] = products.a[at] ^ sign ^ (nudged ? 1u << f.unused_bits : 0u);
    }
    for (std::size_t n = 0; n < 8; ++n) {
      const std::size_t at = (i * depth + k) * 8 + n;
      products.b[at + 8] = products.b[at];
    }
  }
}

gpu::Products random_batch(gpu::Format format, std::uint64_t seed, std::uint64_t first, int count) {
  const auto depth = static_cast<std::size_t>(gpu::products_depth(format));
  const auto stream = static_cast<std::uint32_t>(format) * 4;
  gpu::Products products;
  products.format = format;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t index = first + static_cast<std::uint64_t>(i);
    const auto recipe = static_cast<Recipe>(index % kRecipes);
    const auto fill = [&](std::vector<std::uint32_t>& to, std::size_t elements,
                          std::uint32_t operand, gpu::Format of) {
      for (std::size_t e = 0; e < elements; e += 2) {
        const Draw draw(seed, stream + operand, index, e);
        to.push_back(element(of, recipe, draw.high(), operand < 2));
        to.push_back(element(of, recipe, draw.low(), operand < 2));
      }
    };
    fill(products.a, 16 * depth, 0, format);
    fill(products.b, depth * 8, 1, format);
    fill(products.c, 128, 2, gpu::Format::f32);
    if (recipe == Recipe::cancelling) {
      cancel(products, static_cast<std::size_t>(i), depth, Draw(seed, stream + 3, index).high());
    }
  }
  return products;
}

// One element's inputs and both results, in bits.
std::string shown(const gpu::Products& products, std::size_t element, std::uint32_t device,
                  std::uint32_t model) {
  const auto depth = static_cast<std::size_t>(gpu::products_depth(products.format));
  const std::size_t i = element / 128;
  const int digits = products.format == gpu::Format::tf32 ? 8 : 4;
  std::string pairs;
  for (std::size_t k = 0; k < depth; ++k) {
    pairs += fmt::format(" {:0{}x}*{:0{}x}", products.a[(i * 16 + element % 128 / 8) * depth + k],
                         digits, products.b[(i * depth + k) * 8 + element % 8], digits);
  }
  return fmt::format("{:08x} +{} = {:08x} on the device, {:08x} by the model", products.c[element],
                     pairs, device, model);
}

}  // namespace

Finding random_products(const Subject& subject, gpu::Format format) {
  gpu::TensorCore model = subject.declarations.tensor_core;
  const gpu::TensorCore any = gpu::kTensorCoreAny;
  if (model.alignment_bits == any.alignment_bits && model.products_tf32 == any.products_tf32) {
    model = measured_tensor_core(subject, format);  // declared as a bound, not as a model
  }
  const int count = subject.options.products;
  std::int64_t differing = 0;
  std::string first;
  for (int done = 0; done < count; done += kAtOnce) {
    const gpu::Products products =
        random_batch(format, subject.options.seed, static_cast<std::uint64_t>(done),
                     std::min(kAtOnce, count - done));
    const auto device = checked(gpu::multiply_add(subject.options.target, products));
    std::vector<std::uint32_t> expected(products.c.size());
    for_parts(std::ssize(expected) / 128, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        const auto out = std::span(expected).subspan(128 * i).first<128>();
        gpu::multiply_add_modelled(model, products, i, out);
      }
    });
    for (std::size_t e = 0; e < expected.size(); ++e) {
      if (device[e] == expected[e]) continue;
      if (differing++ == 0) first = shown(products, e, device[e], expected[e]);
    }
  }
  Finding finding;
  finding.measured = fmt::format("{} of {} differ", differing, std::int64_t{128} * count);
  finding.declared =
      fmt::format("F={} L={}", model.alignment_bits,
                  format == gpu::Format::tf32 ? model.products_tf32 : model.products_16_bit);
  finding.standing = differing == 0 ? Standing::agrees : Standing::optimistic;
  finding.detail = first;
  return finding;
}

}  // namespace halfulp::properties
