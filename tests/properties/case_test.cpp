// Case lines: parse(print(c)) == c, and errors that name the field, the value and what is accepted.
#include "properties/case.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <chrono>

#include "gpu/kernel.hpp"
#include "properties/operation.hpp"

namespace halfulp::properties {
namespace {

std::string error_of(std::string_view line) { return parse(line).error.what; }

#define EXPECT_SAYS(line, part) \
  EXPECT_NE(error_of(line).find(part), std::string::npos) << "said: " << error_of(line)

const gpu::Kernel& kernel_of(std::string_view operation) {
  for (const gpu::Kernel& kernel : gpu::kernels()) {
    if (kernel.operation == operation) return kernel;
  }
  throw std::runtime_error("no kernel");
}

TEST(Case, DefaultsPrintAndParse) {
  for (const Operation& operation : operations()) {
    for (const gpu::Kernel& kernel : gpu::kernels()) {
      if (kernel.operation != operation.name) continue;
      Case c = make_case(operation.name, kernel.name);
      c.set("in", std::string(gpu::name(kernel.storage.front())));
      if (kernel.name == "mask_documents") c.set("mask", "documents:1");  // it takes no other
      const Parsed parsed = parse(print(c));
      EXPECT_EQ(parsed.error.what, "");
      EXPECT_EQ(parsed.value, c);
    }
  }
}

TEST(Case, GeneratedCasesReadBack) {
  for (const Operation& operation : operations()) {
    const gpu::Kernel& kernel = kernel_of(operation.name);
    for (int i = 0; i < 2000; ++i) {
      const Case c = operation.generate(kernel, gpu::Backend::host,
                                        rc::Random(static_cast<std::uint64_t>(i)), i % 101);
      ASSERT_EQ(operation.validate(c), "") << print(c);
      const Parsed parsed = parse(print(c));
      ASSERT_EQ(parsed.error.what, "") << print(c);
      ASSERT_EQ(parsed.value, c) << print(c);
    }
  }
}

TEST(Case, FieldsAreTyped) {
  const Parsed parsed = parse("vector_add scalar in=f16 n=007 fill=ties layout=gap:03 seed=0x51F2");
  ASSERT_EQ(parsed.error.what, "");
  EXPECT_EQ(parsed.value.integer("n"), 7);
  EXPECT_EQ(parsed.value.text("layout"), "gap:3");
  EXPECT_EQ(parsed.value.seed(), 0x51f2u);
  EXPECT_EQ(print(parsed.value),
            "vector_add scalar backend=host in=f16 n=7 fill=ties layout=gap:3 seed=0x51f2");
}

TEST(Case, ErrorsNameWhatIsWrong) {
  EXPECT_SAYS("", "starts with an operation");
  EXPECT_SAYS("vector_add", "starts with an operation");
  EXPECT_SAYS("vectoradd scalar", "did you mean vector_add?");
  EXPECT_SAYS("vector_add skalar n=3", "did you mean scalar?");
  EXPECT_SAYS("vector_add scalar nn=3", "no field 'nn'; accepted: backend, in, n,");
  EXPECT_SAYS("vector_add scalar n=3 n=4", "n is given twice");
  EXPECT_SAYS("vector_add scalar n=3 garbage", "unexpected 'garbage'");
  EXPECT_SAYS("vector_add scalar n=3 =4", "has no field ''");
  EXPECT_SAYS("vector_add scalar n=", "n=: expected an integer");
  EXPECT_SAYS("vector_add scalar n=3x", "n=3x: expected an integer from 0");
  EXPECT_SAYS("vector_add scalar n=-1", "n=-1: expected");
  EXPECT_SAYS("vector_add scalar in=f99", "in=f99: expected one of f32, f16, bf16");
  EXPECT_SAYS("vector_add scalar fill=nothing", "fill=nothing: expected one of ones");
  EXPECT_SAYS("vector_add scalar seed=0xg", "seed=0xg: expected 0x");
  EXPECT_SAYS("vector_add scalar seed=0x11112222333344445", "seed=");
  EXPECT_SAYS("vector_add scalar layout=gap", "layout=gap: gap takes one number from 1 to");
  EXPECT_SAYS("vector_add scalar layout=gap:0", "layout=gap:0");
  EXPECT_SAYS("vector_add scalar layout=wavy", "layout=wavy: expected packed");
  EXPECT_SAYS("vector_add scalar resident=0", "resident=0: expected an integer from 1");
}

TEST(Case, AbsurdSizesAreRefusedAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_SAYS("vector_add scalar n=1000000000000",
              "n=1000000000000: expected an integer from 0 to");
  EXPECT_SAYS("vector_add scalar n=99999999999999999999999", "n=9999");
  EXPECT_SAYS("vector_add scalar n=1000000000", "n=1000000000: the operands would take");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(50));
}

TEST(Case, FallbacksAreCanonical) {
  for (const Operation& operation : operations()) {
    const Case c = make_case(operation.name, kernel_of(operation.name).name);
    for (const Field& field : operation.fields) EXPECT_EQ(c.text(field.name), field.fallback);
  }
}

}  // namespace
}  // namespace halfulp::properties
