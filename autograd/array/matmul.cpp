#include "autograd/array/matmul.h"

#include <algorithm>

#include "autograd/array/elementwise.h"
#include "autograd/array/gemm.h"
#include "autograd/array/parallel.h"

namespace autograd {
namespace {

// One matrix product with sizes (m, k) x (k, n) in row-major memory.
struct Sizes {
  Index m, k, n;
};

// Rows [begin, end) of op(a) op(b).
template <class T>
void product_rows(Matrix<T> a, Matrix<T> b, T* c, const Sizes& s, Index begin, Index end) {
  a.data += begin * (a.trans == Trans::yes ? 1 : a.stride);
  gemm<T>(end - begin, s.n, s.k, T(1), a, b, T(0), c + begin * s.n, s.n);
}

// Rows a tile: multiples of 16, at least 64 and a megaflop, about eight tiles in a large matrix.
// The right operand is packed once a tile, so smaller tiles would cost more than they balance.
Index tile_rows(const Sizes& s) {
  const Index flops_a_row = std::max<Index>(1, 2 * s.k * s.n);
  const Index wanted = std::max<Index>({64, (s.m + 7) / 8, 1'000'000 / flops_a_row});
  return (wanted + 15) / 16 * 16;
}

// How the leading axes of a product pair up its matrices: offsets in matrices, 0 where one repeats.
BroadcastPlan plan_batch(const Array& a, const Array& b) {
  const auto leading = [](const Array& x) {
    return Shape(x.shape().sizes().first(static_cast<std::size_t>(x.rank() - 2)));
  };
  return plan_broadcast(leading(a), leading(b), "matmul");
}

Sizes sizes_of(const Array& a, const Array& b, Trans ta, Trans tb) {
  if (a.rank() < 2 || b.rank() < 2) {
    fail<ShapeError>("matmul: expected matrices, got {} and {}", a.shape().str(), b.shape().str());
  }
  Index m = a.shape()[a.rank() - 2], k = a.shape()[a.rank() - 1];
  Index kb = b.shape()[b.rank() - 2], n = b.shape()[b.rank() - 1];
  if (ta == Trans::yes) std::swap(m, k);
  if (tb == Trans::yes) std::swap(kb, n);
  if (k != kb) {
    fail<ShapeError>("matmul: expected equal inner sizes, got {} ({}) and {} ({})", k,
                     a.shape().str(), kb, b.shape().str());
  }
  return {m, k, n};
}

template <class T>
Array multiply(const Array& a, const Array& b, Trans ta, Trans tb, Sizes s) {
  const BroadcastPlan batch = plan_batch(a, b);
  Index count = batch.shape.numel();
  Shape shape = batch.shape.inserted(batch.shape.rank(), s.m);
  shape = shape.inserted(shape.rank(), s.n);
  if (shape.numel() == 0 || s.k == 0) return Array::zeros(shape, a.dtype());
  if (b.numel() == s.k * s.n && ta == Trans::no && a.numel() == count * s.m * s.k) {
    s.m *= count;  // one right operand for all: one tall product
    count = 1;
  }
  const Matrix<T> x{a.read<T>().data(), ta == Trans::yes ? s.m : s.k, ta};
  const Matrix<T> y{b.read<T>().data(), tb == Trans::yes ? s.k : s.n, tb};
  const Index tile = tile_rows(s), tiles = (s.m + tile - 1) / tile;
  const Index grain = std::max<Index>(1, 500'000 / (2 * std::min(tile, s.m) * s.k * s.n));
  return Array::build<T>(shape, [&](std::span<T> z) {
    parallel_for(count * tiles, grain, [&](Index begin, Index end) {
      for (Index t = begin; t < end; ++t) {
        Index ia = 0, ib = 0, rest = t / tiles;
        for (int i = batch.rank - 1; i >= 0 && count > 1; --i) {
          ia += rest % batch.size[i] * batch.a_stride[i];
          ib += rest % batch.size[i] * batch.b_stride[i];
          rest /= batch.size[i];
        }
        const Index first = t % tiles * tile, last = std::min(s.m, first + tile);
        const Matrix<T> left{x.data + ia * s.m * s.k, x.stride, ta};
        const Matrix<T> right{y.data + ib * s.k * s.n, y.stride, tb};
        product_rows(left, right, z.data() + t / tiles * s.m * s.n, s, first, last);
      }
    });
  });
}

}  // namespace

Array matmul(const Array& a, const Array& b, Trans ta, Trans tb) {
  check_same_dtype(a, b, "matmul");
  const Sizes s = sizes_of(a, b, ta, tb);
  return dispatch_float(a.dtype(), "matmul",
                        [&](auto tag) { return multiply<decltype(tag)>(a, b, ta, tb, s); });
}

}  // namespace autograd
