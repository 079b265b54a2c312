#pragma once

#include "autograd/array/dtype.h"

namespace experiments::tools {

/// Floating-point operations that fma_burst(dtype, rounds) does on one thread.
double fma_flops(autograd::DType dtype, std::ptrdiff_t rounds);

/// Multiplies and adds in registers, in the widest vectors this processor has, whatever the program
/// was compiled for: no matrix product can be faster. Runs side by side on `threads` of the threads
/// that the engine is set to. The result means nothing.
double fma_burst(autograd::DType dtype, std::ptrdiff_t rounds, int threads);

/// Bits of a vector of fma_burst: 512, 256 or 128.
int fma_bits();

}  // namespace experiments::tools
