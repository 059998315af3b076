#include "tests/gpu/kernels_problems.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace halfulp::gpu::test {
namespace {

std::uint32_t next(std::uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

void encode(Format format, double value, std::byte* to) {
  const auto single = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &single, sizeof bits);
  if (format == Format::f32) std::memcpy(to, &single, sizeof single);
  if (format == Format::f16) {
    const auto half = static_cast<_Float16>(value);
    std::memcpy(to, &half, sizeof half);
  }
  if (format == Format::bf16) {
    const auto upper = static_cast<std::uint16_t>(bits >> 16);  // exact for these values
    std::memcpy(to, &upper, sizeof upper);
  }
}

double decode(Format format, const std::byte* from) {
  if (format == Format::i32) {
    std::int32_t value = 0;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  if (format == Format::f16) {
    _Float16 value = 0;
    std::memcpy(&value, from, sizeof value);
    return static_cast<double>(value);
  }
  std::uint32_t bits = 0;
  if (format == Format::bf16) {
    std::uint16_t upper = 0;
    std::memcpy(&upper, from, sizeof upper);
    bits = std::uint32_t{upper} << 16;
  } else {
    std::memcpy(&bits, from, sizeof bits);
  }
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return static_cast<double>(value);
}

double unit_roundoff(Format format) {
  if (format == Format::f16) return 0x1p-11;
  return format == Format::bf16 ? 0x1p-8 : 0x1p-24;
}

std::vector<std::int64_t> packed_strides(const std::vector<std::int64_t>& extent,
                                         std::int64_t row_gap) {
  std::vector<std::int64_t> stride(extent.size(), 1);
  for (std::size_t axis = extent.size() - 1; axis-- > 0;) {
    stride[axis] = stride[axis + 1] * extent[axis + 1] + row_gap;
  }
  return stride;
}

Operand make_float(std::string operand_name, Role role, Format format,
                   std::vector<std::int64_t> extent, Layout layout) {
  Operand operand;
  operand.name = std::move(operand_name);
  operand.format = format;
  operand.role = role;
  operand.extent = std::move(extent);
  operand.stride = packed_strides(operand.extent, layout == Layout::gapped ? 3 : 0);
  if (layout == Layout::permuted && operand.extent.size() == 3) {
    operand.stride = {operand.extent[2], operand.extent[0] * operand.extent[2], 1};
  }
  if (layout == Layout::broadcast && role == Role::input && operand.extent.size() > 1) {
    operand.stride[0] = 0;
  }
  if (layout == Layout::offset) operand.base_offset = 1;
  if (role == Role::output) return operand;

  const auto element = static_cast<std::size_t>(size_bytes(format));
  const auto elements = static_cast<std::size_t>(operand.span_elements());
  operand.storage.assign(elements * element, std::byte{0xff});  // gaps hold NaN
  std::uint32_t state = 7u * static_cast<std::uint32_t>(operand.name[0]) + 1u;
  for (std::int64_t i = 0; i < operand.count(); ++i) {
    double value = static_cast<double>(next(state) % 129) / 16 - 4;
    if (operand.name == "scores") value = std::abs(value) + 1;  // keeps denominators away from 0
    encode(format, value,
           operand.storage.data() + static_cast<std::size_t>(storage_index(operand, i)) * element);
  }
  return operand;
}

Operand make_indices(std::string operand_name, const std::vector<std::int32_t>& values) {
  Operand operand;
  operand.name = std::move(operand_name);
  operand.format = Format::i32;
  operand.extent = {static_cast<std::int64_t>(values.size())};
  operand.stride = {1};
  operand.storage.resize(values.size() * sizeof(std::int32_t));
  if (!values.empty()) std::memcpy(operand.storage.data(), values.data(), operand.storage.size());
  return operand;
}

struct Indices {
  std::vector<std::int32_t> source, destination, column_pointer, column_source, edge_id;
};

Indices indices_of(const Shape& shape) {
  Indices indices;
  for (const auto& [source, destination] : shape.edges) {
    indices.source.push_back(source);
    indices.destination.push_back(destination);
  }
  indices.edge_id.resize(shape.edges.size());
  std::iota(indices.edge_id.begin(), indices.edge_id.end(), 0);
  std::stable_sort(indices.edge_id.begin(), indices.edge_id.end(), [&shape](int a, int b) {
    return shape.edges[static_cast<std::size_t>(a)].second <
           shape.edges[static_cast<std::size_t>(b)].second;
  });
  indices.column_pointer.assign(static_cast<std::size_t>(shape.nodes) + 1, 0);
  for (const auto& edge : shape.edges) {
    ++indices.column_pointer[static_cast<std::size_t>(edge.second) + 1];
  }
  std::partial_sum(indices.column_pointer.begin(), indices.column_pointer.end(),
                   indices.column_pointer.begin());
  for (const std::int32_t edge : indices.edge_id) {
    indices.column_source.push_back(indices.source[static_cast<std::size_t>(edge)]);
  }
  return indices;
}

double input(const Problem& problem, const char* operand_name, std::int64_t index) {
  const Operand& operand = problem.operand(operand_name);
  return value_at(operand, operand.storage, index);
}

double clamp(double x) { return x < -5 ? -5 : x > 5 ? 5 : x; }

std::vector<std::vector<Expected>> expected_vector_add(const Problem& problem) {
  std::vector<Expected> z;
  for (std::int64_t i = 0; i < problem.operand("z").count(); ++i) {
    z.push_back({input(problem, "x", i) + input(problem, "y", i), 0});
  }
  return {z};
}

std::vector<std::vector<Expected>> expected_scatter(const Problem& problem) {
  const Operand& out = problem.operand("out");
  const std::int64_t edges = problem.operand("values").extent[0];
  const std::int64_t heads = out.extent[1];
  const std::int64_t dim = out.extent[2];
  std::vector<double> top(static_cast<std::size_t>(out.count()));
  std::vector<double> size(top.size());
  std::vector<double> bottom(static_cast<std::size_t>(out.extent[0] * heads));
  for (std::int64_t edge = 0; edge < edges; ++edge) {
    const auto node = static_cast<std::int64_t>(input(problem, "destination", edge));
    for (std::int64_t head = 0; head < heads; ++head) {
      bottom[static_cast<std::size_t>(node * heads + head)] +=
          input(problem, "scores", edge * heads + head);
      for (std::int64_t d = 0; d < dim; ++d) {
        const double value = input(problem, "values", (edge * heads + head) * dim + d);
        const auto at = static_cast<std::size_t>((node * heads + head) * dim + d);
        top[at] += value;
        size[at] += std::abs(value);
      }
    }
  }
  std::vector<Expected> rows;
  for (std::size_t i = 0; i < top.size(); ++i) {
    const double denominator =
        bottom[i / static_cast<std::size_t>(dim)] + static_cast<double>(problem.epsilon);
    // Every addition and the division round once; scores are positive.
    const double roundings = 2 * static_cast<double>(edges) + 4;
    rows.push_back({top[i] / denominator, roundings * 0x1p-24 * size[i] / denominator});
  }
  return {rows};
}

std::vector<std::vector<Expected>> expected_attention(const Problem& problem) {
  const Operand& out = problem.operand("out");
  const std::int64_t edges = problem.operand("e").extent[0];
  const std::int64_t heads = out.extent[1];
  const std::int64_t dim = out.extent[2];
  const double root = std::sqrt(static_cast<double>(dim));
  std::vector<Expected> e_out(static_cast<std::size_t>(edges * heads * dim));
  std::vector<double> top(static_cast<std::size_t>(out.count()));
  std::vector<double> moved(top.size());
  std::vector<double> bottom(top.size(), static_cast<double>(problem.epsilon));
  for (std::int64_t row = 0; row < edges * heads; ++row) {
    const std::int64_t head = row % heads;
    const auto source = static_cast<std::int64_t>(input(problem, "source", row / heads));
    const auto node = static_cast<std::int64_t>(input(problem, "destination", row / heads));
    double sum = 0;
    double size = 0;
    for (std::int64_t d = 0; d < dim; ++d) {
      const double q = input(problem, "q", (node * heads + head) * dim + d);
      const double k = input(problem, "k", (source * heads + head) * dim + d);
      const double score = clamp(q * k / root) * input(problem, "e", row * dim + d);
      e_out[static_cast<std::size_t>(row * dim + d)] = {score, 8 * 0x1p-24 * std::abs(score)};
      sum += score;
      size += std::abs(score);
    }
    const double weight = std::exp(clamp(sum));
    // Roundings of the logit move the weight relatively; so do those of exp and of the sums.
    const double roundings =
        (static_cast<double>(dim) + 8) * size + 32 + static_cast<double>(edges);
    for (std::int64_t d = 0; d < dim; ++d) {
      const auto at = static_cast<std::size_t>((node * heads + head) * dim + d);
      const double value = input(problem, "v", (source * heads + head) * dim + d);
      top[at] += weight * value;
      bottom[at] += weight;
      moved[at] += 2 * roundings * 0x1p-24 * weight * 4;  // |v| <= 4
    }
  }
  std::vector<Expected> rows;
  for (std::size_t i = 0; i < top.size(); ++i) {
    rows.push_back({top[i] / bottom[i], moved[i] / bottom[i]});
  }
  return {rows, e_out};
}

}  // namespace

const char* name(Layout layout) {
  constexpr const char* kNames[] = {"contiguous", "gapped", "permuted", "broadcast", "offset"};
  return kNames[static_cast<std::size_t>(layout)];
}

Shape hub(const char* label, int in_degree, std::int64_t heads, std::int64_t dim) {
  Shape shape{label, 7, heads, dim, {}};
  std::uint32_t state = 5;
  for (int i = 0; i < in_degree; ++i) {
    shape.edges.emplace_back(static_cast<int>(next(state) % 7), 4);
    if (i % 61 == 0) shape.edges.emplace_back(4, static_cast<int>(next(state) % 7));
  }
  return shape;
}

std::vector<Shape> shapes() {
  Shape dense{"dense", 4, 2, 3, {}};  // more edges than pairs of nodes: duplicates and self loops
  Shape wide{"wide", 3, 4, 32, {}};
  std::uint32_t state = 3;
  for (int i = 0; i < 37; ++i) {
    dense.edges.emplace_back(static_cast<int>(next(state) % 4), static_cast<int>(next(state) % 4));
  }
  for (int i = 0; i < 21; ++i) {
    wide.edges.emplace_back(static_cast<int>(next(state) % 3), static_cast<int>(next(state) % 3));
  }
  return {{"no nodes", 0, 2, 3, {}},
          {"no edges", 3, 2, 3, {}},
          {"no heads", 2, 0, 3, {{0, 1}}},
          {"no elements", 2, 2, 0, {{0, 1}}},
          {"one", 1, 1, 1, {{0, 0}}},
          {"unsorted", 5, 1, 5, {{0, 3}, {1, 0}, {4, 3}, {3, 1}, {3, 3}, {2, 0}}},
          dense,
          wide,
          {"slices", 2, 1, 33, {{0, 1}, {1, 1}, {1, 0}}},
          {"many heads", 3, 130, 1, {{0, 1}, {2, 1}, {1, 0}}},
          {"two slices", 2, 3, 260, {{0, 1}, {1, 1}, {1, 0}}},
          {"long row", 2, 1, 1025, {{0, 1}, {1, 1}, {1, 0}}},
          hub("hub 257", 257, 3, 5)};
}

Problem vector_add(std::int64_t n, Format storage, Layout layout) {
  Problem problem;
  problem.operation = "vector_add";
  // A different misalignment for each operand, and the same for all, both occur over the layouts.
  problem.operands.push_back(make_float("x", Role::input, storage, {n}, layout));
  problem.operands.push_back(make_float("y", Role::input, storage, {n}, layout));
  problem.operands.push_back(make_float("z", Role::output, storage, {n}, layout));
  if (layout == Layout::gapped) problem.operands[1].base_offset = 3;
  return problem;
}

Problem scatter_normalize(const Shape& shape, Format storage, Layout layout) {
  const auto edges = static_cast<std::int64_t>(shape.edges.size());
  const Indices indices = indices_of(shape);
  Problem problem;
  problem.operation = "scatter_normalize";
  problem.epsilon = 1e-6f;
  problem.operands.push_back(
      make_float("values", Role::input, storage, {edges, shape.heads, shape.dim}, layout));
  problem.operands.push_back(
      make_float("scores", Role::input, storage, {edges, shape.heads}, layout));
  problem.operands.push_back(make_indices("destination", indices.destination));
  problem.operands.push_back(make_indices("column_pointer", indices.column_pointer));
  problem.operands.push_back(make_indices("edge_id", indices.edge_id));
  problem.operands.push_back(
      make_float("out", Role::output, storage, {shape.nodes, shape.heads, shape.dim}, layout));
  return problem;
}

Problem graph_attention(const Shape& shape, Format storage, Layout layout) {
  const auto edges = static_cast<std::int64_t>(shape.edges.size());
  const Indices indices = indices_of(shape);
  const std::vector<std::int64_t> node_rows{shape.nodes, shape.heads, shape.dim};
  const std::vector<std::int64_t> edge_rows{edges, shape.heads, shape.dim};
  Problem problem;
  problem.operation = "graph_attention";
  problem.epsilon = 1e-6f;
  for (const char* operand_name : {"q", "k", "v"}) {
    problem.operands.push_back(make_float(operand_name, Role::input, storage, node_rows, layout));
  }
  problem.operands.push_back(make_float("e", Role::input, storage, edge_rows, layout));
  problem.operands.push_back(make_indices("source", indices.source));
  problem.operands.push_back(make_indices("destination", indices.destination));
  problem.operands.push_back(make_indices("column_pointer", indices.column_pointer));
  problem.operands.push_back(make_indices("column_source", indices.column_source));
  problem.operands.push_back(make_indices("edge_id", indices.edge_id));
  problem.operands.push_back(make_float("out", Role::output, storage, node_rows, layout));
  problem.operands.push_back(make_float("e_out", Role::output, storage, edge_rows, layout));
  return problem;
}

double value_at(const Operand& operand, const std::vector<std::byte>& storage,
                std::int64_t row_major_index) {
  const std::int64_t offset = storage_index(operand, row_major_index) * size_bytes(operand.format);
  return decode(operand.format, storage.data() + offset);
}

std::vector<std::vector<Expected>> expected(const Problem& problem) {
  if (problem.operation == "vector_add") return expected_vector_add(problem);
  if (problem.operation == "scatter_normalize") return expected_scatter(problem);
  return expected_attention(problem);
}

std::string first_wrong(const Problem& problem, const Outputs& outputs) {
  const std::vector<std::vector<Expected>> answers = expected(problem);
  std::size_t output = 0;
  for (const Operand& operand : problem.operands) {
    if (operand.role != Role::output) continue;
    for (std::int64_t i = 0; i < operand.count(); ++i) {
      const Expected& want = answers[output][static_cast<std::size_t>(i)];
      const double got = value_at(operand, outputs[output], i);
      const double u = unit_roundoff(operand.format);
      const double bound = want.bound + u * (std::abs(want.value) + want.bound);
      if (std::abs(got - want.value) <= bound) continue;
      return operand.name + " element " + std::to_string(i) + ": got " + std::to_string(got) +
             ", want " + std::to_string(want.value) + " within " + std::to_string(bound);
    }
    ++output;
  }
  return {};
}

}  // namespace halfulp::gpu::test
