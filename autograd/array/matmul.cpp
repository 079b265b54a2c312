#include "autograd/array/matmul.h"

#include <algorithm>
#include <optional>

#include "autograd/array/elementwise.h"
#include "autograd/machine/gemm.h"
#include "autograd/machine/parallel.h"

namespace autograd {
namespace {

// One matrix product with sizes (m, k) x (k, n) in row-major memory.
struct Sizes {
  Index m, k, n;
};

// Rows and columns of a product that one call of the library computes.
struct ResultTile {
  Index rows, columns;
};

Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

// About eight tiles of a large product, as threads are of unequal speed, of a megaflop or more. A
// tile packs its part of both operands. To pack a transposed right operand costs the most, so there
// the tiles split columns, and rows too where columns do not give enough of them.
ResultTile tile_of(const Sizes& s, Trans tb) {
  const Index flops_a_row = std::max<Index>(1, 2 * s.k * s.n);
  const auto whole = [](Index n) { return ceil_div(n, 16) * 16; };
  if (tb == Trans::no) {
    return {whole(std::max<Index>({64, ceil_div(s.m, 8), 1'000'000 / flops_a_row})), s.n};
  }
  const Index megaflops = s.m * flops_a_row / 1'000'000;
  const Index tiles =
      std::clamp<Index>(megaflops < 160 ? std::min<Index>(4, megaflops / 2) : megaflops / 40, 1, 8);
  const Index across = std::clamp<Index>(s.n / 64, 1, tiles);
  const Index down = std::clamp<Index>(s.m / 64, 1, ceil_div(tiles, across));
  return {whole(ceil_div(s.m, down)), whole(ceil_div(s.n, across))};
}

// How the leading axes of a product pair up its matrices: offsets in matrices, 0 where one repeats.
BroadcastPlan plan_batch(const Array& a, const Array& b) {
  const auto leading = [](const Array& x) {
    return Shape(x.shape().sizes().first(static_cast<std::size_t>(x.rank() - 2)));
  };
  try {
    return plan_broadcast(leading(a), leading(b), "matmul");
  } catch (const ShapeError&) {  // which names the leading dims alone
    fail<ShapeError>("matmul: expected leading dims that broadcast, got {} and {}", a.shape().str(),
                     b.shape().str());
  }
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
  const ResultTile tile = tile_of(s, tb);
  const Index across = ceil_div(s.n, tile.columns), tiles = ceil_div(s.m, tile.rows) * across;
  const Index grain = std::max<Index>(
      1, 500'000 / (2 * std::min(tile.rows, s.m) * s.k * std::min(tile.columns, s.n)));
  std::optional<LibraryCall> calls;  // one for all pieces, where there are several
  if (count * tiles > grain) calls.emplace();
  return Array::build<T>(shape, [&](std::span<T> z) {
    parallel_for(count * tiles, grain, [&](Index begin, Index end) {
      for (Index t = begin; t < end; ++t) {
        Index ia = 0, ib = 0, rest = t / tiles;
        for (int i = batch.rank - 1; i >= 0 && count > 1; --i) {
          ia += rest % batch.size[i] * batch.a_stride[i];
          ib += rest % batch.size[i] * batch.b_stride[i];
          rest /= batch.size[i];
        }
        const Index row = t % tiles / across * tile.rows, column = t % across * tile.columns;
        const Matrix<T> left{x.data + ia * s.m * s.k + row * (ta == Trans::yes ? 1 : x.stride),
                             x.stride, ta};
        const Matrix<T> right{y.data + ib * s.k * s.n + column * (tb == Trans::yes ? y.stride : 1),
                              y.stride, tb};
        gemm<T>(std::min(tile.rows, s.m - row), std::min(tile.columns, s.n - column), s.k, T(1),
                left, right, T(0), z.data() + t / tiles * s.m * s.n + row * s.n + column, s.n);
      }
    });
  });
}

}  // namespace

Array matmul(const Array& a, const Array& b, Trans ta, Trans tb) {
  if (a.dtype() != b.dtype()) {
    const Pair same = in_one_dtype(a, b, "matmul");
    return matmul(same.a, same.b, ta, tb);
  }
  const Sizes s = sizes_of(a, b, ta, tb);
  return dispatch_float(a.dtype(), "matmul",
                        [&](auto tag) { return multiply<decltype(tag)>(a, b, ta, tb, s); });
}

}  // namespace autograd
