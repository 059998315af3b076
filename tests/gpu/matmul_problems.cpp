#include "tests/gpu/matmul_problems.hpp"

#include <cstring>

namespace halfulp::gpu::test {
namespace {

std::int64_t aligned8(std::int64_t count) { return (count + 7) / 8 * 8; }

std::vector<std::int64_t> strides(MatmulLayout layout, std::int64_t rows, std::int64_t columns) {
  switch (layout) {
    case MatmulLayout::rows:
    case MatmulLayout::offset:
      return {columns, 1};
    case MatmulLayout::columns:
      return {1, rows};
    case MatmulLayout::rows_padded:
      return {aligned8(columns) + 8, 1};
    case MatmulLayout::columns_padded:
      return {1, aligned8(rows) + 8};
    case MatmulLayout::rows_odd:
      return {columns + 3 - columns % 2, 1};
    case MatmulLayout::columns_odd:
      return {1, rows + 3 - rows % 2};
    case MatmulLayout::spread:
      return {3 * columns + 1, 3};
    case MatmulLayout::row_repeated:
      return {0, 1};
  }
  return {};
}

// The layout that c has where an operand could lie in a way that an output cannot.
MatmulLayout for_output(MatmulLayout layout) {
  if (layout == MatmulLayout::columns_padded) return MatmulLayout::rows_padded;
  if (layout == MatmulLayout::columns_odd || layout == MatmulLayout::spread) {
    return MatmulLayout::rows_odd;
  }
  const bool legal = layout != MatmulLayout::columns && layout != MatmulLayout::row_repeated;
  return legal ? layout : MatmulLayout::rows;
}

std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// An integer below 2^24 in magnitude, rounded to nearest even.
std::uint32_t encode(Format format, std::int64_t value) {
  const auto single = static_cast<float>(value);
  if (format == Format::f16) {
    const auto half = static_cast<_Float16>(single);
    std::uint16_t bits = 0;
    std::memcpy(&bits, &half, sizeof bits);
    return bits;
  }
  if (format != Format::bf16) return bits_of(single);
  const std::uint32_t bits = bits_of(single);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

std::uint32_t read(const Operand& operand, const std::vector<std::byte>& storage,
                   std::int64_t index) {
  const auto bytes = static_cast<std::size_t>(size_bytes(operand.format));
  std::uint32_t bits = 0;
  std::memcpy(&bits, storage.data() + static_cast<std::size_t>(index) * bytes, bytes);
  return bits;
}

std::int64_t value_of(const Operand& operand, std::int64_t row, std::int64_t column) {
  const std::int64_t index = row * operand.stride[0] + column * operand.stride[1];
  const std::uint32_t bits = read(operand, operand.storage, index);
  for (std::int64_t value = -2; value <= 2; ++value) {
    if (encode(operand.format, value) == bits) return value;
  }
  return INT32_MIN;  // a gap: no sum that has it is right
}

Operand make(const char* operand_name, Role role, Format format, MatmulLayout layout,
             std::int64_t rows, std::int64_t columns) {
  Operand operand;
  operand.name = operand_name;
  operand.format = format;
  operand.role = role;
  operand.extent = {rows, columns};
  operand.stride = strides(layout, rows, columns);
  operand.base_offset = layout == MatmulLayout::offset ? 1 : 0;
  if (role == Role::output) return operand;
  const auto bytes = static_cast<std::size_t>(size_bytes(format));
  operand.storage.assign(static_cast<std::size_t>(operand.span_elements()) * bytes,
                         std::byte{0xff});
  std::uint32_t state = 12345u + static_cast<std::uint32_t>(operand_name[0]);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      state = state * 1664525u + 1013904223u;
      const std::uint32_t bits = encode(format, static_cast<std::int64_t>(state >> 16) % 5 - 2);
      const std::int64_t index = row * operand.stride[0] + column * operand.stride[1];
      std::memcpy(operand.storage.data() + static_cast<std::size_t>(index) * bytes, &bits, bytes);
    }
  }
  return operand;
}

}  // namespace

const char* name(MatmulLayout layout) {
  constexpr const char* kNames[kMatmulLayouts] = {"rows",           "columns",  "rows_padded",
                                                  "columns_padded", "rows_odd", "columns_odd",
                                                  "spread",         "offset",   "row_repeated"};
  return kNames[static_cast<int>(layout)];
}

Problem matmul(const MatmulSize& size, Format storage, MatmulLayout a, MatmulLayout b,
               MatmulLayout c, std::vector<Setting> settings) {
  const Format output = storage == Format::tf32 ? Format::f32 : storage;
  Problem problem;
  problem.operation = "matmul";
  problem.operands = {make("a", Role::input, storage, a, size.m, size.k),
                      make("b", Role::input, storage, b, size.k, size.n),
                      make("c", Role::output, output, for_output(c), size.m, size.n)};
  problem.settings = std::move(settings);
  return problem;
}

std::string first_wrong_product(const Problem& problem, const Outputs& outputs) {
  const Operand& a = problem.operand("a");
  const Operand& b = problem.operand("b");
  const Operand& c = problem.operand("c");
  std::vector<std::int64_t> right(static_cast<std::size_t>(b.extent[0] * b.extent[1]));
  for (std::int64_t k = 0; k < b.extent[0]; ++k) {
    for (std::int64_t j = 0; j < b.extent[1]; ++j) {
      right[static_cast<std::size_t>(k * b.extent[1] + j)] = value_of(b, k, j);
    }
  }
  for (std::int64_t i = 0; i < c.extent[0]; ++i) {
    std::vector<std::int64_t> sums(static_cast<std::size_t>(c.extent[1]));
    for (std::int64_t k = 0; k < b.extent[0]; ++k) {
      const std::int64_t factor = value_of(a, i, k);
      for (std::size_t j = 0; j < sums.size(); ++j) {
        sums[j] += factor * right[static_cast<std::size_t>(k) * sums.size() + j];
      }
    }
    for (std::int64_t j = 0; j < c.extent[1]; ++j) {
      const std::uint32_t got = read(c, outputs.at(0), i * c.stride[0] + j);
      const std::uint32_t wanted = encode(c.format, sums[static_cast<std::size_t>(j)]);
      if (got == wanted) continue;
      return "c[" + std::to_string(i) + "," + std::to_string(j) + "] has the bits " +
             std::to_string(got) + ", needs " + std::to_string(wanted) + ", which is " +
             std::to_string(sums[static_cast<std::size_t>(j)]);
    }
  }
  return {};
}

}  // namespace halfulp::gpu::test
