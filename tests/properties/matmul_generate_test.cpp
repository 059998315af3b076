// Random cases of matmul: what its schedules treat differently is reached, and often enough that a
// short campaign shows a fault there.
#include "properties/matmul_generate.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "properties/matmul_schedule.hpp"
#include "properties/operands.hpp"
#include "properties/operation.hpp"
#include "properties/setup.hpp"

namespace halfulp::properties {
namespace {

using Counts = std::map<std::string, int, std::less<>>;

constexpr int kCases[gpu::kBackends] = {3000, 3000, 600};  // those of cuda are large
constexpr int kCasesOfAClass = 150;                        // at most, for one of the class
constexpr int kCasesOfARareClass = 400;

int cases_for(gpu::Backend backend) { return kCases[static_cast<std::size_t>(backend)]; }

std::vector<Case> cases_of(std::string_view kernel, gpu::Backend backend) {
  std::vector<Case> cases;
  for (int i = 0; i < cases_for(backend); ++i) {
    const rc::Random random(static_cast<std::uint64_t>(i));
    cases.push_back(
        generate_matmul_case(*gpu::find_kernel("matmul", kernel), backend, random, i % 101));
  }
  return cases;
}

MatmulSchedule schedule_of(const Case& c) {
  MatmulSchedule s{.m = c.integer("m"),
                   .n = c.integer("n"),
                   .k = c.integer("k"),
                   .tile = tile_size(c.text("tile"), storage_format(c))};
  s.group = c.integer("group");
  s.splits = c.integer("splits");
  s.programs = c.integer("programs");
  s.two_tile = c.integer("two_tile") == 1;
  return s;
}

// A part of a tile, whole tiles, whole tiles and a part.
const char* class_of(std::int64_t size, std::int64_t edge) {
  return size < edge ? "a part" : size % edge == 0 ? "whole" : "whole and a part";
}

void count_shape(const MatmulSchedule& s, Counts& counts) {
  counts["no rows"] += s.m == 0;
  counts["no columns"] += s.n == 0;
  counts["no k"] += s.k == 0;
  counts["many rows of tiles"] += s.tile_rows() >= 5;
  counts["many columns of tiles"] += s.tile_columns() >= 5;
  counts["many blocks of k"] += s.iterations() >= 30;
  const bool empty = s.m * s.n * s.k == 0;
  if (empty) return;
  const std::string rows = class_of(s.m, s.tile.m), columns = class_of(s.n, s.tile.n);
  const std::string depth = class_of(s.k, s.tile.k);
  ++counts["rows " + rows + ", columns " + columns];
  ++counts["rows " + rows + ", k " + depth];
  ++counts["columns " + columns + ", k " + depth];
  const std::int64_t groups = (s.tile_rows() + s.group - 1) / s.group;
  counts["a low last group"] += groups > 1 && s.tile_rows() % s.group != 0 && s.tile_columns() > 1;
  counts["group above all rows"] += s.group > s.tile_rows() && s.tile_columns() > 1;
}

// Leading dimensions of whole chunks of 16 bytes: what copies of 16 bytes need.
bool in_chunks(const gpu::Operand& operand) {
  const std::size_t inner = operand.stride[1] == 1 ? 1 : 0;
  return operand.base_offset == 0 &&
         operand.stride[1 - inner] * gpu::size_bytes(operand.format) % 16 == 0;
}

// And rows that end within a chunk.
void count_padded(const Case& c, const MatmulSchedule& s, Counts& counts) {
  const gpu::Problem problem = find_operation(c.operation)->materialise(c);
  const auto padded = [](const gpu::Operand& operand) {
    const std::int64_t length = operand.extent[operand.stride[1] == 1 ? 1 : 0];
    return in_chunks(operand) && length * gpu::size_bytes(operand.format) % 16 != 0;
  };
  if (s.m * s.n * s.k == 0 || !std::ranges::all_of(problem.operands, padded)) return;
  const std::string_view transpose = c.text("transpose");
  const bool a = transpose == "a" || transpose == "ab", b = transpose == "b" || transpose == "ab";
  ++counts["padded to chunks"];
  counts["padded to chunks, a row short of tiles"] += a && s.m % s.tile.m == s.tile.m - 1;
  counts["padded to chunks, a column short of tiles"] += !b && s.n % s.tile.n == s.tile.n - 1;
}

void count_splits(const MatmulSchedule& s, Counts& counts) {
  const std::int64_t iterations = s.iterations();
  counts["splits without k"] += s.splits > iterations;
  counts["a split a block"] += iterations > 1 && s.splits == iterations;
  counts["splits of two lengths"] +=
      s.splits > 1 && iterations > s.splits && iterations % s.splits != 0;
}

bool is_shared(const MatmulSchedule& s, std::int64_t tile) {
  return tile < s.shared_tiles() && program_shares(s, tile).size() > 1;
}

void count_programs(const Case& c, const MatmulSchedule& s, Counts& counts) {
  const std::int64_t tiles = s.tiles(), iterations = s.iterations(), programs = s.programs;
  counts["programs to choose"] += programs == 0;
  if (programs == 0 || s.m * s.n * s.k == 0) return;
  counts["whole waves of tiles"] += programs > 1 && tiles % programs == 0;
  counts["one tile beyond waves"] += programs > 1 && tiles > programs && tiles % programs == 1;
  counts["a wave but for one"] += programs > 2 && tiles % programs == programs - 1;
  counts["more programs than tiles"] += programs > tiles && programs <= tiles * iterations;
  counts["more programs than blocks of k"] += programs > tiles * iterations;
  const std::int64_t shared = s.shared_tiles();
  counts["two rounds shared"] += shared > programs && programs > 1;
  counts["shared and whole tiles"] += shared > 0 && shared < tiles && programs > 1;
  std::size_t most = 0;
  bool again = false;
  for (std::int64_t tile = 0; tile < shared; ++tile) {
    most = std::max(most, program_shares(s, tile).size());
    again = again || (is_shared(s, tile) && is_shared(s, tile + programs));
  }
  counts["three programs in a tile"] += most >= 3;
  counts["more than 32 programs in a tile"] += most > 32;
  // In two rounds the same place, at the same time.
  const bool at_once =
      backend_of(c.text("backend")) == gpu::Backend::cuda || c.integer("resident") >= programs;
  counts["parts of a tile a round later"] += again && at_once;
}

Counts counts_of(std::string_view kernel, gpu::Backend backend) {
  Counts counts;
  for (const Case& c : cases_of(kernel, backend)) {
    const MatmulSchedule s = schedule_of(c);
    count_shape(s, counts);
    if (backend != gpu::Backend::cuda) count_padded(c, s, counts);
    if (kernel == "split_k") count_splits(s, counts);
    if (kernel.starts_with("streamk")) count_programs(c, s, counts);
  }
  return counts;
}

// Of the backend's cases: on a host backend few have many blocks at work at a time.
int cases_of_a_class(std::string_view what, gpu::Backend backend) {
  constexpr std::string_view kRare[] = {"more than 32 programs in a tile",
                                        "parts of a tile a round later"};
  const bool rare = backend != gpu::Backend::cuda && std::ranges::count(kRare, what) > 0;
  return rare ? kCasesOfARareClass : kCasesOfAClass;
}

TEST(MatmulGenerate, NoClassOfSchedulesIsStarved) {
  const std::map<std::string_view, std::size_t> classes{
      {"tile", 38}, {"split_k", 41}, {"streamk_workspace", 49}};
  for (const auto& [kernel, count] : classes) {
    for (const gpu::Backend backend :
         {gpu::Backend::host, gpu::Backend::host_checked, gpu::Backend::cuda}) {
      const Counts counts = counts_of(kernel, backend);
      EXPECT_EQ(counts.size(), count - (backend == gpu::Backend::cuda ? 3 : 0)) << kernel;
      for (const auto& [what, found] : counts) {
        EXPECT_GE(found, cases_for(backend) / cases_of_a_class(what, backend))
            << what << " of " << kernel << " on " << gpu::name(backend);
      }
    }
  }
}

// Code that is compiled for one tile, format and order of storage, reached by whole chunks.
TEST(MatmulGenerate, NoInstanceIsStarved) {
  for (const gpu::Backend backend : {gpu::Backend::host, gpu::Backend::host_checked}) {
    Counts formats, orders;
    for (const Case& c : cases_of("tile", backend)) {
      if (c.integer("m") * c.integer("n") * c.integer("k") == 0) continue;
      const gpu::Problem problem = find_operation(c.operation)->materialise(c);
      const bool chunks = std::ranges::all_of(problem.operands, in_chunks);
      const std::string tile(c.text("tile"));
      formats[tile + " of " + std::string(c.text("in"))] += chunks;
      orders[tile + " transposed " + std::string(c.text("transpose"))] += chunks;
    }
    for (const Counts& counts : {formats, orders}) {
      EXPECT_EQ(counts.size(), 8u * 4u);
      for (const auto& [what, found] : counts) {
        EXPECT_GE(found, cases_for(backend) / kCasesOfARareClass) << what;
      }
    }
  }
}

// As many programs as can be resident at once are the most that it may be asked for.
TEST(MatmulGenerate, ProgramsThatWaitForEachOtherAreResident) {
  for (const gpu::Backend backend : {gpu::Backend::host, gpu::Backend::host_checked}) {
    std::int64_t most = 0, round_later = 0;
    for (const Case& c : cases_of("streamk_lock", backend)) {
      ASSERT_LE(c.integer("programs"), c.integer("resident")) << print(c);
      most = std::max(most, c.integer("programs"));
      Counts counts;
      count_programs(c, schedule_of(c), counts);
      round_later += counts["parts of a tile a round later"];
    }
    EXPECT_GT(most, 32) << gpu::name(backend);
    EXPECT_GE(round_later, cases_for(backend) / kCasesOfARareClass) << gpu::name(backend);
  }
}

}  // namespace
}  // namespace halfulp::properties
