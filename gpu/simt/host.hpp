// The g++ side of simt.cuh: CUDA's names, backed by the executor. Include simt.cuh, not this.
#pragma once
#include "gpu/simt/host/async.hpp"
#include "gpu/simt/host/atomics.hpp"
#include "gpu/simt/host/builtins.hpp"
#include "gpu/simt/host/collectives.hpp"
#include "gpu/simt/host/launch.hpp"
#include "gpu/simt/host/math.hpp"
#include "gpu/simt/host/memory.hpp"
#include "gpu/simt/host/numbers.hpp"
#include "gpu/simt/host/tensor.hpp"
#include "gpu/simt/host/vectors.hpp"
