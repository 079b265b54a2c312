#pragma once

#include "autograd/array/array.h"

namespace autograd {

enum class Trans : bool { no, yes };

/// Matrix product over the last two axes, (..., M, K) x (..., K, N) -> (..., M, N); the leading
/// axes broadcast. Trans::yes reads that operand's last two axes swapped, without a copy. Both are
/// at least of rank 2. Rows are cut into tiles that depend on the sizes alone and each tile is one
/// product on one thread (gemm.h), so the bits are the same for any thread count.
Array matmul(const Array& a, const Array& b, Trans ta = Trans::no, Trans tb = Trans::no);

}  // namespace autograd
