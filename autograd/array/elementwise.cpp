#include "autograd/array/elementwise.h"

#include "autograd/array/layout.h"

namespace autograd {

BroadcastPlan merge_axes(const Shape& shape, const Strides& a, const Strides& b) {
  BroadcastPlan plan;
  plan.shape = shape;
  int used = -1;  // last merged axis
  for (int i = 0; i < shape.rank(); ++i) {
    const Index size = shape[i];
    if (size == 1) continue;
    // Axis i continues the one before where a step there is `size` steps here, for both operands:
    // then both run on without a jump.
    const bool merges =
        used >= 0 && plan.a_stride[used] == a[i] * size && plan.b_stride[used] == b[i] * size;
    if (!merges) plan.size[++used] = 1;
    plan.size[used] *= size;
    plan.a_stride[used] = a[i];
    plan.b_stride[used] = b[i];
  }
  if (used < 0) plan.size[++used] = 1;  // one element
  plan.rank = used + 1;
  return plan;
}

// Stride 0 along an axis reads the same element again and again: that is all of broadcasting.
Strides broadcast_strides(const Shape& from, const Shape& to) {
  const Strides own = from.strides();
  Strides strides{};
  for (int i = 1; i <= from.rank(); ++i) {
    const int axis = from.rank() - i;
    strides[to.rank() - i] = from[axis] == 1 ? 0 : own[axis];
  }
  return strides;
}

BroadcastPlan plan_broadcast(const Shape& a, const Shape& b, const char* op) {
  const Shape shape = broadcast(a, b, op);
  return merge_axes(shape, broadcast_strides(a, shape), broadcast_strides(b, shape));
}

// Threads share out the rows; which row starts where, each works out from its number, as an
// odometer does, so that no thread has to wait for the one before.
void detail::run_rows(const BroadcastPlan& plan, const Row& row) {
  if (plan.shape.numel() == 0) return;
  const int last = plan.rank - 1;
  const Index width = plan.size[last], rows = plan.shape.numel() / width;
  const auto call = [&](Index r, Index begin, Index end) {  // r counts rows, row-major
    Index oa = 0, ob = 0, rest = r;
    for (int i = last - 1; i >= 0; --i) {
      const Index at = rest % plan.size[i];
      rest /= plan.size[i];
      oa += at * plan.a_stride[i];
      ob += at * plan.b_stride[i];
    }
    row(r * width, oa, ob, begin, end);
  };
  if (rows == 1) {
    parallel_for(width, elements_per_piece(), [&](Index begin, Index end) { call(0, begin, end); });
    return;  // one long row is cut itself
  }
  parallel_for(rows, std::max<Index>(1, elements_per_piece() / width), [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) call(r, 0, width);
  });
}

void check_same_dtype(const Array& a, const Array& b, const char* op) {
  if (a.dtype() != b.dtype()) {
    fail<DTypeError>("{}: expected equal dtypes, got {} and {}", op, name(a.dtype()),
                     name(b.dtype()));
  }
}

Pair in_one_dtype(const Array& a, const Array& b, const char* op) {
  if (mixes_dual(a.dtype(), b.dtype())) return {a.to(DType::dual), b.to(DType::dual)};
  check_same_dtype(a, b, op);
  return {a, b};
}

void check_float(const Array& a, const char* op) {
  dispatch_float(a.dtype(), op, [](auto) {});
}

namespace {

// Integers as unsigned ones, which wrap around: overflow of signed ones is undefined.
template <class F>
Array zip_numbers(const Array& a, const Array& b, const char* op, F f) {
  if (a.dtype() != DType::i64 || b.dtype() != DType::i64) return zip(a, b, op, f);
  const auto wrap = [f](std::int64_t x, std::int64_t y) {
    return static_cast<std::int64_t>(
        f(static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(y)));
  };
  return detail::zip_typed<std::int64_t, std::int64_t>(a, b, op, wrap);
}

}  // namespace

