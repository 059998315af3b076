// vector_add: z = x + y. Operands x (n), y (n); output z (n).
#include "reference/ops/vector_add.hpp"

#include <array>

#include "properties/fields.hpp"
#include "properties/fill.hpp"
#include "properties/generate.hpp"
#include "properties/law.hpp"
#include "properties/operands.hpp"
#include "properties/ops/ops.hpp"
#include "properties/simplify.hpp"
#include "properties/translate.hpp"
#include "properties/truth.hpp"

namespace halfulp::properties {
namespace {

constexpr std::string_view kName = "vector_add";
constexpr double kSizeMax = 1 << 30;

constexpr std::array kFields{Field{.name = "n",
                                   .kind = FieldKind::integer,
                                   .fallback = "1",
                                   .low = 0,
                                   .high = kSizeMax,
                                   .always = true,
                                   .help = "number of elements"}};

std::string validate(const Case& c) {
  const std::int64_t n = c.integer("n");
  const auto element = static_cast<double>(gpu::size_bytes(storage_format(c)));
  std::string error = bytes_error(3 * element * static_cast<double>(n), {{"n", n}});
  return error.empty() ? common_error(c) : error;
}

gpu::Problem materialise(const Case& c) {
  const std::int64_t n = c.integer("n");
  const gpu::Format format = storage_format(c);
  Scene scene = make_scene(c.seed(), reference_format(format), nullptr);
  scene.quantities = {Quantity::x, Quantity::y};
  scene.outer = {n, n};
  const Fill& fill = find_fill(c.text("fill"));
  gpu::Problem problem;
  problem.operation = kName;
  problem.operands.reserve(3);
  fill_operand(add_operand(problem, c, "x", format, gpu::Role::input, {n}), fill, scene,
               Quantity::x);
  fill_operand(add_operand(problem, c, "y", format, gpu::Role::input, {n}), fill, scene,
               Quantity::y);
  add_operand(problem, c, "z", format, gpu::Role::output, {n});
  return problem;
}

reference::VectorAdd translate(const gpu::Problem& problem, const gpu::Numerics& numerics) {
  reference::VectorAdd op;
  const gpu::Operand& x = problem.operand("x");
  op.n = x.count();
  op.x = view(x);
  op.y = view(problem.operand("y"));
  op.arithmetic = arithmetic(numerics, x.format, problem.operand("z").format);
  return op;
}

std::vector<Case> shrinks(const Case& c) {
  std::vector<Case> cases;
  propose_smaller(cases, c, "n", 0);
  propose_plainer(cases, c);
  return cases;
}

std::vector<std::uint64_t> weigh(const Case& c) {
  std::vector<std::uint64_t> weight{static_cast<std::uint64_t>(c.integer("n"))};
  const auto plain = plainness(c);
  weight.insert(weight.end(), plain.begin(), plain.end());
  return weight;
}

Case generate(const gpu::Kernel& kernel, gpu::Backend backend, const rc::Random& random, int size) {
  Choices choose(random, size);
  Case c = make_case(kName, kernel.name);
  c.set("n", choose.size_near(kernel.edges, 70000, true));
  // Past the offsets that 16 bits can hold.
  if (choose.one_in(40)) c.set("n", choose.weighted<std::int64_t>({{2, 32769}, {1, 65537}}));
  choose_common(choose, kernel, backend, c.integer("n") <= 3, c);
  choose_law(choose, c);
  return c;
}

// x + y == y + x, bit for bit.
Relation commutes(const Case&, const gpu::Problem& problem) {
  Relation relation;
  relation.problem = problem;
  std::swap(relation.problem.operands[0], relation.problem.operands[1]);
  std::swap(relation.problem.operands[0].name, relation.problem.operands[1].name);
  relation.outputs.resize(1);
  relation.bit_for_bit = true;
  return relation;
}

constexpr std::array kLaws{Law{"commutes", "x + y == y + x", commutes}};

}  // namespace

Operation vector_add_operation() {
  static const std::vector<Field> fields =
      with_common_fields(kFields, {.fills = fill_words(kName), .laws = "commutes"});
  return {.name = kName,
          .summary = "z = x + y",
          .fields = fields,
          .validate = validate,
          .materialise = materialise,
          .evaluate = Truth<translate>::rows,
          .exact = Truth<translate>::exact,
          .explain = Truth<translate>::terms,
          .shrinks = shrinks,
          .weight = weigh,
          .generate = generate,
          .laws = kLaws};
}

}  // namespace halfulp::properties
