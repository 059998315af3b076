// Reading stored numbers: one element, or a row of them on the hot path of every reference.
#include <bit>
#include <cstring>

#include "reference/answer.hpp"
#include "reference/require.hpp"

namespace halfulp::reference {
namespace {

// memcpy, since test layouts place data at addresses that are no multiple of the element size.
template <typename Stored>
Stored load(const void* data, std::int64_t index) {
  Stored stored;
  std::memcpy(&stored,
              static_cast<const char*>(data) + index * static_cast<std::int64_t>(sizeof(Stored)),
              sizeof(Stored));
  return stored;
}

double load_decoded(Format format, const void* data, std::int64_t index) {
  switch (traits(format).storage_bits) {
    case 64:
      return decode(format, load<std::uint64_t>(data, index));
    case 32:
      return decode(format, load<std::uint32_t>(data, index));
    default:
      return decode(format, load<std::uint16_t>(data, index));
  }
}

double from_fp64(std::uint64_t bits) { return std::bit_cast<double>(bits); }
float from_fp32(std::uint32_t bits) { return std::bit_cast<float>(bits); }
float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

// The exponent field lands 112 below where fp32 has it, which one exact multiplication makes good,
// for subnormal numbers too; infinity and NaN end at 2^16 or above and get fp32's largest field.
float from_fp16(std::uint16_t bits) {
  const std::uint32_t magnitude = (std::uint32_t{bits} & 0x7fff) << 13;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  const std::uint32_t special = scaled >= 65536.0f ? 0x7f800000 : 0;
  const std::uint32_t sign = (std::uint32_t{bits} & 0x8000) << 16;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special | sign);
}

template <typename Stored, typename Convert>
void convert_row(const void* data, std::int64_t count, double* out, Convert convert) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = convert(load<Stored>(data, i));
}

}  // namespace

double View::at(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) const {
  return load_decoded(format, data, i * stride[0] + j * stride[1] + k * stride[2] + l * stride[3]);
}

void View::row(std::int64_t i, std::int64_t j, std::int64_t k, int axis, std::int64_t count,
               double* out) const {
  HALFULP_REQUIRE(axis >= 0 && axis < 4, "an axis is one of a view's four dimensions");
  const std::int64_t start = i * stride[0] + j * stride[1] + k * stride[2];
  const std::int64_t step = stride[axis];
  if (step != 1) {
    for (std::int64_t n = 0; n < count; ++n) out[n] = load_decoded(format, data, start + n * step);
    return;
  }
  const char* first = static_cast<const char*>(data) + start * (traits(format).storage_bits / 8);
  switch (format) {
    case Format::fp64:
      convert_row<std::uint64_t>(first, count, out, from_fp64);
      break;
    case Format::fp32:
    case Format::tf32:
      convert_row<std::uint32_t>(first, count, out, from_fp32);
      break;
    case Format::fp16:
      convert_row<std::uint16_t>(first, count, out, from_fp16);
      break;
    case Format::bf16:
      convert_row<std::uint16_t>(first, count, out, from_bf16);
      break;
  }
}

}  // namespace halfulp::reference
