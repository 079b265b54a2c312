#pragma once

#include "experiments/attention/draws.h"
#include "experiments/experiment.h"
#include "nn/types.h"

namespace experiments::attention {

/// Streams of random numbers that the layer's own parameters do not use.
enum class Draw : std::uint64_t { input = 1, position, cotangent, probe };
autograd::RandomKey key_of(std::uint64_t seed, Draw draw, std::uint64_t index = 0);

/// N(0, stddev^2).
autograd::Tensor normals(const autograd::Shape& shape, const Run& run, autograd::RandomKey key,
                         double stddev = 1);

}  // namespace experiments::attention
