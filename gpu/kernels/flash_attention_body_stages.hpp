// Which tiles of keys a block visits, and the ring of shared memory that their k and v pass
// through.
//
// Part of a kernel's translation unit, like access.hpp.
#pragma once
#include "gpu/kernels/flash_attention_body_loads.hpp"
#include "gpu/kernels/flash_attention_mask.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

// The tiles of keys that some of a block's rows see. In 32 bits, which positions fit.
template <int kKeys, class Mask>
class FlashTiles {
 public:
  __device__ FlashTiles(const Mask& mask, std::int64_t row0, int rows, std::int64_t keys)
      : row0_(static_cast<int>(row0)), rows_(rows), keys_(static_cast<int>(keys)) {
    const KeyRange seen = key_tiles<kKeys>(mask, row0, rows, keys);
    key0_ = static_cast<int>(min(seen.begin, keys));
    end_ = static_cast<int>(seen.end);
    settle(mask);
  }
  __device__ bool done() const { return key0_ >= end_; }
  __device__ void advance(const Mask& mask) {
    key0_ += kKeys;
    settle(mask);
  }
  // Of the tile: the first key, how many there are, whether elements have to be masked.
  __device__ int key0() const { return key0_; }
  __device__ int keys() const { return min(keys_ - key0_, kKeys); }
  __device__ bool partial() const { return kind_ == TileClass::partial || keys() < kKeys; }

 private:
  // Moves on to a tile that is not skipped.
  __device__ void settle(const Mask& mask) {
    for (; !done(); key0_ += kKeys) {
      kind_ = mask.classify(FlashTile{row0_, rows_, key0_, keys()});
      if (kind_ != TileClass::skipped) return;
    }
  }

  int row0_, rows_, keys_;
  int key0_ = 0, end_ = 0;
  TileClass kind_ = TileClass::full;
};

// The ring of stages. While one is used, the copies of the kStages - 1 after it are under way.
template <class Shape, class Mask>
class FlashStages {
 public:
  using Tiles = FlashTiles<Shape::kKeys, Mask>;

  __device__ FlashStages(const FlashAttention& g, const FlashHead& head, const Mask& mask,
                         const Tiles& tiles, unsigned char* stages)
      : k_(g.k, head, g.dim), v_(g.v, head, g.dim), mask_(mask), tiles_(tiles), stages_(stages) {}

  // Begins the first copies; copies that are already under way land with them.
  __device__ void start() {
#pragma unroll 1
    for (int i = 0; i + 1 < Shape::kStages; ++i) fill();
  }
  // The next part, once all of it is there.
  __device__ const unsigned char* next() {
    simt::cp_async_wait<Shape::kStages - 2>();
    __syncthreads();
    fill();
    const unsigned char* stage = stages_ + used_ * Shape::kStageBytes;
    used_ = used_ + 1 == Shape::kStages ? 0 : used_ + 1;
    return stage;
  }

 private:
  __device__ void fill() {
    if (!tiles_.done()) {
      unsigned char* stage = stages_ + filled_ * Shape::kStageBytes;
      const bool keys = part_ < Shape::kParts;
      const Copier from = keys ? k_ : v_;
      const int part = keys ? part_ : part_ - Shape::kParts;
      from.copy(stage, tiles_.key0(), Shape::kKeys, tiles_.keys(), part * Shape::kPartWidth);
      if (++part_ == 2 * Shape::kParts) {
        part_ = 0;
        tiles_.advance(mask_);
      }
    }
    simt::cp_async_commit();
    filled_ = filled_ + 1 == Shape::kStages ? 0 : filled_ + 1;
  }

  using Copier = FlashCopier<typename Shape::Element, Shape::kPartWidth, Shape::kBatch>;
  Copier k_, v_;
  const Mask& mask_;
  Tiles tiles_;  // of the next copy
  unsigned char* stages_;
  int part_ = 0;
  int filled_ = 0, used_ = 0;
};

}  // namespace halfulp::gpu::HALFULP_BUILD
