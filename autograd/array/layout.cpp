#include "autograd/array/layout.h"

#include <algorithm>
#include <vector>

#include "autograd/array/elementwise.h"
#include "autograd/machine/parallel.h"

namespace autograd {
namespace {

// A contiguous array of `shape` whose elements lie in `a` at `offset` plus these strides.
Array gather(const Array& a, const Shape& shape, const Strides& strides, Index offset) {
  const BroadcastPlan plan = merge_axes(shape, strides, Strides{});
  const Index step = plan.a_stride[plan.rank - 1];
  return dispatch_any(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = a.read<T>().data() + offset;
    return Array::build<T>(shape, [&](std::span<T> y) {
      for_each_row(plan, [&](Index oy, Index ox, Index, Index begin, Index end) {
        const T* from = x + ox;
        T* to = y.data() + oy;
        if (step == 1) {
          std::copy(from + begin, from + end, to + begin);
        } else if (step == 0) {
          std::fill(to + begin, to + end, *from);
        } else {
          for (Index i = begin; i < end; ++i) to[i] = from[i * step];
        }
      });
    });
  });
}

// Elements before an axis and behind it.
Index outer_size(const Shape& shape, int axis) {
  Index n = 1;
  for (int i = 0; i < axis; ++i) n *= shape[i];
  return n;
}
Index inner_size(const Shape& shape, int axis) {
  Index n = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) n *= shape[i];
  return n;
}

// Parts of f64 beside dual ones, as in_one_dtype of two.
std::vector<Array> in_one_dtype(std::span<const Array> parts) {
  std::vector<Array> same(parts.begin(), parts.end());
  for (const Array& part : parts) {
    same[0] = in_one_dtype(same[0], part, "concat").a;
  }
  for (Array& part : same) part = in_one_dtype(part, same[0], "concat").a;
  return same;
}

}  // namespace

Array permute(const Array& a, std::span<const int> axes) {
  const Strides own = a.shape().strides();
  std::array<Index, Shape::kMaxRank> sizes{};
  Strides strides{};
  unsigned seen = 0;
  for (std::size_t i = 0; i < axes.size() && i < sizes.size(); ++i) {
    const int from = a.shape().axis(axes[i], "permute");
    seen |= 1u << from;
    sizes[i] = a.shape()[from];
    strides[i] = own[from];
  }
  if (axes.size() != static_cast<std::size_t>(a.rank()) || seen != (1u << a.rank()) - 1u) {
    fail<ShapeError>("permute: expected each of the {} dims of {} once", a.rank(), a.shape().str());
  }
  return gather(a, Shape(std::span<const Index>(sizes.data(), axes.size())), strides, 0);
}

Array transpose(const Array& a, int axis0, int axis1) {
  std::array<int, Shape::kMaxRank> axes{};
  for (int i = 0; i < a.rank(); ++i) axes[i] = i;
  std::swap(axes[a.shape().axis(axis0, "transpose")], axes[a.shape().axis(axis1, "transpose")]);
  return permute(a, std::span<const int>(axes.data(), static_cast<std::size_t>(a.rank())));
}

Array expand(const Array& a, const Shape& shape) {
  if (a.shape() == shape) return a;
  if (!broadcasts_to(a.shape(), shape)) {
    fail<ShapeError>("expand: {} does not broadcast to {}", a.shape().str(), shape.str());
  }
  return gather(a, shape, broadcast_strides(a.shape(), shape), 0);
}

Array narrow(const Array& a, int axis, Index start, Index length) {
  const Index size = a.shape()[axis];
  if (start < 0 || length < 0 || start > size || length > size - start) {
    fail<ShapeError>("narrow: expected a part of [0, {}) along dim {} of {}, got {} from {} on",
                     size, axis, a.shape().str(), length, start);
  }
  const Strides strides = a.shape().strides();
  return gather(a, a.shape().with(axis, length), strides, start * strides[axis]);
}

Array concat(std::span<const Array> parts, int axis) {
  if (parts.empty()) fail<ShapeError>("concat: expected at least one part, got none");
  Index length = 0;
  for (const Array& part : parts) {
    if (part.dtype() != parts[0].dtype()) return concat(in_one_dtype(parts), axis);
    if (part.rank() != parts[0].rank() ||
        part.shape().with(axis, 1) != parts[0].shape().with(axis, 1)) {
      fail<ShapeError>("concat: expected shapes equal but for dim {}, got {} and {}", axis,
                       parts[0].shape().str(), part.shape().str());
    }
    length += part.shape()[axis];
  }
  const Shape shape = parts[0].shape().with(axis, length);
  const Index outer = outer_size(shape, axis), inner = inner_size(shape, axis);
  return dispatch_any(parts[0].dtype(), [&](auto tag) {
    using T = decltype(tag);
    return Array::build<T>(shape, [&](std::span<T> y) {
      Index start = 0;
      for (const Array& part : parts) {
        const Index run = part.shape()[axis] * inner;
        const T* x = part.read<T>().data();
        T* to = y.data() + start;
        for (Index o = 0; o < outer; ++o)
          std::copy(x + o * run, x + (o + 1) * run, to + o * length * inner);
        start += run;
      }
    });
  });
}

