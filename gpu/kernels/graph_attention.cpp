// Arguments of graph_attention.
#include "gpu/kernels/graph_attention.hpp"

#include <cmath>

namespace halfulp::gpu {

std::string bind(const Arguments& arguments, GraphAttention& g) {
  Binding binding(arguments);
  g.storage = binding.storage("q");
  g.nodes = binding.extent("q", 0, kIdsMost);
  g.heads = binding.extent("q", 1);
  g.dim = binding.extent("q", 2);
  g.edges = binding.extent("e", 0, kIdsMost);
  g.epsilon = binding.epsilon();
  g.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(g.dim)));
  g.q = binding.floats("q", {g.nodes, g.heads, g.dim});
  g.k = binding.floats("k", {g.nodes, g.heads, g.dim});
  g.v = binding.floats("v", {g.nodes, g.heads, g.dim});
  g.e = binding.floats("e", {g.edges, g.heads, g.dim});
  g.source = binding.indices("source", g.edges);
  g.destination = binding.indices("destination", g.edges);
  g.column_pointer = binding.indices("column_pointer", g.nodes + 1);
  g.column_source = binding.indices("column_source", g.edges);
  g.edge_id = binding.indices("edge_id", g.edges);
  g.out = binding.floats("out", {g.nodes, g.heads, g.dim});
  g.e_out = binding.floats("e_out", {g.edges, g.heads, g.dim});
  return binding.finish();
}

}  // namespace halfulp::gpu
