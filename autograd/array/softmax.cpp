#include "autograd/array/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/array/layout.h"
#include "autograd/array/parallel.h"

namespace autograd {
namespace {

// Calls row(offset, length) for every row along the last axis, in parallel.
template <class F>
void for_rows(const Array& a, F row) {
  const Index n = a.shape()[a.rank() - 1];
  if (a.numel() == 0) return;
  parallel_for(a.numel() / n, std::max<Index>(1, kGrain / 4 / n), [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) row(r * n, n);
  });
}

// f on the array with `axis` last; most calls have it there already.
template <class F>
Array along_last(const Array& x, int axis, F f) {
  const int last = x.rank() - 1;
  return axis == last ? f(x) : transpose(f(transpose(x, axis, last)), axis, last);
}

template <class T>
T largest(const T* x, Index n) {
  return *std::max_element(x, x + n);
}

template <class T>
void softmax_row(const T* x, T* y, Index n) {
  const T top = largest(x, n);  // -inf - -inf and inf - inf are NaN, as promised
  double total = 0;
  for (Index i = 0; i < n; ++i) {
    y[i] = std::exp(x[i] - top);
    total += static_cast<double>(y[i]);
  }
  const T sum = static_cast<T>(total);
  for (Index i = 0; i < n; ++i) y[i] /= sum;
}

template <class T>
void log_softmax_row(const T* x, T* y, Index n) {
  const T top = largest(x, n);
  double total = 0;
  for (Index i = 0; i < n; ++i) total += static_cast<double>(std::exp(x[i] - top));
  const T log_sum = static_cast<T>(std::log(total));
  for (Index i = 0; i < n; ++i) y[i] = x[i] - top - log_sum;
}

template <class T>
void masked_softmax_row(const T* x, const bool* mask, T* y, Index n) {
  T top = -std::numeric_limits<T>::infinity();
  for (Index i = 0; i < n; ++i) top = mask[i] ? std::max(top, x[i]) : top;
  double total = 0;
  for (Index i = 0; i < n; ++i) {
    y[i] = mask[i] ? std::exp(x[i] - top) : T(0);
    total += static_cast<double>(y[i]);
  }
  if (total == 0) return;  // nothing was allowed: zeros
  const T sum = static_cast<T>(total);
  for (Index i = 0; i < n; ++i) y[i] /= sum;
}

}  // namespace

Array softmax(const Array& x, int axis) {
  return along_last(x, axis, [](const Array& a) {
    return dispatch_float(a.dtype(), "softmax", [&](auto tag) {
      using T = decltype(tag);
      const T* from = a.read<T>().data();
      return Array::build<T>(a.shape(), [&](std::span<T> to) {
        for_rows(a, [&](Index at, Index n) { softmax_row(from + at, to.data() + at, n); });
      });
    });
  });
}

Array log_softmax(const Array& x, int axis) {
  return along_last(x, axis, [](const Array& a) {
    return dispatch_float(a.dtype(), "log_softmax", [&](auto tag) {
      using T = decltype(tag);
      const T* from = a.read<T>().data();
      return Array::build<T>(a.shape(), [&](std::span<T> to) {
        for_rows(a, [&](Index at, Index n) { log_softmax_row(from + at, to.data() + at, n); });
      });
    });
  });
}

Array masked_softmax(const Array& x, const Array& mask, int axis) {
  if (mask.shape() != x.shape()) {
    fail<ShapeError>("masked_softmax: expected a mask of shape {}, got {}", x.shape().str(),
                     mask.shape().str());
  }
  const int last = x.rank() - 1;
  const Array allowed = axis == last ? mask : transpose(mask, axis, last);
  return along_last(x, axis, [&](const Array& a) {
    return dispatch_float(a.dtype(), "masked_softmax", [&](auto tag) {
      using T = decltype(tag);
      const T* from = a.read<T>().data();
      const bool* keep = allowed.read<bool>().data();
      return Array::build<T>(a.shape(), [&](std::span<T> to) {
        for_rows(a, [&](Index at, Index n) {
          masked_softmax_row(from + at, keep + at, to.data() + at, n);
        });
      });
    });
  });
}

}  // namespace autograd
