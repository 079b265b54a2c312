#pragma once

#include <algorithm>

#include "autograd/array/array.h"
#include "autograd/machine/parallel.h"

namespace autograd {

// The loops of all elementwise ops: map() over one array, zip() and compare() over two that
// broadcast.

/// f applied to every element of a float array; f is generic: auto f(T x) -> T.
template <class F>
Array map(const Array& a, const char* op, F f) {
  return dispatch_float(a.dtype(), op, [&](auto tag) {
    using T = decltype(tag);
    const std::span<const T> x = a.read<T>();
    return Array::build<T>(a.shape(), [&](std::span<T> y) {
      parallel_for(a.numel(), elements_per_piece(), [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) y[i] = f(x[i]);
      });
    });
  });
}

/// How two operands walk through their broadcast result. Nothing is copied to the larger shape: an
/// operand that repeats along an axis has stride 0 there. Neighbouring axes that both operands
/// cross alike are merged, so most cases end with one or two axes and long inner loops: (64, 128,
/// 512) + (512,) is 8192 rows of 512. Strides are in elements.
struct BroadcastPlan {
  Shape shape;                                // of the result
  int rank = 0;                               // merged axes, at least 1
  std::array<Index, Shape::kMaxRank> size{};  // of each merged axis
  Strides a_stride{};
  Strides b_stride{};
};
BroadcastPlan merge_axes(const Shape& shape, const Strides& a, const Strides& b);
BroadcastPlan plan_broadcast(const Shape& a, const Shape& b, const char* op);
/// Strides of `from` along the axes of `to`, to which it broadcasts; 0 where it repeats.
Strides broadcast_strides(const Shape& from, const Shape& to);

namespace detail {
using Row = std::function<void(Index, Index, Index, Index, Index)>;
void run_rows(const BroadcastPlan& plan, const Row& row);
}  // namespace detail

/// Calls row(out_offset, a_offset, b_offset, begin, end) for pieces of the innermost merged axis,
/// in parallel; the piece is elements [begin, end) of a row that starts at those offsets.
template <class F>
void for_each_row(const BroadcastPlan& plan, F&& row) {
  detail::run_rows(plan, std::ref(row));
}

namespace detail {

// One loop per pattern of strides, since the compiler vectorises a loop whose strides it knows.
template <class T, class R, class F>
void zip_row(const T* a, Index sa, const T* b, Index sb, R* out, Index begin, Index end, F& f) {
  if (sa == 1 && sb == 1) {
    for (Index i = begin; i < end; ++i) out[i] = f(a[i], b[i]);
  } else if (sa == 1 && sb == 0) {
    const T y = *b;
    for (Index i = begin; i < end; ++i) out[i] = f(a[i], y);
  } else if (sa == 0 && sb == 1) {
    const T x = *a;
    for (Index i = begin; i < end; ++i) out[i] = f(x, b[i]);
  } else {
    for (Index i = begin; i < end; ++i) out[i] = f(a[i * sa], b[i * sb]);
  }
}

template <class T, class R, class F>
Array zip_typed(const Array& a, const Array& b, const char* op, F& f) {
  const T* x = a.read<T>().data();
  const T* y = b.read<T>().data();
  if (a.shape() == b.shape()) {
    return Array::build<R>(a.shape(), [&](std::span<R> z) {
      parallel_for(a.numel(), elements_per_piece(),
                   [&](Index begin, Index end) { zip_row(x, 1, y, 1, z.data(), begin, end, f); });
    });
  }
  const BroadcastPlan plan = plan_broadcast(a.shape(), b.shape(), op);
  const Index sa = plan.a_stride[plan.rank - 1], sb = plan.b_stride[plan.rank - 1];
  return Array::build<R>(plan.shape, [&](std::span<R> z) {
    for_each_row(plan, [&](Index oz, Index ox, Index oy, Index begin, Index end) {
      zip_row(x + ox, sa, y + oy, sb, z.data() + oz, begin, end, f);
    });
  });
}

}  // namespace detail

/// DTypeError, in the name of `op`, unless both have the same dtype.
void check_same_dtype(const Array& a, const Array& b, const char* op);

/// Whether one is f64 and the other dual: beside dual numbers f64 ones are constants.
inline bool mixes_dual(DType a, DType b) {
  return (a == DType::f64 && b == DType::dual) || (a == DType::dual && b == DType::f64);
}

/// DTypeError, in the name of `op`, unless in_one_dtype() takes both.
inline void check_mixable(const Array& a, const Array& b, const char* op) {
  if (!mixes_dual(a.dtype(), b.dtype())) check_same_dtype(a, b, op);
}

/// Both in one dtype: both dual where one is. DTypeError for any other mixture.
struct Pair {
  Array a, b;
};
Pair in_one_dtype(const Array& a, const Array& b, const char* op);

/// DTypeError, in the name of `op`, unless it is a float.
void check_float(const Array& a, const char* op);

/// f applied to pairs of elements of two float arrays that broadcast together.
template <class F>
Array zip(const Array& a, const Array& b, const char* op, F f) {
  if (a.dtype() != b.dtype()) {
    const Pair same = in_one_dtype(a, b, op);
    return zip(same.a, same.b, op, f);
  }
  return dispatch_float(a.dtype(), op, [&](auto tag) {
    using T = decltype(tag);
    return detail::zip_typed<T, T>(a, b, op, f);
  });
}

/// The same for a predicate on any equal dtype: the result is a mask (b8).
template <class F>
Array compare(const Array& a, const Array& b, const char* op, F f) {
  if (a.dtype() != b.dtype()) {
    const Pair same = in_one_dtype(a, b, op);
    return compare(same.a, same.b, op, f);
  }
  return dispatch_any(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    return detail::zip_typed<T, bool>(a, b, op, f);
  });
}

// Arithmetic on float arrays, broadcasting; a double stands for an array full of it. Of two arrays
// but for /, and -a, on i64 too, where results that do not fit wrap around, modulo 2^64.
Array operator+(const Array& a, const Array& b);
Array operator-(const Array& a, const Array& b);
Array operator*(const Array& a, const Array& b);
Array operator/(const Array& a, const Array& b);
Array operator-(const Array& a);
Array operator*(const Array& a, double s);
Array operator+(const Array& a, double s);
Array operator/(const Array& a, double s);  // exactly a / s, not a * (1 / s)

/// into += g, in place where `into` owns its memory alone. Same shape and dtype.
void add_in_place(Array& into, const Array& g);

/// DTypeError, in the name of `op`, unless it is b8.
void check_mask(const Array& mask, const char* op);

/// Elements of `a` where the mask (b8) is true, of `b` elsewhere; all three broadcast.
Array where(const Array& mask, const Array& a, const Array& b);

/// Whether every element is finite; true for i64 and b8.
bool all_finite(const Array& a);

}  // namespace autograd
