#include "autograd/array/indexing.h"

#include <algorithm>

#include "autograd/array/elementwise.h"

namespace autograd {
namespace {

// Integers wrap around, as in PyTorch, which signed ones must not in C++.
template <class T>
T plus(T a, T b) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}

}  // namespace

void check_indices(const Array& index, Index limit, const char* op) {
  if (index.dtype() != DType::i64) {
    fail<DTypeError>("{}: expected indices of i64, got {}", op, name(index.dtype()));
  }
  Index position = 0;
  for (const std::int64_t i : index.read<std::int64_t>()) {
    if (i < 0 || i >= limit) {
      fail<ValueError>("{}: expected indices in [0, {}), got {} at position {} of {}", op, limit, i,
                       position, index.shape().str());
    }
    ++position;
  }
}

// A walk through the index and, side by side, through `a` as if it had one element along the axis.
Array gather(const Array& a, int axis, const Array& index) {
  Strides beside = a.shape().strides();
  const Index step = std::exchange(beside[axis], 0);
  const BroadcastPlan plan = merge_axes(index.shape(), index.shape().strides(), beside);
  const Index run = plan.b_stride[plan.rank - 1];
  const auto at = index.read<std::int64_t>();
  return dispatch_any(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = a.read<T>().data();
    return Array::build<T>(index.shape(), [&](std::span<T> y) {
      for_each_row(plan, [&](Index row, Index, Index from, Index begin, Index end) {
        for (Index i = begin; i < end; ++i) y[row + i] = x[from + i * run + at[row + i] * step];
      });
    });
  });
}

// In parallel over all but the axis: no two threads add to one element.
void scatter_add(Array& into, int axis, const Array& index, const Array& g) {
  const Strides steps = index.shape().strides(), to_steps = into.shape().strides();
  const BroadcastPlan plan = merge_axes(index.shape().with(axis, 1), steps, to_steps);
  const Index run = plan.a_stride[plan.rank - 1], to_run = plan.b_stride[plan.rank - 1];
  const Index n = index.shape()[axis], step = steps[axis], to_step = to_steps[axis];
  const auto at = index.read<std::int64_t>();
  dispatch_any(g.dtype(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, bool>) {
      fail<DTypeError>("scatter_add: expected f32, f64 or i64, got b8");
    } else {
      const auto x = g.read<T>();
      into.write<T>([&](std::span<T> y) {
        for_each_row(plan, [&](Index, Index from, Index to, Index begin, Index end) {
          const auto add = [&](Index i, Index j) {
            const Index k = from + i * run + j * step;
            T& sum = y[to + i * to_run + at[k] * to_step];
            sum = plus(sum, x[k]);
          };
          if (step < run) {  // neighbours in memory first
            for (Index i = begin; i < end; ++i)
              for (Index j = 0; j < n; ++j) add(i, j);
          } else {
            for (Index j = 0; j < n; ++j)
              for (Index i = begin; i < end; ++i) add(i, j);
          }
        });
      });
    }
  });
}

Array index_select(const Array& a, int axis, const Array& index) {
  const Index n = a.shape()[axis], m = index.numel(), inner = a.shape().strides()[axis];
  const auto at = index.read<std::int64_t>();
  return dispatch_any(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = a.read<T>().data();
    return Array::build<T>(a.shape().with(axis, m), [&](std::span<T> y) {
      const auto slices = static_cast<Index>(y.size()) / inner;
      const Index grain = std::max<Index>(1, elements_per_piece() / inner);
      parallel_for(slices, grain, [&](Index begin, Index end) {
        for (Index o = begin / m; o * m < end; ++o) {
          const T* from = x + o * n * inner;
          T* to = y.data() + o * m * inner;
          const Index last = std::min(end - o * m, m);
          for (Index j = std::max(begin - o * m, Index{0}); j < last; ++j) {
            std::copy(from + at[j] * inner, from + (at[j] + 1) * inner, to + j * inner);
          }
        }
      });
    });
  });
}

void index_add(Array& into, int axis, const Array& index, const Array& g) {
  if (g.numel() == 0) return;
  const Index n = into.shape()[axis], m = index.numel(), inner = into.shape().strides()[axis];
  const auto at = index.read<std::int64_t>();
  dispatch_float(g.dtype(), "index_add", [&](auto tag) {
    using T = decltype(tag);
    const T* x = g.read<T>().data();
    into.write<T>([&](std::span<T> y) {
      // Columns in parallel, slices in order: equal indices add up without a race.
      const Index grain = std::max<Index>(64, elements_per_piece() / m);
      parallel_for(g.numel() / m, grain, [&](Index begin, Index end) {
        for (Index o = begin / inner; o * inner < end; ++o) {
          const Index first = std::max(begin - o * inner, Index{0});
          const Index last = std::min(end - o * inner, inner);
          const T* from = x + o * m * inner;
          T* to = y.data() + o * n * inner;
          for (Index j = 0; j < m; ++j) {
            T* row = to + at[j] * inner;
            for (Index i = first; i < last; ++i) row[i] += from[j * inner + i];
          }
        }
      });
    });
  });
}

}  // namespace autograd
