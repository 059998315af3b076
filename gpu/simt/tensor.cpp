// ldmatrix and mma on a warp: gathers the fragments of all lanes by the layouts of the PTX manual,
// section "Warp Level Matrix Instructions", and scatters the results. Both need every lane of a
// full warp.
#include <array>
#include <cstring>

#include "gpu/simt/checker.hpp"
#include "gpu/simt/report.hpp"
#include "gpu/simt/scheduler.hpp"
#include "gpu/simt/tensor_tile.hpp"

namespace halfulp::gpu::simt {
namespace {

constexpr unsigned kRowBytes = 16;  // one row of an 8x8 matrix of 16-bit elements

struct Fragments {
  const unsigned* a;
  const unsigned* b;
  float* d;
  FactorFormat format;
};

void require_full_warp(Launch& launch, Block& block, unsigned w, const Collective& self) {
  if (self.arrived == ~Mask{0}) return;
  fail(launch, FaultKind::divergence, [&] {
    return std::string(self.operation) + " at " + print(self.site) + " in block " +
           print(block.index) + " warp " + std::to_string(w) + ": needs all 32 lanes";
  });
}

// Register m of lane i gets elements (i / 4, i % 4 * 2) and the next one of matrix m; transposed,
// elements (i % 4 * 2, i / 4) and the one below. Row r of matrix m starts at the address of lane 8
// m + r.
void complete_ldmatrix(Launch& launch, Block& block, unsigned w, const Collective& self) {
  require_full_warp(launch, block, w, self);
  Thread* const lanes = &block.threads[w * kWarpLanes];
  const auto count = static_cast<unsigned>(lanes[0].argument);
  const bool transposed = lanes[0].value != 0;
  for (unsigned m = 0; m < count; ++m) {
    for (unsigned i = 0; i < kWarpLanes; ++i) {
      std::array<std::uint16_t, 2> pair{};
      for (unsigned h = 0; h < 2; ++h) {
        const unsigned row = transposed ? i % 4 * 2 + h : i / 4;
        const unsigned column = transposed ? i / 4 : i % 4 * 2 + h;
        const auto* start = static_cast<const char*>(lanes[m * 8 + row].input);
        std::memcpy(&pair[h], start + 2 * column, 2);
      }
      static_cast<unsigned*>(lanes[i].output)[m] = pair[0] | static_cast<unsigned>(pair[1]) << 16;
    }
  }
}

// m16n8k16, 16-bit: with g = lane / 4 and t = lane % 4 * 2, the halves h of each register are
// a0 (g, t+h)  a1 (g+8, t+h)  a2 (g, t+8+h)  a3 (g+8, t+8+h);  b0 (k t+h, n g)  b1 (k t+8+h, n g).
void gather_16_bit(TileFactors& x, unsigned lane, const Fragments& from) {
  const unsigned g = lane / 4;
  const unsigned t = lane % 4 * 2;
  for (unsigned h = 0; h < 2; ++h) {
    const auto half = [h](unsigned bits) { return bits >> 16 * h & 0xffff; };
    x.a[g][t + h] = half(from.a[0]);
    x.a[g + 8][t + h] = half(from.a[1]);
    x.a[g][t + 8 + h] = half(from.a[2]);
    x.a[g + 8][t + 8 + h] = half(from.a[3]);
    x.b[t + h][g] = half(from.b[0]);
    x.b[t + 8 + h][g] = half(from.b[1]);
  }
}

// m16n8k8, tf32: with g = lane / 4 and t = lane % 4,
// a0 (g, t)  a1 (g+8, t)  a2 (g, t+4)  a3 (g+8, t+4);  b0 (k t, n g)  b1 (k t+4, n g).
void gather_tf32(TileFactors& x, unsigned lane, const Fragments& from) {
  const unsigned g = lane / 4;
  const unsigned t = lane % 4;
  x.a[g][t] = from.a[0];
  x.a[g + 8][t] = from.a[1];
  x.a[g][t + 4] = from.a[2];
  x.a[g + 8][t + 4] = from.a[3];
  x.b[t][g] = from.b[0];
  x.b[t + 4][g] = from.b[1];
}

// c and d, all shapes: d0, d1 (g, t) and (g, t+1); d2, d3 (g+8, t) and (g+8, t+1), t = lane % 4 *
// 2.
void complete_mma(Launch& launch, Block& block, unsigned w, const Collective& self) {
  require_full_warp(launch, block, w, self);
  Thread* const lanes = &block.threads[w * kWarpLanes];
  const auto fragments = [lanes](unsigned lane) -> const Fragments& {
    return *static_cast<const Fragments*>(lanes[lane].input);
  };
  const FactorFormat format = fragments(0).format;
  TileFactors factors;
  float d[kTileRows][kTileColumns];
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    const Fragments& from = fragments(lane);
    if (format == FactorFormat::tf32) {
      gather_tf32(factors, lane, from);
    } else {
      gather_16_bit(factors, lane, from);
    }
    std::memcpy(&d[lane / 4][lane % 4 * 2], from.d, 8);
    std::memcpy(&d[lane / 4 + 8][lane % 4 * 2], from.d + 2, 8);
  }
  multiply_add_tile(launch.config.tensor_core, format, factors, d);
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    float* to = fragments(lane).d;
    std::memcpy(to, &d[lane / 4][lane % 4 * 2], 8);
    std::memcpy(to + 2, &d[lane / 4 + 8][lane % 4 * 2], 8);
  }
}

}  // namespace

