// Laws hold for a plain right kernel, on every generated case they apply to, and each catches a
// wrong one.
#include "properties/law.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "properties/graph_laws.hpp"
#include "tests/properties/materialised.hpp"

namespace halfulp::properties {
namespace {

// What is wrong with the kernel below.
enum class Fault { none, edge_by_position, node_zero, many_edges, last_column, shifted_value };

float at(const gpu::Problem& problem, std::string_view name, std::int64_t index) {
  const gpu::Operand& operand = problem.operand(name);
  const auto bits = get(operand, operand.storage.data(), gpu::storage_index(operand, index));
  return static_cast<float>(reference::decode(reference_format(operand.format), bits));
}

void store(const gpu::Problem& problem, std::string_view name, std::int64_t index, float value,
           OutputBytes& outputs) {
  std::size_t number = 0;
  for (const gpu::Operand& operand : problem.operands) {
    if (operand.role != gpu::Role::output) continue;
    if (operand.name == name) {
      gpu::Operand target = operand;
      const auto bits = reference::encode(reference_format(operand.format), value);
      target.storage.swap(outputs[number]);
      put(target, gpu::storage_index(operand, index), bits);
      target.storage.swap(outputs[number]);
    }
    ++number;
  }
}

OutputBytes blank_outputs(const gpu::Problem& problem) {
  OutputBytes outputs;
  for (const gpu::Operand& operand : problem.operands) {
    if (operand.role != gpu::Role::output) continue;
    outputs.emplace_back(
        static_cast<std::size_t>(operand.span_elements() * gpu::size_bytes(operand.format)));
  }
  return outputs;
}

float clamp5(float value) { return std::isnan(value) ? value : std::clamp(value, -5.0f, 5.0f); }

// Score row of one edge and head; returns its weight.
float weigh(const gpu::Problem& problem, std::int64_t edge, std::int64_t from, std::int64_t to,
            std::int64_t head, OutputBytes& outputs) {
  const std::int64_t heads = problem.operand("q").extent[1];
  const std::int64_t dim = problem.operand("q").extent[2];
  const float scale = 1 / std::sqrt(static_cast<float>(dim));
  float logit = 0;
  for (std::int64_t d = 0; d < dim; ++d) {
    const auto index = [&](std::int64_t row) { return (row * heads + head) * dim + d; };
    const float t = clamp5(at(problem, "k", index(from)) * at(problem, "q", index(to)) * scale);
    const float s = t * at(problem, "e", index(edge));
    store(problem, "e_out", index(edge), s, outputs);
    logit += s;
  }
  return std::exp(clamp5(logit));
}

// graph_attention as its definition reads, in fp32, one node after the other.
OutputBytes attend(const gpu::Problem& problem, Fault fault) {
  OutputBytes outputs = blank_outputs(problem);
  const auto pointer = ids(problem, "column_pointer"), source = ids(problem, "column_source");
  const auto edge_id = ids(problem, "edge_id");
  const std::int64_t nodes = problem.operand("q").extent[0];
  const std::int64_t heads = problem.operand("q").extent[1];
  const std::int64_t dim = problem.operand("q").extent[2];
  for (std::int64_t node = 0; node < nodes; ++node) {
    const auto first = static_cast<std::size_t>(pointer[static_cast<std::size_t>(node)]);
    auto last = static_cast<std::size_t>(pointer[static_cast<std::size_t>(node) + 1]);
    if (fault == Fault::last_column && node + 1 == nodes && last > first) --last;
    for (std::int64_t head = 0; head < heads; ++head) {
      std::vector<float> sum(static_cast<std::size_t>(dim), 0.0f);
      float weights = problem.epsilon;
      for (std::size_t position = first; position < last; ++position) {
        if (fault == Fault::many_edges && position >= 7) continue;
        const std::int64_t edge = fault == Fault::edge_by_position
                                      ? static_cast<std::int64_t>(position)
                                      : edge_id[position];
        float weight = weigh(problem, edge, source[position], node, head, outputs);
        if (fault == Fault::node_zero && source[position] == 0) weight *= 1.5f;
        weights += weight;
        for (std::int64_t d = 0; d < dim; ++d) {
          float v = at(problem, "v", (source[position] * heads + head) * dim + d);
          if (fault == Fault::shifted_value) v += 0.01f;
          sum[static_cast<std::size_t>(d)] += weight * v;
        }
      }
      for (std::int64_t d = 0; d < dim; ++d) {
        store(problem, "out", (node * heads + head) * dim + d,
              sum[static_cast<std::size_t>(d)] / weights, outputs);
      }
    }
  }
  return outputs;
}

gpu::Numerics numerics() {
  gpu::Numerics result;
  result.scale = gpu::Scale::reciprocal;
  result.exponential = gpu::Exponential::expf;
  result.division = gpu::Division::ieee;
  return result;
}

Case case_of(const std::string& fields) {
  const Parsed parsed = parse("graph_attention " + first_kernel("graph_attention") + " " + fields);
  EXPECT_EQ(parsed.error.what, "");
  return parsed.value;
}

// Empty when the law does not apply or holds.
std::string check(const Law& law, const Case& c, Fault fault, int* applied = nullptr) {
  const Operation& operation = *find_operation("graph_attention");
  const gpu::Problem problem = operation.materialise(c);
  const Relation relation = law.relate(c, problem);
  if (!relation.applies()) return {};
  if (applied != nullptr) ++*applied;
  return disagreement(operation, numerics(), problem, attend(problem, fault), relation,
                      attend(relation.problem, fault));
}

TEST(Law, HoldForARightKernel) {
  const gpu::Kernel& kernel = *gpu::find_kernel("graph_attention", first_kernel("graph_attention"));
  for (const Law& law : graph_laws()) {
    int applied = 0;
    for (std::uint64_t i = 0; i < 150; ++i) {
      const Case c =
          find_operation("graph_attention")
              ->generate(kernel, gpu::Backend::host, rc::Random(i), static_cast<int>(i % 60));
      ASSERT_EQ(check(law, c, Fault::none, &applied), "") << law.name << "\n" << print(c);
    }
    EXPECT_GT(applied, law.name == "scaling" ? 20 : 80) << law.name;
  }
}

TEST(Law, EachCatchesItsFault) {
  const Case c = case_of("nodes=9 heads=2 dim=3 graph=random:30 fill=normal seed=0x3");
  const auto caught = [&](std::string_view law, Fault fault) {
    return check(*find_law(*find_operation("graph_attention"), law), c, fault);
  };
  EXPECT_NE(caught("edge_permutation", Fault::edge_by_position), "");
  EXPECT_NE(caught("node_relabelling", Fault::node_zero), "");
  EXPECT_NE(caught("batching", Fault::many_edges), "");
  EXPECT_NE(caught("isolated_nodes", Fault::last_column), "");
  EXPECT_NE(caught("scaling", Fault::shifted_value), "");
  EXPECT_NE(
      caught("scaling", Fault::shifted_value).find("elements disagree bit for bit, first out["),
      std::string::npos);
}

TEST(Law, RelatedProblemsKeepTheLayout) {
  for (const char* layout : {"packed", "gap:2", "permuted", "offset:3"}) {
    const Case c = case_of("nodes=5 heads=2 dim=3 graph=ring layout=" + std::string(layout));
    const gpu::Problem problem = find_operation("graph_attention")->materialise(c);
    for (const Law& law : graph_laws()) {
      const Relation relation = law.relate(c, problem);
      for (std::size_t i = 0; i < problem.operands.size(); ++i) {
        const gpu::Operand& first = problem.operands[i];
        const gpu::Operand& related = relation.problem.operands[i];
        EXPECT_EQ(first.base_offset, related.base_offset);
        EXPECT_EQ(first.stride[0], related.stride[0]) << layout << " " << law.name;
        if (first.extent != related.extent) continue;
        EXPECT_EQ(first.stride, related.stride);
      }
    }
  }
}

TEST(Law, AdditionCommutes) {
  const Operation& operation = *find_operation("vector_add");
  const gpu::Problem problem = problem_of("vector_add", "n=40 fill=cancelling");
  const auto add = [](const gpu::Problem& p, float sign) {
    OutputBytes outputs = blank_outputs(p);
    for (std::int64_t i = 0; i < 40; ++i)
      store(p, "z", i, at(p, "x", i) + sign * at(p, "y", i), outputs);
    return outputs;
  };
  const Relation relation = find_law(operation, "commutes")->relate(Case{}, problem);
  for (const float sign : {1.0f, -1.0f}) {
    const std::string what = disagreement(operation, {}, problem, add(problem, sign), relation,
                                          add(relation.problem, sign));
    EXPECT_EQ(what.empty(), sign == 1);
  }
}

}  // namespace
}  // namespace halfulp::properties
