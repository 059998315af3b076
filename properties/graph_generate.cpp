#include "properties/graph_generate.hpp"

#include <algorithm>

#include "properties/generate.hpp"
#include "properties/graph_fixture.hpp"
#include "properties/graph_spec.hpp"

namespace halfulp::properties {
namespace {

// Sizes of a case: rows (nodes and edges together) times heads times dim stay near `work`.
struct Room {
  std::int64_t work = 0;
  std::int64_t heads = 1;
  std::int64_t dim = 1;
  std::int64_t rows() const { return std::max<std::int64_t>(4, work / (heads * dim)); }
};

Room choose_room(Choices& choose, const gpu::Kernel& kernel) {
  Room room;
  room.work = choose.weighted<std::int64_t>({{6, 300}, {8, 1200}, {4, 4000}, {1, 12000}});
  room.dim = choose.size_near(kernel.edges, std::min<std::int64_t>(room.work / 4, 300));
  room.heads = choose.weighted<std::int64_t>({{5, 1}, {3, 2}, {3, 3}, {1, 4}, {1, 5}});
  while (room.heads > 1 && room.heads * room.dim > room.work / 4) --room.heads;
  return room;
}

// A family with a number of edges, at most `edges` of them.
std::string sized_family(Choices& choose, const gpu::Kernel& kernel, std::int64_t nodes,
                         std::int64_t edges) {
  const std::int64_t count = choose.size_near(kernel.edges, std::max<std::int64_t>(edges, 1));
  const auto form = [&](const char* family, std::int64_t number) {
    return std::string(family) + ":" + std::to_string(number);
  };
  switch (choose.between(0, 9)) {
    case 0:
    case 1:
      return form("hub", count);
    case 2:
      return form("power", count);
    case 3:
      return form("duplicates", std::max(count, std::min(edges, nodes * nodes + 1)));
    case 4:
      return nodes < 2 ? form("random", count) : form("bipartite", count);
    case 5: {
      const std::int64_t blocks = choose.between(1, std::min<std::int64_t>(nodes, 4));
      return form("batch", blocks) + ":" +
             std::to_string(std::max<std::int64_t>(count / blocks, 1));
    }
    default:
      return form("random", count);
  }
}

std::string choose_family(Choices& choose, const gpu::Kernel& kernel, std::int64_t nodes,
                          std::int64_t edges) {
  if (nodes == 0) return "empty";
  const std::string plain = choose.weighted<std::string>({{14, ""},
                                                          {1, "empty"},
                                                          {1, "star"},
                                                          {1, "chain"},
                                                          {1, "ring"},
                                                          {1, "self"},
                                                          {1, "complete"}});
  if (!plain.empty() && graph_edge_count(plain, nodes) <= 2 * edges + 4) return plain;
  return sized_family(choose, kernel, nodes, edges);
}

std::string with_variants(Choices& choose, std::string graph, std::int64_t nodes) {
  const std::string isolated = choose.weighted<std::string>(
      {{7, ""}, {1, ":isolated_first"}, {1, ":isolated_middle"}, {1, ":isolated_last"}});
  const std::string order =
      choose.weighted<std::string>({{4, ""}, {2, ":shuffled"}, {1, ":sorted"}});
  for (const std::string& variants : {isolated + order, order}) {
    if (graph_error(graph + variants, nodes).empty()) return graph + variants;
  }
  return graph;
}

void choose_graph(Choices& choose, const gpu::Kernel& kernel, Room room, Case& c) {
  const std::int64_t rows = room.rows();
  const std::int64_t half = std::max<std::int64_t>(rows / 2, 1);
  std::int64_t nodes = choose.between(1, std::min<std::int64_t>(half, 3 + choose.size() / 3));
  if (choose.one_in(8)) nodes = choose.size_near(kernel.edges, half);
  if (choose.one_in(40)) nodes = 0;
  c.set("nodes", nodes);
  c.set("graph", with_variants(choose, choose_family(choose, kernel, nodes, rows - nodes), nodes));
}

// Two or three blocks' worth of work: few enough schedules to try them all.
void choose_tiny(Choices& choose, Case& c) {
  c.set("nodes", choose.between(1, 2));
  c.set("graph", "random:" + std::to_string(choose.between(1, 3)));
  c.set("heads", std::int64_t{1});
  c.set("dim", choose.between(1, 2));
}

// In-degrees at and beyond every split and group of a kernel, on few channels; at times several
// hubs side by side.
void choose_large_hub(Choices& choose, const gpu::Kernel& kernel, Case& c) {
  std::int64_t degree = choose.weighted<std::int64_t>({{1, 1023}, {1, 1024}, {3, 1025}});
  std::vector<std::int64_t> near;
  for (const int edge : kernel.edges) {
    if (edge >= 128) near.insert(near.end(), {edge - 1, edge, edge + 1});
  }
  if (!near.empty() && choose.one_in(2)) {
    const auto last = static_cast<std::int64_t>(near.size()) - 1;
    degree = near[static_cast<std::size_t>(choose.between(0, last))];
  } else if (choose.one_in(6)) {
    degree = 4097;
  }
  const std::int64_t nodes = choose.weighted<std::int64_t>({{2, 1}, {2, 2}, {1, 3}});
  const std::string graph = choose.one_in(3) ? "random:" + std::to_string(nodes * degree)
                                             : "hub:" + std::to_string(degree);
  c.set("nodes", nodes);
  c.set("graph", with_variants(choose, graph, nodes));
  c.set("heads", choose.weighted<std::int64_t>({{3, 1}, {1, 2}}));
  c.set("dim", choose.between(1, 2));
}

// A kernel whose loops change shape at such sizes splits its hubs.
bool splits_hubs(const gpu::Kernel& kernel) {
  return std::ranges::any_of(kernel.edges, [](int edge) { return edge >= 256; });
}

void choose_real(Choices& choose, Case& c) {
  const auto names = fixture_graph_names();
  if (names.empty()) return;
  const std::string_view name = choose.word(names);
  c.set("nodes", find_fixture_graph(name)->nodes);
  c.set("graph", "real:" + std::string(name));
  c.set("heads", choose.between(1, 2));
  c.set("dim", choose.between(1, 5));
}

}  // namespace

Case generate_graph_case(const gpu::Kernel& kernel, gpu::Backend backend, const rc::Random& random,
                         int size) {
  Choices choose(random, size);
  Case c = make_case(kernel.operation, kernel.name);
  const Room room = choose_room(choose, kernel);
  c.set("heads", room.heads);
  c.set("dim", room.dim);
  const std::int64_t kind = choose.between(0, 199);
  const std::int64_t hubs = splits_hubs(kernel) ? 12 : 2;
  if (kind < hubs && size >= 20) {
    choose_large_hub(choose, kernel, c);
  } else if (kind < hubs + 3 && size >= 20) {
    choose_real(choose, c);
  } else if (kind < hubs + 13) {
    choose_tiny(choose, c);
  } else {
    choose_graph(choose, kernel, room, c);
  }
  c.set("eps", choose.weighted<std::string>({{8, "1e-6"}, {1, "0.001"}, {1, "1"}}));
  const std::int64_t edges = graph_edge_count(c.text("graph"), c.integer("nodes"));
  const bool tiny =
      c.integer("nodes") <= 2 && edges <= 3 && c.integer("heads") * c.integer("dim") <= 2;
  choose_common(choose, kernel, backend, tiny, c);
  if (c.text("fill") == "G3") {
    c.set("dim", choose.weighted<std::int64_t>({{1, 1}, {3, 4}, {3, 16}, {1, 64}}));
  }
  if (c.text("fill") == "S5-ties") c.set("eps", "1");
  choose_law(choose, c);
  return c;
}

}  // namespace halfulp::properties
