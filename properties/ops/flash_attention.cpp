// flash_attention: softmax attention with masks, forward. Operands q, k, v (batch, head, row,
// channel), an additive mask where the kernel takes one, and out.
#include <algorithm>
#include <array>

#include "properties/fields.hpp"
#include "properties/fill.hpp"
#include "properties/flash_generate.hpp"
#include "properties/flash_laws.hpp"
#include "properties/flash_problem.hpp"
#include "properties/graph_laws.hpp"
#include "properties/operands.hpp"
#include "properties/ops/ops.hpp"
#include "properties/parameters.hpp"
#include "properties/setup.hpp"
#include "properties/simplify.hpp"
#include "properties/spec.hpp"

namespace halfulp::properties {
namespace {

constexpr std::string_view kName = "flash_attention";
constexpr double kSizeMax = 1 << 24;

constexpr Field size_field(std::string_view name, std::string_view fallback, double low,
                           double high, std::string_view help) {
  return {.name = name,
          .kind = FieldKind::integer,
          .fallback = fallback,
          .low = low,
          .high = high,
          .always = true,
          .help = help};
}

constexpr std::array kFields{
    size_field("batches", "1", 0, 1 << 20, "outermost extent of every operand"),
    size_field("heads", "1", 0, 4096, "heads, each with keys of its own"),
    size_field("queries", "1", 0, kSizeMax, "rows of q and out"),
    size_field("keys", "1", 0, kSizeMax, "rows of k and v"),
    size_field("dim", "8", 8, 256, "channels of q, k, v and out"),
    Field{.name = "scale",
          .kind = FieldKind::real,
          .fallback = "0",
          .low = -10000,
          .high = 10000,
          .help = "factor of q k, of either sign; 0: 1/sqrt(dim)"},
    Field{.name = "mask",
          .kind = FieldKind::spec,
          .fallback = "none",
          .help = "which keys a query may see, or what is added to scores (docs/cases.md)"},
    Field{.name = "mask_in",
          .kind = FieldKind::word,
          .fallback = "f32",
          .words = "f32|input",
          .help = "storage of a mask operand"},
    Field{.name = "mask_layout",
          .kind = FieldKind::spec,
          .fallback = "dense",
          .help = "dense, transposed, pitch:G, apart:G, offset:K or broadcast:AXES, some of bhqk"},
    Field{.name = "tile",
          .kind = FieldKind::spec,
          .fallback = kDefaultWord,
          .parameter = true,
          .help = "BMxBN: queries and keys of a tile"}};

std::string mask_passing_error(const Case& c) {
  const gpu::Kernel& kernel = *gpu::find_kernel(c.operation, c.kernel);
  const Mask mask = parse_mask(c.text("mask"));
  if (passing(kernel, mask) != MaskPassing::none) return {};
  return "mask=" + print(mask) + ": " + c.kernel + " takes only " + join(mask_words(kernel), ", ");
}

std::string validate(const Case& c) {
  std::string error = mask_error(c.text("mask"));
  if (error.empty()) {
    error = mask_layout_error(c.text("mask_layout"), parse_mask(c.text("mask")).family);
  }
  if (error.empty()) error = common_error(c);
  if (error.empty()) error = mask_passing_error(c);
  if (!error.empty()) return error;
  std::vector<std::pair<std::string_view, std::int64_t>> sizes;
  for (const std::string_view field : {"batches", "heads", "queries", "keys"}) {
    sizes.emplace_back(field, c.integer(field));
  }
  return bytes_error(flash_bytes(c), sizes);
}

struct TileWord {
  std::string_view word;
  std::uint64_t work = 0;  // pairs of a query and a key
};

// The kernel's tiles, the smallest first.
std::vector<TileWord> tile_words(const Case& c) {
  std::vector<TileWord> tiles;
  const gpu::Parameter* parameter =
      find_parameter(*gpu::find_kernel(c.operation, c.kernel), "tile");
  if (parameter == nullptr) return tiles;
  for (const std::string_view word : parameter->words) {
    const FlashTile tile = flash_tile(word);
    tiles.push_back({word, static_cast<std::uint64_t>(tile.queries * tile.keys)});
  }
  std::ranges::stable_sort(tiles, {}, &TileWord::work);
  return tiles;
}

// Position among them; the kernel's default one comes last.
std::uint64_t tile_weight(const Case& c) {
  const std::vector<TileWord> tiles = tile_words(c);
  const auto found = std::ranges::find(tiles, c.text("tile"), &TileWord::word);
  return static_cast<std::uint64_t>(found - tiles.begin());
}

// No mask, a mask of a simpler family without numbers, the same with smaller numbers.
void propose_masks(std::vector<Case>& cases, const Case& c) {
  const Mask mask = parse_mask(c.text("mask"));
  for (const MaskFamily family :
       {MaskFamily::none, MaskFamily::causal_top_left, MaskFamily::causal_bottom_right}) {
    if (family < mask.family) propose(cases, c, "mask", std::string(name(family)));
  }
  const bool bias = mask.family == MaskFamily::bias || mask.family == MaskFamily::bias_far;
  if (bias && mask.count == 1) propose(cases, c, "mask", std::string(name(mask.family)));
  for (int i = 0; i < mask.count; ++i) {
    const std::int64_t value = mask.arguments[i];
    for (const std::int64_t next : {std::int64_t{0}, std::int64_t{1}, value / 2, value - 1}) {
      if (next < 0 || next >= value) continue;
      Mask smaller = mask;
      smaller.arguments[i] = next;
      if (mask_error(print(smaller)).empty()) propose(cases, c, "mask", print(smaller));
    }
  }
}

std::vector<Case> shrinks(const Case& c) {
  std::vector<Case> cases;
  for (const char* field : {"batches", "heads", "queries", "keys"}) {
    propose_smaller(cases, c, field, 0);
  }
  propose_smaller(cases, c, "dim", 8);
  propose_masks(cases, c);
  propose(cases, c, "mask_layout", "dense");
  propose(cases, c, "mask_in", "f32");
  propose(cases, c, "scale", "0");
  if (c.real("scale") < 0) propose(cases, c, "scale", std::string(c.text("scale").substr(1)));
  const std::vector<TileWord> tiles = tile_words(c);
  for (std::size_t i = 0; i < tiles.size() && i < tile_weight(c); ++i) {
    propose(cases, c, "tile", std::string(tiles[i].word));
  }
  propose_plainer(cases, c);
  return cases;
}

std::vector<std::uint64_t> weigh(const Case& c) {
  const auto number = [&c](std::string_view field) {
    return static_cast<std::uint64_t>(c.integer(field));
  };
  const Mask mask = parse_mask(c.text("mask"));
  std::vector<std::uint64_t> weight{
      number("batches") + number("heads") + number("queries") + number("keys") + number("dim"),
      static_cast<std::uint64_t>(mask.family),
      static_cast<std::uint64_t>(mask.count),
      static_cast<std::uint64_t>(mask.arguments[0] + mask.arguments[1]),
      static_cast<std::uint64_t>(c.text("mask_layout") == "dense" ? 0 : 1),
      static_cast<std::uint64_t>(c.text("mask_in") == "f32" ? 0 : 1),
      static_cast<std::uint64_t>(c.real("scale") == 0 ? 0 : (c.real("scale") > 0 ? 1 : 2)),
      tile_weight(c)};
  const auto plain = plainness(c);
  weight.insert(weight.end(), plain.begin(), plain.end());
  return weight;
}

// Kernels may keep a score of every pair of a query and a key; the host executor computes them all.
std::string unsuitable(const Case& c) {
  double pairs = 1;
  for (const char* field : {"batches", "heads", "queries", "keys"}) {
    pairs *= static_cast<double>(c.integer(field));
  }
  if (pairs > 0x1p38) return "it has more than 2^38 pairs of a query and a key";
  const double products = pairs * static_cast<double>(c.integer("dim"));
  return host_work_error(c, products, "q k^T has");
}

Case generate(const gpu::Kernel& kernel, gpu::Backend backend, const rc::Random& random, int size) {
  return generate_flash_case(kernel, backend, random, size);
}

}  // namespace

Operation flash_attention_operation() {
  static const std::vector<Field> fields =
      with_common_fields(kFields, {.fills = fill_words(kName),
                                   .laws = law_words(flash_laws()),
                                   .storage = "f32|f16|bf16|tf32"});
  return {.name = kName,
          .summary = "out = softmax(scale q k^T + mask) v, heads apart",
          .fields = fields,
          .validate = validate,
          .materialise = materialise_flash,
          .evaluate = evaluate_flash,
          .exact = exact_flash,
          .explain = explain_flash,
          .shrinks = shrinks,
          .weight = weigh,
          .generate = generate,
          .laws = flash_laws(),
          .unsuitable = unsuitable};
}

}  // namespace halfulp::properties