void add_to_narrow(Array& into, const Array& g, int axis, Index start) {
  check_same_dtype(into, g, "add_to_narrow");
  const Index length = g.shape()[axis];
  if (into.shape().with(axis, length) != g.shape() || start < 0 ||
      start + length > into.shape()[axis]) {
    fail<ShapeError>("add_to_narrow: {} is no part of {} at {} along dim {}", g.shape().str(),
                     into.shape().str(), start, axis);
  }
  const Index inner = inner_size(g.shape(), axis), run = length * inner;
  const Index stride = into.shape()[axis] * inner;
  dispatch_float(g.dtype(), "add_to_narrow", [&](auto tag) {
    using T = decltype(tag);
    const T* x = g.read<T>().data();
    into.write<T>([&](std::span<T> y) {
      T* to = y.data() + start * inner;
      const Index rows = outer_size(g.shape(), axis);
      parallel_for(rows, std::max<Index>(1, elements_per_piece() / std::max<Index>(1, run)),
                   [&](Index begin, Index end) {
                     for (Index o = begin; o < end; ++o) {
                       for (Index i = 0; i < run; ++i) to[o * stride + i] += x[o * run + i];
                     }
                   });
    });
  });
}

// A walk through the part of `a` that stays, side by side in the result and in `a`.
Array pad(const Array& a, const Strides& before, const Strides& after, double value) {
  const Strides steps = a.shape().strides();
  Shape kept = a.shape(), shape = a.shape();
  Index from = 0;
  for (int i = 0; i < a.rank(); ++i) {
    kept =
        kept.with(i, a.shape()[i] + std::min<Index>(before[i], 0) + std::min<Index>(after[i], 0));
    shape = shape.with(i, a.shape()[i] + before[i] + after[i]);
    from += std::max<Index>(-before[i], 0) * steps[i];
  }
  const Strides to_steps = shape.strides();
  Index to = 0;
  for (int i = 0; i < a.rank(); ++i) to += std::max<Index>(before[i], 0) * to_steps[i];
  const BroadcastPlan plan = merge_axes(kept, steps, to_steps);
  const Index run = plan.a_stride[plan.rank - 1], to_run = plan.b_stride[plan.rank - 1];
  Array out = Array::full(shape, value, a.dtype());
  dispatch_any(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = a.read<T>().data();
    out.write<T>([&](std::span<T> y) {
      for_each_row(plan, [&](Index, Index ox, Index oy, Index begin, Index end) {
        for (Index i = begin; i < end; ++i) y[to + oy + i * to_run] = x[from + ox + i * run];
      });
    });
  });
  return out;
}

Array unfold(const Array& a, int axis, Index size, Index step) {
  const Index windows = (a.shape()[axis] - size) / step + 1;
  const Shape shape = a.shape().with(axis, windows).inserted(a.rank(), size);
  Strides strides = a.shape().strides();
  strides[a.rank()] = strides[axis];
  strides[axis] *= step;
  return gather(a, shape, strides, 0);
}

// Every element collects its copies, from the first window to the last: in parallel without a race.
void add_unfolded(Array& into, const Array& g, int axis, Index step) {
  if (g.numel() == 0) return;
  const Index length = into.shape()[axis], windows = g.shape()[axis], size = g.shape()[into.rank()];
  const Index inner = inner_size(into.shape(), axis);
  dispatch_float(g.dtype(), "add_unfolded", [&](auto tag) {
    using T = decltype(tag);
    const T* x = g.read<T>().data();
    into.write<T>([&](std::span<T> y) {
      const Index grain = std::max<Index>(1, elements_per_piece() / inner);
      parallel_for(outer_size(into.shape(), axis) * length, grain, [&](Index begin, Index end) {
        for (Index row = begin; row < end; ++row) {
          const Index at = row % length, skipped = std::max<Index>(at - size + step, 0) / step;
          for (Index w = skipped; w < windows && w * step <= at; ++w) {
            const T* from = x + (row / length * windows + w) * inner * size + (at - w * step);
            for (Index i = 0; i < inner; ++i) y[row * inner + i] += from[i * size];
          }
        }
      });
    });
  });
}

Array tril(const Array& a, Index diagonal) {
  if (a.rank() < 2) fail<ShapeError>("tril: expected rank 2 or more, got {}", a.shape().str());
  const Index rows = a.shape()[a.rank() - 2], columns = a.shape()[a.rank() - 1];
  return dispatch_any(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    Array out = a;
    out.write<T>([&](std::span<T> y) {
      for (Index i = 0; i < a.numel(); ++i) {
        if (i % columns - i / columns % rows > diagonal) y[static_cast<std::size_t>(i)] = T(0);
      }
    });
    return out;
  });
}

}  // namespace autograd
