#include "autograd/array/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/array/elementwise.h"
#include "autograd/array/layout.h"
#include "autograd/machine/lanes.h"
#include "autograd/machine/parallel.h"
#include "autograd/machine/vector_math.h"

namespace autograd {
namespace {

// Calls row(offset, length) for every row along the last axis, in parallel.
template <class F>
void for_rows(const Array& a, F row) {
  const Index n = a.shape()[a.rank() - 1];
  if (a.numel() == 0) return;
  parallel_for(a.numel() / n, std::max<Index>(1, elements_a_piece() / n),
               [&](Index begin, Index end) {
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
void divide_by_sum(T* y, Index n) {
  const T sum = static_cast<T>(sum_of(n, [y](Index i) { return y[i]; }));
  for (Index i = 0; i < n; ++i) y[i] /= sum;
}

template <class T>
void exp_row(const T* x, T top, T* y, Index n) {
  for (Index i = 0; i < n; ++i) y[i] = vector_math::exp(x[i] - top);
}

template <class T>
void softmax_row(const T* x, T* y, Index n) {
  exp_row(x, max_of(x, n), y, n);  // -inf - -inf and inf - inf are NaN, as promised
  divide_by_sum(y, n);
}

template <class T>
void log_softmax_row(const T* x, T* y, Index n) {
  const T top = max_of(x, n);
  exp_row(x, top, y, n);
  const T log_sum = static_cast<T>(std::log(sum_of(n, [y](Index i) { return y[i]; })));
  for (Index i = 0; i < n; ++i) y[i] = x[i] - top - log_sum;
}

template <class T>
void masked_softmax_row(const T* x, const bool* mask, T* y, Index n) {
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  T top = kNone;
  for (Index i = 0; i < n; ++i) top = mask[i] && x[i] > top ? x[i] : top;
  for (Index i = 0; i < n; ++i) y[i] = mask[i] ? vector_math::exp(x[i] - top) : T(0);
  if (sum_of(n, [y](Index i) { return y[i]; }) != 0) divide_by_sum(y, n);  // else zeros
}

/// y (g - y . g): what the Jacobian diag(y) - y y^T makes of g.
template <class T>
void softmax_backward_row(const T* y, const T* g, T* out, Index n) {
  const T dot = static_cast<T>(sum_of(n, [y, g](Index i) { return y[i] * g[i]; }));
  for (Index i = 0; i < n; ++i) out[i] = y[i] * (g[i] - dot);
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

Array softmax_backward(const Array& y, const Array& g, int axis) {
  check_same_dtype(y, g, "softmax");
  const int last = y.rank() - 1;
  const Array grad = axis == last ? g : transpose(g, axis, last);
  return along_last(y, axis, [&](const Array& a) {
    return dispatch_float(a.dtype(), "softmax", [&](auto tag) {
      using T = decltype(tag);
      const T* from = a.read<T>().data();
      const T* incoming = grad.read<T>().data();
      return Array::build<T>(a.shape(), [&](std::span<T> to) {
        for_rows(a, [&](Index at, Index n) {
          softmax_backward_row(from + at, incoming + at, to.data() + at, n);
        });
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