Array operator+(const Array& a, const Array& b) {
  return zip_numbers(a, b, "add", [](auto x, auto y) { return x + y; });
}
Array operator-(const Array& a, const Array& b) {
  return zip_numbers(a, b, "sub", [](auto x, auto y) { return x - y; });
}
Array operator*(const Array& a, const Array& b) {
  return zip_numbers(a, b, "mul", [](auto x, auto y) { return x * y; });
}
Array operator/(const Array& a, const Array& b) {
  return zip(a, b, "div", [](auto x, auto y) { return x / y; });
}
Array operator-(const Array& a) {
  if (a.dtype() == DType::i64) return Array::scalar(0, DType::i64) - a;
  return map(a, "neg", [](auto x) { return -x; });
}
Array operator*(const Array& a, double s) {
  return map(a, "scale", [s](auto x) { return x * static_cast<decltype(x)>(s); });
}
Array operator+(const Array& a, double s) {
  return map(a, "shift", [s](auto x) { return x + static_cast<decltype(x)>(s); });
}
Array operator/(const Array& a, double s) {
  return map(a, "div", [s](auto x) { return x / static_cast<decltype(x)>(s); });
}

// How gradients from several consumers are summed. Mostly `into` owns its memory alone, and then no
// array is made.
void add_in_place(Array& into, const Array& g) {
  check_same_dtype(into, g, "add_in_place");
  if (into.shape() != g.shape()) {
    fail<ShapeError>("add_in_place: expected equal shapes, got {} and {}", into.shape().str(),
                     g.shape().str());
  }
  dispatch_float(into.dtype(), "add_in_place", [&](auto tag) {
    using T = decltype(tag);
    const Array keep = g;  // `g` may be `into` itself
    const std::span<const T> y = keep.read<T>();
    into.write<T>([&](std::span<T> x) {
      parallel_for(static_cast<Index>(x.size()), elements_per_piece(), [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) x[i] += y[i];
      });
    });
  });
}

void check_mask(const Array& mask, const char* op) {
  if (mask.dtype() != DType::b8) {
    fail<DTypeError>("{}: expected a mask of b8, got {}", op, name(mask.dtype()));
  }
}

namespace {

Shape shape_of_where(const Shape& mask, const Shape& a, const Shape& b) {
  try {
    return broadcast(mask, broadcast(a, b, "where"), "where");
  } catch (const ShapeError&) {  // which names two of the three
    fail<ShapeError>("where: expected shapes that broadcast, got a mask {}, {} and {}", mask.str(),
                     a.str(), b.str());
  }
}

}  // namespace

Array where(const Array& mask, const Array& a, const Array& b) {
  check_mask(mask, "where");
  if (a.dtype() != b.dtype()) {
    const Pair same = in_one_dtype(a, b, "where");
    return where(mask, same.a, same.b);
  }
  const Shape shape = shape_of_where(mask.shape(), a.shape(), b.shape());
  const Array m = expand(mask, shape), x = expand(a, shape), y = expand(b, shape);
  return dispatch_float(a.dtype(), "where", [&](auto tag) {
    using T = decltype(tag);
    const auto chosen = m.read<bool>();
    const auto if_true = x.read<T>(), if_false = y.read<T>();
    return Array::build<T>(shape, [&](std::span<T> z) {
      parallel_for(shape.numel(), elements_per_piece(), [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) z[i] = chosen[i] ? if_true[i] : if_false[i];
      });
    });
  });
}

bool all_finite(const Array& a) {
  if (!is_float(a.dtype())) return true;
  if (a.dtype() == DType::dual) return all_finite(value_of(a)) && all_finite(tangent_of(a));
  return dispatch_real(a.dtype(), "all_finite", [&](auto tag) {
    using T = decltype(tag);
    T zero = 0;  // x * 0 is NaN exactly for NaN and infinities
    for (const T x : a.read<T>()) zero += x * T(0);
    return zero == T(0);
  });
}

}  // namespace autograd
