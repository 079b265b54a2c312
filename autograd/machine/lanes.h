#pragma once

#include <array>

#include "autograd/array/dual.h"
#include "autograd/array/shape.h"

// Reductions over a row. A sum in the order of its elements is a chain, each addition waiting for
// the one before, and the compiler must not reorder it, as that would change its rounding. So the
// order is chosen here: element j goes to lane j mod 16, which makes lanes independent and a vector
// of them one instruction, and the lanes are added in pairs at the end. The order depends on n
// alone, so the bits are the same on any machine's vectors and any number of threads.

namespace autograd {

/// N sums over j in [0, n) in one pass, in double or, of dual numbers, in those: term(j) is a
/// std::array of N numbers.
template <std::size_t N, class F>
auto sums_of(Index n, F term) {
  using Sum = Wide<typename decltype(term(n))::value_type>;
  constexpr Index kLanes = 16;
  Sum lane[N][kLanes] = {};
  const auto add = [&](Index j, Index i) {
    const auto terms = term(j);
    for (std::size_t k = 0; k < N; ++k) lane[k][i] += static_cast<Sum>(terms[k]);
  };
  Index j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    for (Index i = 0; i < kLanes; ++i) add(j + i, i);
  }
  for (Index i = 0; j < n; ++j, ++i) add(j, i);
  std::array<Sum, N> sums;
  for (std::size_t k = 0; k < N; ++k) {
    for (Index width = kLanes / 2; width > 0; width /= 2) {
      for (Index i = 0; i < width; ++i) lane[k][i] += lane[k][i + width];
    }
    sums[k] = lane[k][0];
  }
  return sums;
}

/// The sum of term(j).
template <class F>
auto sum_of(Index n, F term) {
  return sums_of<1>(n, [&term](Index j) { return std::array{term(j)}; })[0];
}

/// The largest of x[0] to x[n - 1], n at least 1; unspecified where one is NaN.
template <class T>
T max_of(const T* x, Index n) {
  constexpr Index kLanes = 16;
  T top = x[0];
  Index j = 0;
  if (n >= kLanes) {
    T lane[kLanes];
    for (Index i = 0; i < kLanes; ++i) lane[i] = x[i];
    for (j = kLanes; j + kLanes <= n; j += kLanes) {
      for (Index i = 0; i < kLanes; ++i) lane[i] = x[j + i] > lane[i] ? x[j + i] : lane[i];
    }
    for (Index width = kLanes / 2; width > 0; width /= 2) {
      for (Index i = 0; i < width; ++i)
        lane[i] = lane[i + width] > lane[i] ? lane[i + width] : lane[i];
    }
    top = lane[0];
  }
  for (; j < n; ++j) top = x[j] > top ? x[j] : top;
  return top;
}

}  // namespace autograd
