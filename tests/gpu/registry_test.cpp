// The registry's table: complete, ordered, consistent with what kernels are.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "gpu/kernel.hpp"

namespace halfulp::gpu {
namespace {

TEST(RegistryTest, HoldsEveryVariantInOrder) {
  const std::vector<std::string> expected{"vector_add scalar",
                                          "vector_add grid_stride",
                                          "vector_add vec4",
                                          "scatter_normalize atomic_coo",
                                          "scatter_normalize gather_coo",
                                          "scatter_normalize gather_coo_skip",
                                          "scatter_normalize gather_csc",
                                          "graph_attention edge_parallel",
                                          "graph_attention fused_csc",
                                          "graph_attention fused_csc_warp",
                                          "graph_attention fused_csc_split",
                                          "matmul tile",
                                          "matmul split_k",
                                          "matmul streamk_atomic",
                                          "matmul streamk_atomic_half",
                                          "matmul streamk_lock3",
                                          "matmul streamk_lock",
                                          "matmul streamk_workspace",
                                          "matmul cublas"};
  std::vector<std::string> found;
  for (const Kernel& kernel : kernels()) {
    found.push_back(std::string(kernel.operation) + " " + std::string(kernel.name));
  }
  EXPECT_EQ(found, expected);
}

TEST(RegistryTest, EveryRowRunsOnTheHostButOfLibrariesAndSaysWhatItIs) {
  for (const Kernel& kernel : kernels()) {
    SCOPED_TRACE(std::string(kernel.operation) + " " + std::string(kernel.name));
    if (kernel.name == "cublas") {
      EXPECT_EQ(kernel.entry[0], nullptr);
      EXPECT_EQ(kernel.entry[1], nullptr);
    } else {
      EXPECT_NE(kernel.entry[0], nullptr);
      EXPECT_NE(kernel.entry[1], nullptr);
      EXPECT_NE(kernel.entry[0], kernel.entry[1]);
    }
    EXPECT_FALSE(kernel.summary.empty());
    EXPECT_FALSE(kernel.storage.empty());
    if (kernel.operation != "matmul") {
      EXPECT_EQ(kernel.storage, (std::vector<Format>{Format::f32, Format::f16, Format::bf16}));
    }
    EXPECT_FALSE(kernel.edges.empty());
    // Atomic additions come in any order, so their sums cannot be repeatable.
    EXPECT_FALSE(kernel.numerics.atomics && kernel.numerics.repeatable);
  }
}

TEST(RegistryTest, FindsByOperationAndName) {
  const Kernel* kernel = find_kernel("graph_attention", "fused_csc");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->name, "fused_csc");
  EXPECT_EQ(find_kernel("vector_add", "fused_csc"), nullptr);
  EXPECT_EQ(find_kernel("graph_attention", ""), nullptr);
}

TEST(RegistryTest, DescribesNumericsInOneLine) {
  EXPECT_EQ(describe(find_kernel("vector_add", "scalar")->numerics),
            "acc=f32 product=fused repeatable");
  EXPECT_EQ(describe(find_kernel("scatter_normalize", "atomic_coo")->numerics),
            "acc=f32 product=fused div=ieee atomics");
  EXPECT_EQ(describe(find_kernel("graph_attention", "fused_csc")->numerics),
            "acc=f32 product=rounded scale=reciprocal exp=expf_fast clamp_nan=propagate div=ieee "
            "repeatable");
}

TEST(RegistryTest, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (const Format format :
       {Format::f64, Format::f32, Format::tf32, Format::f16, Format::bf16, Format::i32}) {
    names.insert(name(format));
  }
  EXPECT_EQ(names.size(), 6u);
  EXPECT_EQ(name(Backend::host_checked), "host-checked");
}

}  // namespace
}  // namespace halfulp::gpu
