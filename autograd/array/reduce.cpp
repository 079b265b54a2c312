#include "autograd/array/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "autograd/machine/lanes.h"
#include "autograd/machine/parallel.h"

namespace autograd {
namespace {

// An array seen as (outer, n, inner), reduced over n.
struct Split3 {
  Index outer, n, inner;
};

constexpr Index kChunk = 4096;
constexpr Index kColumns = 256;  // double accumulators that stay in the L1 cache

template <class T>
Wide<T> sum_chunk(const T* x, Index n) {
  return sum_of(n, [x](Index i) { return x[i]; });
}

// Chunks of kChunk, added in order: the same bits however many threads take part.
template <class T>
Wide<T> sum_run(const T* x, Index n) {
  Wide<T> total = 0;
  for (Index i = 0; i < n; i += kChunk) total += sum_chunk(x + i, std::min(kChunk, n - i));
  return total;
}

// The same on all threads. chunk(first, count): the sum of a chunk.
template <class F>
auto sum_chunks(Index n, F chunk) {
  using Sum = decltype(chunk(n, n));
  const Index chunks = (n + kChunk - 1) / kChunk;
  std::vector<Sum> sums(static_cast<std::size_t>(chunks));
  parallel_for(
      chunks, std::max<Index>(1, elements_per_piece() / kChunk), [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) {
          sums[static_cast<std::size_t>(i)] = chunk(i * kChunk, std::min(kChunk, n - i * kChunk));
        }
      });
  Sum total = 0;
  for (const Sum c : sums) total += c;
  return total;
}

template <class T>
Wide<T> sum_run_parallel(const T* x, Index n) {
  return sum_chunks(n, [x](Index first, Index count) { return sum_chunk(x + first, count); });
}

// The sum of value(i)^2.
template <class F>
auto sum_of_squares(Index n, F value) {
  return sum_chunks(n, [value](Index first, Index count) {
    return sum_of(count, [value, first](Index i) {
      const auto v = value(first + i);
      return v * v;
    });
  });
}

// A sum over an axis that is not the last, such as the gradient of a bias. Along the axis,
// neighbours lie `inner` elements apart, so this goes row by row and keeps kColumns running sums:
// memory is read in its order, and the inner loop runs on whole vectors.
template <class T>
void sum_columns(const T* x, T* y, const Split3& s) {
  const Index blocks = (s.inner + kColumns - 1) / kColumns;
  const Index grain = std::max<Index>(1, elements_per_piece() / std::max<Index>(1, s.n * kColumns));
  parallel_for(s.outer * blocks, grain, [&](Index begin, Index end) {
    for (Index b = begin; b < end; ++b) {
      const Index first = b % blocks * kColumns, width = std::min(kColumns, s.inner - first);
      const T* from = x + b / blocks * s.n * s.inner + first;
      Wide<T> total[kColumns] = {};
      for (Index i = 0; i < s.n; ++i) {
        for (Index j = 0; j < width; ++j) total[j] += static_cast<Wide<T>>(from[i * s.inner + j]);
      }
      T* to = y + b / blocks * s.inner + first;
      for (Index j = 0; j < width; ++j) to[j] = static_cast<T>(total[j]);
    }
  });
}

// As unsigned numbers, which wrap around.
void sum_integers(const std::int64_t* x, std::int64_t* y, const Split3& s) {
  for (Index o = 0; o < s.outer; ++o) {
    for (Index j = 0; j < s.inner; ++j) {
      std::uint64_t total = 0;
      const std::int64_t* from = x + o * s.n * s.inner + j;
      for (Index i = 0; i < s.n; ++i) total += static_cast<std::uint64_t>(from[i * s.inner]);
      y[o * s.inner + j] = static_cast<std::int64_t>(total);
    }
  }
}

// Rows next to each other, one long row, or columns.
template <class T>
void sum_middle(const T* x, T* y, const Split3& s) {
  if (s.inner != 1) return sum_columns(x, y, s);
  if (s.outer == 1) {
    *y = static_cast<T>(sum_run_parallel(x, s.n));
    return;
  }
  parallel_for(s.outer, std::max<Index>(1, elements_per_piece() / std::max<Index>(1, s.n)),
               [&](Index begin, Index end) {
                 for (Index r = begin; r < end; ++r)
                   y[r] = static_cast<T>(sum_run(x + r * s.n, s.n));
               });
}

// better(x, m) says that x replaces m; a NaN replaces all and is replaced by none.
template <class T, class Better>
void extreme_middle(const T* x, T* y, const Split3& s, Better better) {
  const Index grain = std::max<Index>(1, elements_per_piece() / std::max<Index>(1, s.n * s.inner));
  parallel_for(s.outer, grain, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const T* from = x + r * s.n * s.inner;
      T* to = y + r * s.inner;
      std::copy(from, from + s.inner, to);
      for (Index i = 1; i < s.n; ++i) {
        for (Index j = 0; j < s.inner; ++j) {
          const T v = from[i * s.inner + j];
          to[j] = better(v, to[j]) || v != v ? v : to[j];
        }
      }
    }
  });
}

