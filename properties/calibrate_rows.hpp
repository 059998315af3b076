// The tables of `calibrate`: a row names a property, measures it, and compares it with what is
// declared. For calibrate*.cpp alone.
#pragma once
#include <span>
#include <stdexcept>

#include "properties/calibrate.hpp"

namespace halfulp::properties {

// What rows measure, and against what.
struct Subject {
  const CalibrateOptions& options;
  const Declarations& declarations;
};

// A row's answer.
struct Finding {
  std::string measured;
  std::string declared;
  Standing standing = Standing::agrees;
  std::string detail;
};
// A quantity of which more is better, and less than declared optimistic.
Finding at_least(int measured, int declared);
// A word; `better` is one that bounds hold for as well.
Finding word(std::string_view measured, std::string_view declared, std::string_view better = {});

// The device reported an error: ends the row.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
std::vector<std::uint32_t> checked(gpu::Words words);

// Properties of mma, measured for f16, bf16 and tf32.
struct ProductRow {
  std::string_view name;
  Finding (*measure)(const Subject& subject, gpu::Format format);
};
std::span<const ProductRow> product_rows();
// Random products against the model, bit for bit; the last of product_rows().
Finding random_products(const Subject& subject, gpu::Format format);
// The tensor core as measured, for devices whose model is not declared.
gpu::TensorCore measured_tensor_core(const Subject& subject, gpu::Format format);

// Functions of one fp32 argument: largest error, and arguments whose value is exact.
struct FunctionRow {
  gpu::Instruction function;
  Finding (*measure)(const Subject& subject, gpu::Instruction function);
  std::string_view name;
};
std::span<const FunctionRow> function_rows();

// Atomics and conversions.
struct InstructionRow {
  gpu::Instruction instruction;
  Finding (*measure)(const Subject& subject, gpu::Instruction instruction);
  std::string_view name;
};
std::span<const InstructionRow> instruction_rows();

}  // namespace halfulp::properties
