#pragma once

#include "autograd/array/shape.h"

// Reductions over a row in several lanes, which the compiler runs side by side; in one fixed order.

namespace autograd {

/// The sum over j in [0, n) of term(j), in double.
template <class F>
double sum_of(Index n, F term) {
  constexpr Index kLanes = 16;
  double lane[kLanes] = {};
  Index j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    for (Index i = 0; i < kLanes; ++i) lane[i] += static_cast<double>(term(j + i));
  }
  for (Index i = 0; j < n; ++j, ++i) lane[i] += static_cast<double>(term(j));
  for (Index width = kLanes / 2; width > 0; width /= 2) {
    for (Index i = 0; i < width; ++i) lane[i] += lane[i + width];
  }
  return lane[0];
}

struct Sums {
  double first, second;
};

/// Two sums in one pass: term(j) is a Sums.
template <class F>
Sums sums_of(Index n, F term) {
  constexpr Index kLanes = 16;
  double first[kLanes] = {}, second[kLanes] = {};
  Index j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    for (Index i = 0; i < kLanes; ++i) {
      const Sums s = term(j + i);
      first[i] += s.first;
      second[i] += s.second;
    }
  }
  for (Index i = 0; j < n; ++j, ++i) {
    const Sums s = term(j);
    first[i] += s.first;
    second[i] += s.second;
  }
  for (Index width = kLanes / 2; width > 0; width /= 2) {
    for (Index i = 0; i < width; ++i) first[i] += first[i + width], second[i] += second[i + width];
  }
  return {first[0], second[0]};
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
