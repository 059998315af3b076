// Who computes what of a matmul: the order of the output's tiles, and Stream-K's split of their
// iterations (blocks of k) over programs. Sizes are in tiles and iterations; nothing here knows
// formats, memory or threads.
//
//   const MatmulPartition work(tiles.count(), iterations, programs, two_tile);   // on the host
//   for (std::int64_t i = 0; i < work.segments(program); ++i) {                  // in a kernel
//     const MatmulSegment segment = work.segment(program, i);
//     const MatmulTile tile = tiles.at(segment.tile);
//
// Programs share the iterations of the first streamk_tiles() tiles evenly, each a contiguous range
// of them in ascending order: the end of a tile, whole tiles, the beginning of another. The
// remaining tiles are whole and go round: one to each program, as often as it takes.
#pragma once
#include <cstdint>

#include "gpu/simt/simt.cuh"

namespace halfulp::gpu::HALFULP_BUILD {

struct MatmulTile {
  std::int64_t row = 0, column = 0;
};

// rows x columns tiles, numbered group by group: `group` rows of tiles, the last group fewer, down
// its columns one after the other. A group of 1 is the linear order, row by row.
struct MatmulTiles {
  std::int64_t rows = 0, columns = 0;
  std::int64_t group = 1;  // 1 or more

  __host__ __device__ std::int64_t count() const { return rows * columns; }
  __host__ __device__ MatmulTile at(std::int64_t index) const {
    const std::int64_t row0 = index / (group * columns) * group;
    const std::int64_t within = index - row0 * columns;
    const std::int64_t height = rows - row0 < group ? rows - row0 : group;
    return {row0 + within % height, within / height};
  }
};

// What a program computes of one tile, and who else does.
struct MatmulSegment {
  std::int64_t tile = 0;
  std::int64_t begin = 0, end = 0;  // iterations of the tile
  std::int64_t program_first = 0;   // programs program_first ... + contributors - 1 share the
  std::int64_t contributors = 1;    //   tile, in order of k
  std::int64_t order = 0;           // this program among them

  __host__ __device__ bool shared() const { return contributors > 1; }
  __host__ __device__ bool owns_first() const { return order == 0; }
  __host__ __device__ bool owns_last() const { return order == contributors - 1; }
};

class MatmulPartition {
 public:
  // Of `tiles` tiles of `iterations` each; iterations and programs 1 or more. two_tile: programs
  // share a whole round of tiles more, where there is one, so that none ends much before another.
  __host__ __device__ MatmulPartition(std::int64_t tiles, std::int64_t iterations,
                                      std::int64_t programs, bool two_tile)
      : tiles_(tiles), iterations_(iterations), programs_(programs) {
    streamk_tiles_ = tiles % programs;
    if (two_tile && tiles - streamk_tiles_ >= programs) streamk_tiles_ += programs;
    full_ = streamk_tiles_ * iterations / programs;
    remainder_ = streamk_tiles_ * iterations % programs;
  }

  __host__ __device__ std::int64_t streamk_tiles() const { return streamk_tiles_; }
  // Programs from this one on have nothing to do.
  __host__ __device__ std::int64_t programs_used() const {
    if (tiles_ > streamk_tiles_ || full_ > 0) return programs_;
    return remainder_;
  }

  __host__ __device__ std::int64_t segments(std::int64_t program) const {
    const std::int64_t rest = tiles_ - streamk_tiles_ - program;
    return streamk_segments(program) + (rest > 0 ? (rest - 1) / programs_ + 1 : 0);
  }

  // Segment `index` of segments(program), in the order in which the program computes them.
  __host__ __device__ MatmulSegment segment(std::int64_t program, std::int64_t index) const {
    const std::int64_t streamk = streamk_segments(program);
    if (index >= streamk) {
      const std::int64_t tile = streamk_tiles_ + program + (index - streamk) * programs_;
      return {tile, 0, iterations_, program, 1, 0};
    }
    const std::int64_t tile = first(program) / iterations_ + index;
    const std::int64_t base = tile * iterations_;
    const std::int64_t begin = first(program) > base ? first(program) - base : 0;
    const std::int64_t last = first(program + 1) - base;
    MatmulSegment segment{tile, begin, last < iterations_ ? last : iterations_, program, 1, 0};
    if (segment.begin > 0) segment.program_first = program_of(base);
    std::int64_t program_last = program;
    if (segment.end < iterations_) program_last = program_of(base + iterations_ - 1);
    segment.contributors = program_last - segment.program_first + 1;
    segment.order = program - segment.program_first;
    return segment;
  }

  // How many programs share a tile.
  __host__ __device__ std::int64_t contributors(std::int64_t tile) const {
    if (tile >= streamk_tiles_) return 1;
    const std::int64_t base = tile * iterations_;
    return program_of(base + iterations_ - 1) - program_of(base) + 1;
  }

 private:
  // The program's first iteration, counted over all shared tiles.
  __host__ __device__ std::int64_t first(std::int64_t program) const {
    return program * full_ + (program < remainder_ ? program : remainder_);
  }
  __host__ __device__ std::int64_t program_of(std::int64_t iteration) const {
    const std::int64_t longer = remainder_ * (full_ + 1);  // iterations of the longer ranges
    if (iteration < longer) return iteration / (full_ + 1);
    return remainder_ + (iteration - longer) / full_;
  }
  __host__ __device__ std::int64_t streamk_segments(std::int64_t program) const {
    const std::int64_t begin = first(program);
    const std::int64_t end = first(program + 1);
    return begin < end ? (end - 1) / iterations_ - begin / iterations_ + 1 : 0;
  }

  std::int64_t tiles_, iterations_, programs_;
  std::int64_t streamk_tiles_;
  std::int64_t full_, remainder_;  // iterations a program, and how many programs do one more
};

}  // namespace halfulp::gpu::HALFULP_BUILD
