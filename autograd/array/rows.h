#pragma once

#include <algorithm>
#include <type_traits>

#include "autograd/array/elementwise.h"
#include "autograd/array/layout.h"

// Loops for functions that need all elements along one axis at once, as softmax does.

namespace autograd {

/// Rows of n elements that are worth a thread.
inline Index rows_per_piece(Index n) {
  return std::max<Index>(1, elements_per_piece() / std::max<Index>(1, n));
}

/// Calls row(x, second, y, n) for every row along `axis`: n elements of `x`, the n elements of
/// `second` beside them, and room for n results. Rows run in parallel, each on one thread; `row` is
/// generic in the element type. `second` has the shape of `x`, and its dtype unless S is bool.
/// Arrays whose axis is not the last are transposed, and the result back.
template <class S = void, class F>
Array zip_rows(const Array& x, const Array& second, int axis, const char* op, F row) {
  if (second.shape() != x.shape()) {
    fail<ShapeError>("{}: expected equal shapes, got {} and {}", op, x.shape().str(),
                     second.shape().str());
  }
  const int last = x.rank() - 1;
  if (axis != last) {
    const Array y =
        zip_rows<S>(transpose(x, axis, last), transpose(second, axis, last), last, op, row);
    return transpose(y, axis, last);
  }
  return dispatch_float(x.dtype(), op, [&](auto tag) {
    using T = decltype(tag);
    using Second = std::conditional_t<std::is_void_v<S>, T, S>;
    const T* from = x.read<T>().data();
    const Second* beside = second.read<Second>().data();
    return Array::build<T>(x.shape(), [&](std::span<T> to) {
      if (to.empty()) return;
      const Index n = x.shape()[last];
      parallel_for(x.numel() / n, rows_per_piece(n), [&](Index begin, Index end) {
        for (Index at = begin * n; at < end * n; at += n) {
          row(from + at, beside + at, to.data() + at, n);
        }
      });
    });
  });
}

/// The same of one array: row(x, y, n).
template <class F>
Array map_rows(const Array& x, int axis, const char* op, F row) {
  const int last = x.rank() - 1;
  if (axis != last) return transpose(map_rows(transpose(x, axis, last), last, op, row), axis, last);
  return zip_rows(x, x, axis, op,
                  [row](const auto* from, const auto*, auto* to, Index n) { row(from, to, n); });
}

}  // namespace autograd