// Runs kernel(x, y, split) once for every run of neighbouring reduced axes, the last run first.
template <class T, class Kernel>
Array reduce_typed(const Array& a, Axes axes, KeepDim keep, Kernel kernel) {
  Array current = a;
  Index inner = 1;
  for (int axis = a.rank() - 1; axis >= 0;) {
    if (!axes.contains(axis)) {
      inner *= a.shape()[axis--];
      continue;
    }
    Split3 s{1, 1, inner};
    while (axis >= 0 && axes.contains(axis)) s.n *= a.shape()[axis--];
    for (int i = 0; i <= axis; ++i) s.outer *= a.shape()[i];
    const std::span<const T> x = current.read<T>();
    current = Array::build<T>(Shape{s.outer, s.inner}, [&](std::span<T> y) {
      if (!y.empty()) kernel(x.data(), y.data(), s);
    });
  }
  return current.reshape(reduced(a.shape(), axes, keep));
}

template <class Kernel>
Array reduce(const Array& a, Axes axes, KeepDim keep, const char* op, Kernel kernel) {
  return dispatch_float(
      a.dtype(), op, [&](auto tag) { return reduce_typed<decltype(tag)>(a, axes, keep, kernel); });
}

void check_not_empty(const Array& a, Axes axes, const char* op) {
  for (int i = 0; i < a.rank(); ++i) {
    if (axes.contains(i) && a.shape()[i] == 0) {
      fail<ShapeError>("{}: expected elements along dim {}, got shape {}", op, i, a.shape().str());
    }
  }
}

}  // namespace

Dims::Dims(std::span<const int> dims) : count_(dims.size()) {
  if (count_ > dims_.size()) {
    fail<ShapeError>("dims: expected at most {}, got {}", dims_.size(), count_);
  }
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

Axes Axes::of(const Shape& shape, std::span<const int> dims, const char* op) {
  if (dims.empty()) return Axes((1u << shape.rank()) - 1u);
  Axes axes(0);
  for (const int dim : dims) {
    if (shape.rank() == 0 && (dim == 0 || dim == -1)) continue;  // a scalar passes for one element
    const int axis = shape.axis(dim, op);
    if (axes.contains(axis)) {
      fail<ShapeError>("{}: dim {} is given twice for shape {}", op, dim, shape.str());
    }
    axes.bits_ |= 1u << axis;
  }
  return axes;
}

Shape reduced(const Shape& shape, Axes axes, KeepDim keep) {
  Shape result = shape;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (axes.contains(i)) result = keep == KeepDim::yes ? result.with(i, 1) : result.without(i);
  }
  return result;
}

Index reduced_count(const Shape& shape, Axes axes) {
  Index count = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (axes.contains(i)) count *= shape[i];
  }
  return count;
}

Array sum(const Array& a, Axes axes, KeepDim keep) {
  if (!is_float(a.dtype())) {
    return reduce_typed<std::int64_t>(a.to(DType::i64), axes, keep, sum_integers);
  }
  return reduce(a, axes, keep, "sum",
                [](auto* x, auto* y, const Split3& s) { sum_middle(x, y, s); });
}

