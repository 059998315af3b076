// matmul: c = a b. Operands a (m, k), b (k, n); output c (m, n). Storage tf32 is fp32 numbers that
// are multiplied as tf32, with an output of fp32.
#include "reference/ops/matmul.hpp"

#include <algorithm>
#include <array>

#include "properties/assert.hpp"
#include "properties/fields.hpp"
#include "properties/fill.hpp"
#include "properties/graph_laws.hpp"
#include "properties/matmul_diagnose.hpp"
#include "properties/matmul_exact_check.hpp"
#include "properties/matmul_generate.hpp"
#include "properties/matmul_laws.hpp"
#include "properties/matmul_outer_check.hpp"
#include "properties/matmul_probe.hpp"
#include "properties/matmul_schedule.hpp"
#include "properties/operands.hpp"
#include "properties/ops/ops.hpp"
#include "properties/parameters.hpp"
#include "properties/setup.hpp"
#include "properties/simplify.hpp"
#include "properties/translate.hpp"
#include "properties/truth.hpp"

namespace halfulp::properties {
namespace {

constexpr std::string_view kName = "matmul";
constexpr double kSizeMax = 1 << 24;  // fp32 counts to that

constexpr Field size_field(std::string_view name, std::string_view help) {
  return {.name = name,
          .kind = FieldKind::integer,
          .fallback = "1",
          .low = 0,
          .high = kSizeMax,
          .always = true,
          .help = help};
}

constexpr Field parameter_field(std::string_view name, std::string_view fallback, double low,
                                double high, std::string_view help) {
  return {.name = name,
          .kind = FieldKind::integer,
          .fallback = fallback,
          .low = low,
          .high = high,
          .parameter = true,
          .help = help};
}

constexpr std::array kFields{
    size_field("m", "rows of a and c"),
    size_field("n", "columns of b and c"),
    size_field("k", "columns of a, rows of b"),
    Field{.name = "transpose",
          .kind = FieldKind::word,
          .fallback = "none",
          .words = "none|a|b|ab",
          .help = "operands stored column by column"},
    Field{.name = "tile",
          .kind = FieldKind::spec,
          .fallback = kDefaultWord,
          .parameter = true,
          .help = "BMxBNxBK: rows and columns of a tile of c, and the block of k"},
    parameter_field("group", "1", 1, 64, "rows of tiles in a group of the tile order"),
    parameter_field("splits", "1", 1, 64, "parts that k is split into"),
    parameter_field("programs", "0", 0, 65536, "programs that share the work; 0: all resident"),
    parameter_field("two_tile", "0", 0, 1, "programs share a further round of tiles")};

gpu::Format output_format(const Case& c) {
  const gpu::Format format = storage_format(c);
  return format == gpu::Format::tf32 ? gpu::Format::f32 : format;
}

std::string validate(const Case& c) {
  const std::int64_t m = c.integer("m"), n = c.integer("n"), k = c.integer("k");
  const auto size = static_cast<double>(gpu::size_bytes(storage_format(c)));
  const auto area = [](std::int64_t a, std::int64_t b) {
    return static_cast<double>(a) * static_cast<double>(b);
  };
  const double bytes = size * (area(m, k) + area(k, n) + area(m, n));
  std::string error = bytes_error(bytes, {{"m", m}, {"n", n}, {"k", k}});
  if (error.empty()) error = common_error(c);
  if (!error.empty() || c.text("fill") != "M4-low" || c.text("in") != "tf32") return error;
  const gpu::Kernel& kernel = *gpu::find_kernel(c.operation, c.kernel);
  if (kernel.numerics.operand_rounding != gpu::OperandRounding::none) return {};
  return "fill=M4-low: " + c.kernel + " takes tf32 numbers as they are, and these are fp32 ones";
}

bool transposed(const Case& c, char operand) {
  return c.text("transpose").find(operand) != std::string_view::npos &&
         c.text("transpose") != "none";
}

// Zero strides put one number in many places, and the probe is none any more.
bool repeats(const gpu::Problem& problem) {
  return std::ranges::any_of(problem.operands, [](const gpu::Operand& operand) {
    return std::ranges::any_of(operand.stride, [](std::int64_t stride) { return stride == 0; });
  });
}

gpu::Problem materialise(const Case& c) {
  const gpu::Format format = storage_format(c);
  Scene scene = make_scene(c.seed(), reference_format(format), nullptr);
  scene.m = c.integer("m");
  scene.n = c.integer("n");
  scene.k = c.integer("k");
  scene.quantities = {Quantity::a, Quantity::b};
  const Fill& fill = find_fill(c.text("fill"));
  gpu::Problem problem;
  problem.operation = kName;
  problem.operands.reserve(3);
  const auto storing = [&](char operand) {
    return transposed(c, operand) ? Storing::transposed : Storing::row_major;
  };
  fill_operand(
      add_operand(problem, c, "a", format, gpu::Role::input, {scene.m, scene.k}, storing('a')),
      fill, scene, Quantity::a);
  fill_operand(
      add_operand(problem, c, "b", format, gpu::Role::input, {scene.k, scene.n}, storing('b')),
      fill, scene, Quantity::b);
  add_operand(problem, c, "c", output_format(c), gpu::Role::output, {scene.m, scene.n});
  problem.settings = settings(c);
  if (fill.probe && !repeats(problem)) {
    const std::string inexact = inexact_row(problem, 24);
    HALFULP_ASSERT(inexact.empty(), std::string(fill.name) + " is not exact: " + inexact);
  }
  return problem;
}

// What is stored as tf32 but rounded by the kernel may be any fp32 number.
reference::View operand_view(const gpu::Problem& problem, std::string_view name,
                             const reference::Arithmetic& arithmetic) {
  reference::View result = view(problem.operand(name));
  if (arithmetic.operand_roundoff > 0) result.format = reference::Format::fp32;
  return result;
}

reference::Matmul translate(const gpu::Problem& problem, const gpu::Numerics& numerics) {
  const MatmulSchedule schedule = schedule_of(problem);
  const PartialSums sums = partial_sums(numerics, schedule);
  reference::Matmul op;
  op.m = schedule.m;
  op.n = schedule.n;
  op.k = schedule.k;
  op.arithmetic = arithmetic(numerics, problem.operand("a").format, problem.operand("c").format);
  op.arithmetic.partials = sums.most;
  op.arithmetic.partial_longest = sums.longest;
  op.a = operand_view(problem, "a", op.arithmetic);
  op.b = operand_view(problem, "b", op.arithmetic);
  return op;
}

// What materialise() looks at.
std::string inputs_key(const Case& c) {
  std::string key;
  for (const char* field : {"in", "m", "n", "k", "transpose", "fill", "layout", "seed"}) {
    key += std::string(c.text(field)) + " ";
  }
  return key;
}

// Probes are exact in fp32 whatever the order (materialise asserts it), and not where partial sums
// are rounded to fewer bits.
bool exact_check(const Case& c, const gpu::Problem& problem, const gpu::Numerics& numerics,
                 std::span<const gpu::Outputs> results, const reference::Sink& sink) {
  const bool narrow =
      numerics.accumulator != gpu::Format::f32 ||
      (numerics.partial_in_output && problem.operand("c").format != gpu::Format::f32);
  if (narrow || !find_fill(c.text("fill")).probe || repeats(problem)) return false;
  const reference::Matmul op = translate(problem, numerics);
  if (!pays_to_check_exactly(op)) return false;
  std::vector<reference::View> outputs(results.size(), view(problem.operand("c")));
  for (std::size_t i = 0; i < results.size(); ++i) outputs[i].data = results[i].at(0).data();
  return matmul_exact_check(op, outputs, c.seed(), sink);
}

OuterCheck outer(const Case& c, const gpu::Problem& problem, const gpu::Numerics& numerics,
                 const reference::Sink& sink) {
  const reference::Matmul op = translate(problem, numerics);
  if (backend_of(c.text("backend")) != gpu::Backend::cuda || !needs_outer_check(op)) return {};
  const auto product = [&](const gpu::RowsInDoubleSink& rows) {
    return gpu::product_in_double(problem, rows);
  };
  return matmul_outer_check(op, product, c.seed(), sink);
}

struct TileWord {
  std::string_view word;
  std::uint64_t work = 0;  // products of one block of k
};

// The kernel's tiles, the smallest first.
std::vector<TileWord> tile_words(const Case& c) {
  std::vector<TileWord> tiles;
  for (const gpu::Parameter& parameter : gpu::find_kernel(c.operation, c.kernel)->parameters) {
    if (parameter.name != "tile") continue;
    for (const std::string_view word : parameter.words) {
      const TileSize size = tile_size(word, gpu::Format::f16);  // the order is that of any format
      tiles.push_back({word, static_cast<std::uint64_t>(size.m * size.n * size.k)});
    }
  }
  std::ranges::stable_sort(tiles, {}, &TileWord::work);
  return tiles;
}

// 1x1x1 for a kernel without tiles.
TileSize tile_of(const Case& c) {
  for (const gpu::Setting& setting : settings(c)) {
    if (setting.name == "tile") return tile_size(setting.word, storage_format(c));
  }
  return {};
}

std::uint64_t tile_weight(const Case& c) {
  for (const TileWord& tile : tile_words(c)) {
    if (tile.word == c.text("tile")) return tile.work;
  }
  return UINT64_MAX;  // the default one, whichever that is
}

std::vector<Case> shrinks(const Case& c) {
  std::vector<Case> cases;
  for (const char* field : {"k", "m", "n"}) propose_smaller(cases, c, field, 0);
  // One program, rather than as many as there happens to be room for.
  if (c.integer("programs") == 0) {
    for (const char* few : {"1", "2", "3"}) propose(cases, c, "programs", few);
  }
  propose_smaller(cases, c, "programs", 1);
  propose_smaller(cases, c, "splits", 1);
  propose(cases, c, "two_tile", "0");
  propose(cases, c, "group", "1");
  propose(cases, c, "transpose", "none");
  for (const TileWord& tile : tile_words(c)) {
    if (tile.work < tile_weight(c)) propose(cases, c, "tile", std::string(tile.word));
  }
  propose_plainer(cases, c);
  return cases;
}

std::vector<std::uint64_t> weigh(const Case& c) {
  const auto number = [&c](std::string_view field) {
    return static_cast<std::uint64_t>(c.integer(field));
  };
  const std::uint64_t programs = number("programs");
  std::vector<std::uint64_t> weight{number("m") + number("n") + number("k"),
                                    programs == 0 ? UINT64_MAX : programs,
                                    number("splits"),
                                    number("two_tile"),
                                    number("group"),
                                    std::uint64_t{c.text("transpose") == "none" ? 0u : 1u},
                                    tile_weight(c)};
  const auto plain = plainness(c);
  weight.insert(weight.end(), plain.begin(), plain.end());
  return weight;
}

std::vector<std::string> diagnose(const gpu::Problem& problem, const gpu::Numerics& numerics,
                                  const gpu::Outputs& outputs, reference::Element element) {
  return matmul_diagnosis(problem, numerics, translate(problem, numerics), outputs.front(),
                          element);
}

// The host executor computes every element of every tile, those beyond the matrix too.
std::string unsuitable(const Case& c) {
  TileSize tile = tile_of(c);
  const auto covered = [](std::int64_t extent, std::int64_t part) {
    return static_cast<double>((extent + part - 1) / part * part);
  };
  const double products = covered(c.integer("m"), tile.m) * covered(c.integer("n"), tile.n) *
                          covered(c.integer("k"), tile.k);
  return host_work_error(c, products, "its tiles hold");
}

Case generate(const gpu::Kernel& kernel, gpu::Backend backend, const rc::Random& random, int size) {
  return generate_matmul_case(kernel, backend, random, size);
}

}  // namespace

Operation matmul_operation() {
  static const std::vector<Field> fields =
      with_common_fields(kFields, {.fills = fill_words(kName),
                                   .laws = law_words(matmul_laws()),
                                   .storage = "f32|f16|bf16|tf32"});
  return {.name = kName,
          .summary = "c = a b",
          .fields = fields,
          .validate = validate,
          .materialise = materialise,
          .evaluate = Truth<translate>::rows,
          .exact = Truth<translate>::exact,
          .explain = Truth<translate>::terms,
          .shrinks = shrinks,
          .weight = weigh,
          .generate = generate,
          .laws = matmul_laws(),
          .diagnose = diagnose,
          .unsuitable = unsuitable,
          .advise = Truth<translate>::advisory_rows,
          .exact_check = exact_check,
          .outer = outer,
          .inputs_key = inputs_key};
}

}  // namespace halfulp::properties
