#pragma once

#include "autograd/array/matmul.h"

namespace autograd {

/// A row-major matrix in memory; `stride` elements lie between the starts of two rows. Trans::yes
/// reads it as its transpose.
template <class T>
struct Matrix {
  const T* data;
  Index stride;
  Trans trans = Trans::no;
};

/// c (m, n) = alpha a (m, k) b (k, n) + beta c, on the calling thread, c with `c_stride` elements
/// between rows; beta is 0 (c may hold anything, even NaN) or 1. Needs m, n, k at least 1. Not
/// bit-equal to the same rows of a product of another m: whoever splits products has to split them
/// alike for any number of threads. The library behind it is Eigen or, for f32 where the build
/// found it, oneDNN. T is float, double or Dual, of which it
/// makes three products of double.
template <class T>
void gemm(Index m, Index n, Index k, T alpha, Matrix<T> a, Matrix<T> b, T beta, T* c,
          Index c_stride);

/// "Eigen 3.4.0" or "oneDNN 2.6.3": what gemm<float> calls.
const char* gemm_library();

}  // namespace autograd
