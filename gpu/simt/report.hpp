// Words for faults. Internal to halfulp_simt.
#pragma once
#include <source_location>
#include <string>

#include "gpu/simt/executor.hpp"

namespace halfulp::gpu::simt {

std::string print(uint3 v);                           // "(1,0,0)"
std::string print(const std::source_location& site);  // "fused.cuh:88"
std::string print(const Thread& thread);              // "block (1,0,0) thread (3,0,0)"
// One line per place where threads of resident blocks wait or spin, and the blocks that never
// started.
std::string describe_stuck(const Launch& launch);

}  // namespace halfulp::gpu::simt
