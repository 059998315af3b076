// Problems and layouts.
#include "tests/gpu/wide_problems.hpp"

#include <algorithm>

#include "tests/gpu/flash_attention_problems.hpp"
#include "tests/gpu/kernels_problems.hpp"
#include "tests/gpu/matmul_problems.hpp"

namespace halfulp::gpu::test {
namespace {

const Parameter* find_parameter(const Kernel& kernel, std::string_view name) {
  const auto at = std::ranges::find(kernel.parameters, name, &Parameter::name);
  return at == kernel.parameters.end() ? nullptr : &*at;
}

// Two incoming edges to a node, of its neighbours.
Shape ring(std::int64_t nodes, std::int64_t heads, std::int64_t dim) {
  Shape shape{"ring", nodes, heads, dim, {}};
  const auto count = static_cast<int>(nodes);
  for (int i = 0; i < count; ++i) {
    shape.edges.emplace_back((i + 1) % count, i);
    shape.edges.emplace_back((i + count - 1) % count, i);
  }
  return shape;
}

std::vector<Problem> graph_problems(const Kernel& kernel, Format storage) {
  std::vector<Shape> shapes{ring(5, 2, 24), ring(37, 3, 5)};
  if (kernel.numerics.repeatable) shapes.push_back(hub("hub", 257, 2, 3));
  std::vector<Problem> problems;
  for (const Shape& shape : shapes) {
    problems.push_back(kernel.operation == "scatter_normalize"
                           ? scatter_normalize(shape, storage, Layout::contiguous)
                           : graph_attention(shape, storage, Layout::contiguous));
  }
  return problems;
}

std::vector<Problem> matmul_problems(const Kernel& kernel, Format storage) {
  const Parameter* tile = find_parameter(kernel, "tile");
  const auto problem = [&](const MatmulSize& size, std::int64_t tile_index) {
    std::vector<Setting> settings;
    if (tile != nullptr) settings.push_back({"tile", tile_index, {}});
    if (find_parameter(kernel, "splits") != nullptr) settings.push_back({"splits", 2, {}});
    if (find_parameter(kernel, "programs") != nullptr) settings.push_back({"programs", 2, {}});
    return matmul(size, storage, MatmulLayout::rows, MatmulLayout::rows, MatmulLayout::rows,
                  settings);
  };
  std::vector<Problem> problems;
  for (std::int64_t i = 0; i <= (tile != nullptr ? tile->high : 0); ++i) {
    problems.push_back(problem({40, 40, 72}, i));
  }
  problems.push_back(problem({3, 24, 16}, 0));
  problems.push_back(problem({3, 24, 0}, 0));
  return problems;
}

std::vector<Problem> flash_problems(const Kernel& kernel, Format storage) {
  const Parameter* tile = find_parameter(kernel, "tile");
  const Parameter* mask = find_parameter(kernel, "mask");
  const bool in_memory = mask->words.back() == "additive";
  const auto problem = [&](const FlashSize& size, std::int64_t tile_index, bool stored) {
    std::vector<Setting> settings;
    if (tile != nullptr) settings.push_back({"tile", tile_index, {}});
    if (!in_memory) {
      settings.push_back({"mask", mask->high, {}});
      settings.push_back({"prefix", 40, {}});
      settings.push_back({"window_left", 20, {}});
    }
    const FlashMaskChoice choice{in_memory ? FlashMaskLayout::dense : FlashMaskLayout::absent,
                                 stored && storage != Format::tf32};
    return flash_attention(size, storage, FlashLayout::contiguous, choice, settings);
  };
  std::vector<Problem> problems{problem({2, 2, 35, 72, 64}, 0, false)};
  for (std::int64_t i = 1; i <= (tile != nullptr ? tile->high : 0); ++i) {
    problems.push_back(problem({1, 2, 35, 72, 24}, i, i % 2 == 1));
  }
  problems.push_back(problem({3, 2, 3, 3, 16}, 0, true));
  return problems;
}

// Axes in all orders that the operand's kernels take: the innermost is the last one, or for
// operands of any strides another one, or none.
std::vector<WideLayout> orders_of(const Problem& problem, const Operand& operand) {
  std::vector<WideLayout> orders(1);
  if (problem.operation == "matmul" && operand.role == Role::input) {
    orders.push_back({.order = {1, 0}});
    orders.push_back({.inner_strided = true});
  }
  if (operand.name == "mask") orders.push_back({.order = {0, 1, 3, 2}});
  if (operand.extent.size() == 4) orders.push_back({.order = {0, 2, 1, 3}});
  return orders;
}

}  // namespace

std::vector<Problem> wide_problems(const Kernel& kernel, Format storage) {
  if (kernel.operation == "matmul") return matmul_problems(kernel, storage);
  if (kernel.operation == "flash_attention") return flash_problems(kernel, storage);
  if (kernel.operation != "vector_add") return graph_problems(kernel, storage);
  return {vector_add(1, storage, Layout::contiguous), vector_add(300, storage, Layout::contiguous)};
}

Problem single_problem(const Kernel& kernel, Format storage) {
  const Shape shape{"one", 1, 1, 8, {{0, 0}}};
  if (kernel.operation == "vector_add") return vector_add(1, storage, Layout::contiguous);
  if (kernel.operation == "scatter_normalize") {
    return scatter_normalize(shape, storage, Layout::contiguous);
  }
  if (kernel.operation == "graph_attention") {
    return graph_attention(shape, storage, Layout::contiguous);
  }
  if (kernel.operation == "matmul") {
    const auto rows = MatmulLayout::rows;
    return matmul({1, 1, 1}, storage, rows, rows, rows, {});
  }
  std::vector<Setting> settings;
  if (find_parameter(kernel, "prefix") != nullptr) settings.push_back({"prefix", 1, {}});
  return flash_attention({1, 1, 1, 1, 8}, storage, FlashLayout::contiguous, {}, settings);
}

std::vector<std::vector<WideLayout>> near_layouts(const Problem& problem) {
  std::size_t most = 0;
  for (const Operand& operand : problem.operands) {
    most = std::max(most, orders_of(problem, operand).size());
  }
  std::vector<std::vector<WideLayout>> all;
  for (std::size_t choice = 0; choice < most; ++choice) {
    for (const std::int64_t odd : {0, 1}) {
      std::vector<WideLayout> layouts;
      for (const Operand& operand : problem.operands) {
        const std::vector<WideLayout> orders = orders_of(problem, operand);
        layouts.push_back(orders[choice % orders.size()]);
        if (is_stretchable(operand)) layouts.back().odd = odd;
      }
      all.push_back(layouts);
    }
  }
  return all;
}

bool is_stretchable(const Operand& operand) { return operand.format != Format::i32; }

std::vector<WideLayout> apart(const Problem& problem, std::vector<WideLayout> layouts,
                              std::int64_t elements, std::string_view name) {
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const Operand& operand = problem.operands[i];
    if (!is_stretchable(operand) || (name != "all" && name != operand.name)) continue;
    layouts[i].apart.assign(operand.extent.size(), elements);
  }
  return layouts;
}

}  // namespace halfulp::gpu::test
