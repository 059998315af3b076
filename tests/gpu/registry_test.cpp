// The registry's table: complete, ordered, consistent with the sources and with what kernels are.
#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "gpu/kernel.hpp"

namespace halfulp::gpu {
namespace {

// The entry points that the sources of gpu/kernels define: "matmul_tile vector_add_scalar ...".
std::set<std::string> words(const char* text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}
std::set<std::string> entry_points() { return words(HALFULP_ENTRY_POINTS); }
// Of those, the ones that only nvcc compiles.
std::set<std::string> cuda_only_entry_points() { return words(HALFULP_CUDA_ONLY_ENTRY_POINTS); }

std::string entry_point(const Kernel& kernel) {
  return std::string(kernel.operation) + "_" + std::string(kernel.name);
}

TEST(RegistryTest, HasOneRowForEachEntryPointOfTheSources) {
  std::set<std::string> found;
  for (const Kernel& kernel : kernels()) {
    EXPECT_TRUE(found.insert(entry_point(kernel)).second) << entry_point(kernel) << " twice";
  }
  EXPECT_EQ(found, entry_points());
}

TEST(RegistryTest, KeepsTheRowsOfAnOperationTogether) {
  std::set<std::string_view> seen;
  std::string_view last;
  for (const Kernel& kernel : kernels()) {
    if (kernel.operation == last) continue;
    EXPECT_TRUE(seen.insert(kernel.operation).second) << kernel.operation << " comes twice";
    last = kernel.operation;
  }
}

TEST(RegistryTest, EveryRowRunsOnTheHostButOfLibrariesAndSaysWhatItIs) {
  std::set<EntryPoint> entries;
  const std::set<std::string> cuda_only = cuda_only_entry_points();
  for (const Kernel& kernel : kernels()) {
    SCOPED_TRACE(entry_point(kernel));
    for (const Backend backend : {Backend::host, Backend::host_checked, Backend::cuda}) {
      const EntryPoint entry = kernel.entry[static_cast<std::size_t>(backend)];
      if (backend != Backend::cuda) {
        EXPECT_EQ(entry == nullptr, cuda_only.contains(entry_point(kernel)));
      }
      if (entry != nullptr) {
        EXPECT_TRUE(entries.insert(entry).second) << "shares an entry point";
      }
    }
    EXPECT_FALSE(kernel.summary.empty());
    EXPECT_FALSE(kernel.storage.empty());
    EXPECT_EQ(std::set(kernel.storage.begin(), kernel.storage.end()).size(), kernel.storage.size());
    EXPECT_FALSE(kernel.edges.empty());
    for (const int edge : kernel.edges) EXPECT_GT(edge, 1);
    // Atomic additions come in any order, so their sums cannot be repeatable.
    EXPECT_FALSE(kernel.numerics.atomics && kernel.numerics.repeatable);
  }
}

TEST(RegistryTest, ParametersHaveDistinctNamesAndAtLeastOneValue) {
  for (const Kernel& kernel : kernels()) {
    SCOPED_TRACE(entry_point(kernel));
    std::set<std::string_view> names;
    for (const Parameter& parameter : kernel.parameters) {
      EXPECT_TRUE(names.insert(parameter.name).second) << parameter.name;
      EXPECT_LE(parameter.low, parameter.high) << parameter.name;
      if (parameter.words.empty()) continue;
      EXPECT_EQ(parameter.high + 1, std::ssize(parameter.words)) << parameter.name;
    }
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