namespace runtime {

void ldmatrix(unsigned* registers, int count, bool transposed, const void* row, Site site) {
  static constexpr const char* kNames[2][3] = {
      {"ldmatrix.x1", "ldmatrix.x2", "ldmatrix.x4"},
      {"ldmatrix.x1.trans", "ldmatrix.x2.trans", "ldmatrix.x4.trans"}};
  const OutsideKernel outside;
  Launch& launch = *t_launch;
  Thread& thread = *launch.current;
  const char* operation = kNames[transposed ? 1 : 0][count / 2];
  if (thread.lane() <
      8 * static_cast<unsigned>(count)) {  // the other lanes' addresses are not used
    const auto refuse = [&](FaultKind kind, const char* what) {
      fail(launch, kind, [&] {
        return std::string(operation) + " at " + print(site) + " by " + print(thread) + what;
      });
    };
    if (reinterpret_cast<std::uintptr_t>(row) % kRowBytes != 0) {
      refuse(FaultKind::misaligned, ": the row is not 16-byte aligned");
    }
    if (!thread.block->shared.contains(row, kRowBytes)) {
      refuse(FaultKind::out_of_bounds, ": the row is not inside one shared variable");
    }
    if (launch.checker != nullptr) launch.checker->access(row, kRowBytes, false, site);
  }
  thread.input = row;
  thread.output = registers;
  thread.argument = count;
  thread.value = transposed;
  join_collective(launch, ~Mask{0}, operation, complete_ldmatrix, site);
}

void mma(Mma operation, float* d, const unsigned* a, const unsigned* b, Site site) {
  static constexpr const char* kNames[] = {"mma.m16n8k16.f16", "mma.m16n8k16.bf16",
                                           "mma.m16n8k8.tf32"};
  static constexpr FactorFormat kFormats[] = {FactorFormat::f16, FactorFormat::bf16,
                                              FactorFormat::tf32};
  const OutsideKernel outside;
  Launch& launch = *t_launch;
  const auto index = static_cast<std::size_t>(operation);
  const Fragments fragments{a, b, d, kFormats[index]};
  launch.current->input = &fragments;
  join_collective(launch, ~Mask{0}, kNames[index], complete_mma, site);
}

}  // namespace runtime
}  // namespace halfulp::gpu::simt
