// Random cases of flash_attention: legal, around the tiles, and everything is reached.
#include "properties/flash_generate.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "properties/flash_problem.hpp"
#include "properties/operation.hpp"
#include "properties/spec.hpp"

namespace halfulp::properties {
namespace {

constexpr std::int64_t kPositionMost = std::numeric_limits<std::int32_t>::max();

std::vector<Case> cases_of(std::string_view kernel, gpu::Backend backend, int count) {
  std::vector<Case> cases;
  for (int i = 0; i < count; ++i) {
    const rc::Random random(static_cast<std::uint64_t>(i));
    cases.push_back(generate_flash_case(*gpu::find_kernel("flash_attention", kernel), backend,
                                        random, i % 101));
  }
  return cases;
}

TEST(FlashGenerate, SizesLieAroundTheTiles) {
  for (const gpu::Backend backend : {gpu::Backend::host, gpu::Backend::host_checked}) {
    std::map<std::string_view, std::set<std::int64_t>> sizes;
    std::set<int> order;
    std::set<std::string, std::less<>> tiles;
    for (const Case& c : cases_of("fake_right", backend, 6000)) {
      const FlashTile tile = flash_tile(c);
      tiles.emplace(c.text("tile"));
      const std::int64_t queries = c.integer("queries"), keys = c.integer("keys");
      order.insert(queries < keys ? -1 : (queries > keys ? 1 : 0));
      for (const char* field : {"batches", "heads", "dim", "queries", "keys"}) {
        sizes[field].insert(c.integer(field));
      }
      for (std::int64_t step = -1; step <= 1; ++step) {
        for (const std::int64_t count : {1, 2, 3}) {
          if (keys == count * tile.keys + step) sizes["tiles of keys"].insert(10 * count + step);
        }
        if (queries == tile.queries + step) sizes["tiles of queries"].insert(step);
      }
    }
    EXPECT_EQ(tiles.size(), 3u);
    EXPECT_EQ(order.size(), 3u);
    EXPECT_EQ(sizes["tiles of keys"].size(), 9u);
    EXPECT_EQ(sizes["tiles of queries"].size(), 3u);
    for (const std::int64_t dim : {8, 16, 24, 40, 46, 63, 64, 72, 80, 96, 128, 192, 256}) {
      EXPECT_TRUE(sizes["dim"].contains(dim)) << dim;
    }
    for (const std::int64_t size : {0, 1, 2, 3, 5, 16, 17, 33, 65, 97}) {
      EXPECT_TRUE(sizes["keys"].contains(size)) << size;
      EXPECT_TRUE(sizes["queries"].contains(size)) << size;
    }
    for (const char* field : {"batches", "heads"}) {
      EXPECT_TRUE(sizes[field].contains(0) && sizes[field].contains(1) && sizes[field].size() > 3);
    }
  }
}

// What a kernel's loops treat differently: builds for 64, 128 and 256 channels, the last 32 of
// these.
int class_of_dim(std::int64_t dim) { return dim <= 64 ? 0 : dim <= 128 ? 1 : dim <= 224 ? 2 : 3; }
// A part of a tile, whole tiles, whole tiles and a part; and whether several keys' tiles are whole.
int class_of_rows(std::int64_t rows, std::int64_t edge) {
  return rows < edge ? 0 : rows % edge == 0 ? 1 : 2;
}
int class_of_keys(std::int64_t keys, std::int64_t edge) {
  return keys > edge && keys % edge == 0 ? 3 : class_of_rows(keys, edge);
}

// A fault may need two of them at once: each pair comes once in 60 cases.
TEST(FlashGenerate, NoPairOfSizeClassesIsStarved) {
  constexpr int kCases = 3000;
  for (const std::string_view kernel : {"naive", "online_f32", "mma_f16"}) {
    for (const gpu::Backend backend :
         {gpu::Backend::host, gpu::Backend::host_checked, gpu::Backend::cuda}) {
      int dim_keys[4][4] = {}, dim_queries[4][3] = {}, keys_queries[4][3] = {};
      for (const Case& c : cases_of(kernel, backend, kCases)) {
        if (c.integer("batches") * c.integer("heads") == 0) continue;
        if (c.integer("keys") * c.integer("queries") == 0) continue;
        const FlashTile tile = kernel == "naive" ? FlashTile{32, 32} : flash_tile(c);
        const int dim = class_of_dim(c.integer("dim"));
        const int keys = class_of_keys(c.integer("keys"), tile.keys);
        const int queries = class_of_rows(c.integer("queries"), tile.queries);
        ++dim_keys[dim][keys];
        ++dim_queries[dim][queries];
        ++keys_queries[keys][queries];
      }
      const auto expect = [&](int found, const char* what, int a, int b) {
        EXPECT_GE(found, kCases / 60)
            << what << " " << a << " " << b << " of " << kernel << " on " << gpu::name(backend);
      };
      for (int a = 0; a < 4; ++a) {
        for (int b = 0; b < 4; ++b) expect(dim_keys[a][b], "channels and keys", a, b);
        for (int b = 0; b < 3; ++b) expect(dim_queries[a][b], "channels and queries", a, b);
        for (int b = 0; b < 3; ++b) expect(keys_queries[a][b], "keys and queries", a, b);
      }
    }
  }
}

using Counts = std::map<std::string, int, std::less<>>;

// Positions at which 32 bits end; whole tiles of a window, and loops over many.
void count_window(const Case& c, const Mask& mask, Counts& counts) {
  const std::int64_t left = mask.arguments[0], right = mask.arguments[1];
  const std::int64_t queries = c.integer("queries"), keys = c.integer("keys");
  const std::int64_t shift = keys - queries;
  const FlashTile tile = flash_tile(c);
  counts["left largest"] += left >= kPositionMost - 1;
  counts["right largest"] += right >= kPositionMost - 1 && keys > 1;
  counts["begin below 32 bits"] += shift < left - kPositionMost - 1;
  counts["left about all keys"] += std::abs(left - keys) <= 1;
  // All keys of the first query's tile, and of its last query.
  const std::int64_t last = std::min(queries, tile.queries) - 1;
  const std::int64_t begin = std::max<std::int64_t>(0, last + shift - left);
  const std::int64_t end = std::min(keys, shift + right + 1);
  const bool narrow = left + right < keys;
  const bool full = (begin + tile.keys - 1) / tile.keys * tile.keys + tile.keys <= end;
  counts["full tile"] += narrow && full;
  counts["full tile of all queries"] += narrow && full && last + 1 == tile.queries;
  // All but its first key, or its last.
  const std::int64_t first_end = shift + right + 1, last_begin = last + shift - left;
  counts["tile but for its first key"] +=
      last_begin > 0 && last_begin % tile.keys == 1 && first_end >= last_begin - 1 + tile.keys;
  counts["tile but for its last key"] += first_end < keys && (first_end + 1) % tile.keys == 0 &&
                                         first_end + 1 - tile.keys >= last_begin;
  const std::int64_t visited =
      std::min(keys, last + shift + right + 1) - std::max<std::int64_t>(0, shift - left);
  counts["long loop"] += narrow && visited > last + 1 + 3 * tile.keys;
}

Counts count_numbers(std::string_view kernel, gpu::Backend backend, int cases) {
  Counts counts;
  for (const Case& c : cases_of(kernel, backend, cases)) {
    if (c.integer("queries") * c.integer("keys") == 0) continue;
    const Mask mask = parse_mask(c.text("mask"));
    const std::int64_t number = mask.arguments[0],
                       rows = std::min(c.integer("queries"), c.integer("keys"));
    if (mask.family == MaskFamily::window) count_window(c, mask, counts);
    const std::int64_t diagonal = c.integer("keys") - c.integer("queries") + 1;
    counts["diagonal before a tile's last key"] += mask.family == MaskFamily::causal_bottom_right &&
                                                   diagonal > 0 && diagonal < c.integer("keys") &&
                                                   (diagonal + 1) % flash_tile(c).keys == 0;
    const bool prefix = mask.family == MaskFamily::prefix_lm;
    counts["largest prefix"] += prefix && number >= kPositionMost - 127;
    const bool documents = mask.family == MaskFamily::documents;
    counts["largest document"] += documents && number >= kPositionMost - 63;
    const bool reciprocal = number == 41 || number == 47 || number == 55 || number == 61;
    counts["document by its reciprocal"] += documents && reciprocal && rows > number;
    const double scale = c.real("scale");
    const std::string_view fill = c.text("fill");
    const bool steps = fill == "rising" || fill == "falling" || fill == "dominating";
    counts["scale above 1"] += scale > 1;
    counts["scale below -1"] += scale < -1;
    counts["large scale and steps"] += std::abs(scale) > 1 && steps;
    const bool tiles = c.integer("keys") > 2 * flash_tile(c).keys;
    counts["large scale and many steps"] += std::abs(scale) > 1 && steps && tiles;
    const Spec layout = split_spec(c.text("mask_layout"));
    const bool apart = layout.family == "apart" && std::stoi(layout.arguments[0]) % 8 != 0;
    counts["rows of masks alone aligned"] +=
        apart && c.integer("keys") % 8 == 0 && c.integer("batches") * c.integer("heads") > 1;
    counts["subnormal_q"] += fill == "subnormal_q";
    const bool f32 = c.text("mask_in") == "f32";
    counts["bias_far in fp32"] += f32 && mask.family == MaskFamily::bias_far;
    counts["alibi in fp32"] += f32 && mask.family == MaskFamily::alibi;
  }
  return counts;
}

// Numbers of masks and scales that no size asks for: each once in 100 cases, where the kernel can
// tell them apart.
TEST(FlashGenerate, NoClassOfNumbersIsStarved) {
  constexpr int kCases = 2000;
  const auto expect = [](std::string_view kernel, const std::vector<std::string>& classes) {
    for (const gpu::Backend backend : {gpu::Backend::host, gpu::Backend::cuda}) {
      const Counts counts = count_numbers(kernel, backend, kCases);
      for (const std::string& what : classes) {
        EXPECT_GE(counts.at(what), kCases / 100)
            << what << " of " << kernel << " on " << gpu::name(backend);
      }
    }
  };
  const std::vector<std::string> scales{"scale above 1", "scale below -1", "large scale and steps",
                                        "large scale and many steps", "subnormal_q"};
  const auto with = [&scales](std::vector<std::string> more) {
    more.insert(more.end(), scales.begin(), scales.end());
    return more;
  };
  expect("mask_mod", with({"left largest", "right largest", "begin below 32 bits",
                           "left about all keys", "full tile", "full tile of all queries",
                           "tile but for its first key", "tile but for its last key",
                           "diagonal before a tile's last key", "long loop", "largest prefix"}));
  expect("mask_documents", with({"largest document", "document by its reciprocal"}));
  expect("mma_f16", with({"bias_far in fp32", "alibi in fp32", "rows of masks alone aligned"}));
  expect("naive", {"bias_far in fp32", "alibi in fp32", "scale above 1", "scale below -1"});
}

TEST(FlashGenerate, MasksAndTheirLayoutsAreReached) {
  std::set<std::string, std::less<>> seen;
  for (const Case& c : cases_of("fake_right", gpu::Backend::host, 6000)) {
    seen.insert(split_spec(c.text("mask")).family);
    seen.insert("as " + split_spec(c.text("mask_layout")).family);
    seen.insert("in " + std::string(c.text("mask_in")));
    seen.insert("layout " + split_spec(c.text("layout")).family);
    seen.insert("law " + std::string(c.text("law")));
    if (c.text("fill") == "A1") seen.insert("A1 " + std::string(c.text("mask")));
    if (c.text("fill") == "A8") seen.insert("A8 " + std::string(c.text("mask")));
    if (c.text("scale") != "0") seen.insert(c.real("scale") < 0 ? "-scale" : "scale");
  }
  for (int i = 0; i < kMaskFamilies; ++i) {
    const std::string_view family = name(static_cast<MaskFamily>(i));
    EXPECT_TRUE(seen.contains(family)) << family;
  }
  for (const char* what : {"as dense", "as transposed", "as pitch", "as apart", "as offset",
                           "as broadcast", "in f32", "in input", "layout every", "layout permuted",
                           "A1 keys:1", "A8 keys:2", "scale", "-scale"}) {
    EXPECT_TRUE(seen.contains(what)) << what;
  }
  for (const Law& law : find_operation("flash_attention")->laws) {
    EXPECT_TRUE(seen.contains("law " + std::string(law.name))) << law.name;
  }
}

// Kernels that are told by settings get what they know, and no mask operand where they take none.
TEST(FlashGenerate, CasesAreLegalForEveryKernel) {
  for (const gpu::Kernel& kernel : gpu::kernels()) {
    if (kernel.operation != "flash_attention") continue;
    for (const gpu::Backend backend :
         {gpu::Backend::host, gpu::Backend::host_checked, gpu::Backend::cuda}) {
      for (const Case& c : cases_of(kernel.name, backend, 100)) {
        ASSERT_EQ(find_operation(c.operation)->validate(c), "") << print(c);
      }
    }
  }
}

}  // namespace
}  // namespace halfulp::properties