Array sum(const Array& a, int dim, KeepDim keep) {
  return sum(a, Axes::one(a.shape().axis(dim, "sum")), keep);
}

Array sum(const Array& a) { return sum(a, Axes::of(a.shape(), {}, "sum"), KeepDim::no); }

Array max(const Array& a, Axes axes, KeepDim keep) {
  check_not_empty(a, axes, "max");
  return reduce(a, axes, keep, "max", [](auto* x, auto* y, const Split3& s) {
    extreme_middle(x, y, s, [](auto v, auto m) { return v > m; });
  });
}

Array min(const Array& a, Axes axes, KeepDim keep) {
  check_not_empty(a, axes, "min");
  return reduce(a, axes, keep, "min", [](auto* x, auto* y, const Split3& s) {
    extreme_middle(x, y, s, [](auto v, auto m) { return v < m; });
  });
}

Array argmax(const Array& a, int axis, KeepDim keep) {
  check_not_empty(a, Axes::one(axis), "argmax");
  Split3 s{1, a.shape()[axis], 1};
  for (int i = 0; i < a.rank(); ++i) (i < axis ? s.outer : s.inner) *= i == axis ? 1 : a.shape()[i];
  return dispatch_float(a.dtype(), "argmax", [&](auto tag) {
    using T = decltype(tag);
    const std::span<const T> x = a.read<T>();
    return Array::build<std::int64_t>(
        reduced(a.shape(), Axes::one(axis), keep), [&](std::span<std::int64_t> y) {
          for (Index o = 0; o < s.outer; ++o) {
            for (Index j = 0; j < s.inner; ++j) {
              const T* from = x.data() + o * s.n * s.inner + j;
              Index best = 0;
              for (Index i = 1; i < s.n; ++i) {
                const T v = from[i * s.inner], m = from[best * s.inner];
                if (v > m || (v != v && m == m)) best = i;
              }
              y[static_cast<std::size_t>(o * s.inner + j)] = best;
            }
          }
        });
  });
}

// Squares first. Only where one overflowed, or all are so small that some were lost, again with
// everything divided by the largest element.
template <class T>
Wide<T> euclidean_norm(std::span<const T> x) {
  using std::sqrt;
  constexpr double kSafe = 0x1p-900;  // below it, squares of what matters may have vanished
  const Index n = std::ssize(x);
  const Wide<T> squares = sum_of_squares(n, [x](Index i) { return static_cast<Wide<T>>(x[i]); });
  const double size = value_of(squares);
  if (std::isnan(size) || (size >= kSafe && !std::isinf(size))) return sqrt(squares);
  double top = 0;
  for (const T v : x) top = std::max(top, std::abs(static_cast<double>(value_of(v))));
  if (top == 0 || std::isinf(top)) return top;
  const Wide<T> scaled =
      sum_of_squares(n, [x, top](Index i) { return static_cast<Wide<T>>(x[i]) / top; });
  return top * sqrt(scaled);
}
template double euclidean_norm(std::span<const float>);
template double euclidean_norm(std::span<const double>);
template Dual euclidean_norm(std::span<const Dual>);

double euclidean_norm(const Array& a) {
  return dispatch_real(a.dtype(), "norm",
                       [&](auto tag) { return euclidean_norm(a.read<decltype(tag)>()); });
}

// Broadcasting repeats elements; its gradient adds up what flows back to each repetition.
Array sum_to(const Array& g, const Shape& shape) {
  if (g.shape() == shape) return g;
  if (!broadcasts_to(shape, g.shape())) {
    fail<ShapeError>("sum_to: {} does not broadcast to {}", shape.str(), g.shape().str());
  }
  const int extra = g.rank() - shape.rank();
  std::vector<int> dims;
  for (int i = 0; i < g.rank(); ++i) {
    if (i < extra || shape[i - extra] != g.shape()[i]) dims.push_back(i);
  }
  if (dims.empty()) return g.reshape(shape);
  return sum(g, Axes::of(g.shape(), dims, "sum_to"), KeepDim::yes).reshape(shape);
}

}  // namespace autograd
