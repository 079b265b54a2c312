#include "autograd/array/order.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "autograd/array/rows.h"

namespace autograd {
namespace {

template <class T>
bool is_less(T a, T b) {
  if constexpr (std::is_same_v<T, bool> || std::is_integral_v<T>) return a < b;
  else return a < b || (b != b && a == a);
}

/// The first k of n positions, into `to`. The position decides between equal elements, so that
/// there is one right order, whichever algorithm finds it.
template <class T>
void order_row(const T* x, Index n, Index k, Descending descending, std::int64_t* to) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(n));
  std::iota(at.begin(), at.end(), std::int64_t{0});
  const auto comes_first = [=](std::int64_t i, std::int64_t j) {
    const bool swap = descending == Descending::yes;
    const T a = swap ? x[j] : x[i], b = swap ? x[i] : x[j];
    return is_less(a, b) || (!is_less(b, a) && i < j);
  };
  if (k < n) std::nth_element(at.begin(), at.begin() + k, at.end(), comes_first);
  std::sort(at.begin(), at.begin() + k, comes_first);
  std::copy_n(at.begin(), k, to);
}

}  // namespace

Array order(const Array& a, int axis, Index k, Descending descending) {
  const int last = a.rank() - 1;
  if (axis != last) {
    return transpose(order(transpose(a, axis, last), last, k, descending), axis, last);
  }
  const Shape shape = a.shape().with(axis, k);
  return dispatch_any(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = a.read<T>().data();
    return Array::build<std::int64_t>(shape, [&](std::span<std::int64_t> y) {
      if (y.empty()) return;
      const Index n = a.shape()[axis];
      parallel_for(a.numel() / n, rows_per_piece(n), [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
          order_row(x + r * n, n, k, descending, y.data() + r * k);
        }
      });
    });
  });
}

}  // namespace autograd
