// Arguments of scatter_normalize.
#include "gpu/kernels/scatter_normalize.hpp"

namespace halfulp::gpu {

std::string bind(const Arguments& arguments, ScatterNormalize& s) {
  Binding binding(arguments);
  s.storage = binding.storage("values");
  s.edges = binding.extent("values", 0, kIdsMost);
  s.heads = binding.extent("values", 1);
  s.dim = binding.extent("values", 2);
  s.nodes = binding.extent("out", 0, kIdsMost);
  s.epsilon = binding.epsilon();
  s.values = binding.floats("values", {s.edges, s.heads, s.dim});
  s.scores = binding.floats("scores", {s.edges, s.heads});
  s.destination = binding.indices("destination", s.edges);
  s.column_pointer = binding.indices("column_pointer", s.nodes + 1);
  s.edge_id = binding.indices("edge_id", s.edges);
  s.out = binding.floats("out", {s.nodes, s.heads, s.dim});
  return binding.finish();
}

}  // namespace halfulp::gpu
