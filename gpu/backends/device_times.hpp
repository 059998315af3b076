// How long work takes on a device, by events on its stream.
#pragma once
#include <functional>
#include <vector>

#include "gpu/backends/device_block.hpp"

struct CUstream_st;

namespace halfulp::gpu {

// Microseconds of `repeats` launches of `work`, which puts everything on `stream`: warm code and
// clocks, and an L2 cache without what the launch before left there. `scratch` is overwritten.
std::vector<double> device_times_us(CUstream_st* stream, DeviceBlock& scratch, int repeats,
                                    const std::function<void()>& work);

}  // namespace halfulp::gpu
