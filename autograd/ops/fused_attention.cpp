#include <algorithm>
#include <limits>

#include "autograd/machine/lanes.h"
#include "autograd/machine/vector_math.h"
#include "autograd/ops/attention_head.h"

namespace autograd {

// Dao, Fu, Ermon, Rudra and Re, "FlashAttention" (2022). Why: attention as five ops writes and
// reads (T, T) matrices of scores and weights, which at T = 2048 no cache holds, and saves them for
// backward. Here the scores of a tile of queries against a tile of keys live in a small buffer.
//
// The difficulty is softmax, which needs the maximum and the sum of a whole row before its first
// weight is known. So a row keeps the largest score so far, m, and s = sum exp(score - m) and
// o = sum exp(score - m) v over what it has seen. A tile with a larger maximum m' first shrinks
// both by exp(m - m'), as if m' had been subtracted from the start; after the last tile o / s is
// the output. Nothing is approximate.
//
// Backward computes the scores again instead of keeping them, and the weights p from the m and 1 /
// s of each row, which are kept. With g the gradient of the output y = p v:
//
//     dv = p^T g,   dp = g v^T,   dscores = (diag(p) - p p^T) dp = p * (dp - (p . dp)),
//
// row by row as in softmax, and p . dp = (p v) . g = y . g needs no second pass over the tiles.
namespace {

using namespace attention_tiles;

template <class T>
class ForwardHead : Head<T> {
 public:
  ForwardHead(const Layout& layout, const TileOptions& options, const T* qkv, Index head)
      : Head<T>(layout, options, qkv, head) {}

  /// Output (rows, D) of queries [row, row + rows), and what makes weights of their scores again:
  /// the largest, and 1 / the sum of exp(score - largest). The log of the sum alone would be
  /// rounded to the size of the largest.
  void run(Index row, Index rows, T* out, T* norms) {
    const Index D = l_.D, columns = this->seen(row + rows - 1);
    for (Index column = 0; column < columns; column += kKeys) {
      const Tile tile{row, rows, column, std::min(kKeys, columns - column)};
      this->compute_scores(tile);
      for (Index i = 0; i < rows; ++i) {
        const T rescale = absorb(tile, i, column == 0);
        if (column == 0) continue;
        for (Index d = 0; d < D; ++d) out[i * l_.C + d] *= rescale;
      }
      this->drop(tile, this->scores());
      gemm<T>(rows, D, tile.columns, T(1), {this->scores(), kKeys}, this->part(2, column),
              column == 0 ? T(0) : T(1), out, l_.C);
    }
    for (Index i = 0; i < rows; ++i) {
      const T share = T(1) / sum_[i];
      for (Index d = 0; d < D; ++d) out[i * l_.C + d] *= share;
      norms[2 * i] = top_[i];
      norms[2 * i + 1] = share;
    }
  }

 private:
  using Head<T>::l_;

  /// Scores of row i become exp(score - maximum so far), 0 where its query may not look; what the
  /// sums so far shrink by.
  T absorb(const Tile& t, Index i, bool first) {
    T* row = this->scores() + i * kKeys;
    const Index n = this->seen(t, i);
    T top = max_of(row, n);
    if (!first && !(top > top_[i])) top = top_[i];
    if (top == kNone) {  // nothing so far, or NaN, which stays
      for (Index j = 0; j < n; ++j) row[j] = row[j] == kNone ? T(0) : row[j];
    } else {
      const Index whole = whole_vectors(t, n);
      for (Index j = 0; j < whole; ++j) row[j] = vector_math::exp(row[j] - top);
    }
    std::fill(row + n, row + t.columns, T(0));
    const T rescale = first || top == kNone ? T(0) : vector_math::exp(top_[i] - top);
    const T sum = static_cast<T>(sum_of(n, [row](Index j) { return row[j]; }));
    sum_[i] = (first ? T(0) : sum_[i] * rescale) + sum;
    top_[i] = top;
    return rescale;
  }

  static constexpr T kNone = -std::numeric_limits<T>::infinity();
  T top_[kQueries], sum_[kQueries];
};

template <class T>
class BackwardHead : Head<T> {
 public:
  struct Given {
    const T *out, *norms, *grad;  // of the whole layer
  };

  BackwardHead(const Layout& layout, const TileOptions& options, const T* qkv, Index head)
      : Head<T>(layout, options, qkv, head) {}

  /// The gradients of this head's q, k and v, into its part of a (B, T, 3 C) array.
  void run(const Given& given, T* into) {
    if (!first_row_meets_all()) {
      for (Index t = 0; t < l_.T; ++t) {
        std::fill_n(to(into, 1, t), l_.D, T(0));
        std::fill_n(to(into, 2, t), l_.D, T(0));
      }
    }
    for (Index row = 0; row < l_.T; row += kQueries) {
      const Index rows = std::min(kQueries, l_.T - row), columns = this->seen(row + rows - 1);
      for (Index column = 0; column < columns; column += kKeys) {
        add_tile({row, rows, column, std::min(kKeys, columns - column)}, given, into);
      }
    }
  }

 private:
  using Head<T>::l_;
  using Head<T>::s_;

  /// Whether the first tiles of queries look at every key.
  bool first_row_meets_all() const { return s_.causal == Causal::no || l_.T <= kQueries; }

  T* to(T* into, Index part, Index row) const {
    return into + l_.at(this->head_, part) + row * l_.width();
  }

  void add_tile(const Tile& t, const Given& given, T* into) {
    const Index D = l_.D, at = l_.out_at(this->head_) + t.row * l_.C;
    const Matrix<T> grad{given.grad + at, l_.C};
    T *weights = this->scores(), *grads = this->rooms_[1];
    weights_from_scores(t, given.norms + 2 * (this->head_ * l_.T + t.row));
    const T* dropped = weights;
    if (s_.p > 0) {
      std::copy_n(weights, t.rows * kKeys, this->rooms_[2]);
      this->drop(t, this->rooms_[2]);
      dropped = this->rooms_[2];
    }
    const Index width = l_.width();
    const T so_far_q = t.column == 0 ? T(0) : T(1);
    const T so_far_kv = t.row == 0 && first_row_meets_all() ? T(0) : T(1);
    gemm<T>(t.columns, D, t.rows, T(1), {dropped, kKeys, Trans::yes}, grad, so_far_kv,
            to(into, 2, t.column), width);
    gemm<T>(t.rows, t.columns, D, T(1), grad, this->part(2, t.column, Trans::yes), T(0), grads,
            kKeys);
    this->drop(t, grads);
    through_softmax(t, given.out + at, given.grad + at, grads);
    gemm<T>(t.rows, D, t.columns, T(1), {grads, kKeys}, this->part(1, t.column), so_far_q,
            to(into, 0, t.row), width);
    gemm<T>(t.columns, D, t.rows, T(1), {grads, kKeys, Trans::yes}, this->part(0, t.row), so_far_kv,
            to(into, 1, t.column), width);
  }

  /// The scores of a tile and then, in their place, the weights.
  void weights_from_scores(const Tile& t, const T* norms) {
    this->compute_scores(t);
    for (Index i = 0; i < t.rows; ++i) {
      T* row = this->scores() + i * kKeys;
      const Index n = this->seen(t, i), whole = whole_vectors(t, n);
      const T top = norms[2 * i], share = norms[2 * i + 1];
      for (Index j = 0; j < whole; ++j) row[j] = vector_math::exp(row[j] - top) * share;
      std::fill(row + n, row + t.columns, T(0));
    }
  }

  /// `grads` becomes scale * weights * (grads - out . grad), the gradient of q k^T.
  void through_softmax(const Tile& t, const T* out, const T* grad, T* grads) {
    const T a = static_cast<T>(s_.scale);
    for (Index i = 0; i < t.rows; ++i) {
      const T *y = out + i * l_.C, *g = grad + i * l_.C, *weights = this->scores() + i * kKeys;
      T* row = grads + i * kKeys;
      const Index n = this->seen(t, i);
      const T dot = static_cast<T>(sum_of(l_.D, [y, g](Index d) { return y[d] * g[d]; }));
      for (Index j = 0; j < n; ++j) row[j] = a * weights[j] * (row[j] - dot);
      std::fill(row + n, row + t.columns, T(0));
    }
  }
};

Layout layout_of(const Tensor& qkv, Index n_head) {
  const auto [B, T, width] = qkv.dims<3>("fused_attention: qkv is (B, T, 3 C)");
  if (n_head < 1 || width % 3 != 0 || width / 3 % n_head != 0 || width == 0) {
    fail<ShapeError>(
        "fused_attention: expected qkv (B, T, 3 C) and heads that divide C, got {} and {}",
        qkv.shape().str(), n_head);
  }
  return {B, T, width / 3, n_head, width / 3 / n_head};
}

template <class T>
Array forward(const Array& qkv, const Layout& l, const TileOptions& s, Array& norms) {
  const T* from = qkv.read<T>().data();
  return Array::build<T>(Shape{l.B, l.T, l.C}, [&](std::span<T> out) {
    norms = Array::build<T>(Shape{l.heads(), l.T, 2}, [&](std::span<T> norms_out) {
      const Index tiles = (l.T + kQueries - 1) / kQueries;
      parallel_for(l.heads() * tiles, l.grain(), [&](Index begin, Index end) {
        const LibraryCall calls;  // one for all
        for (Index i = begin; i < end; ++i) {
          const Index head = i / tiles, row = i % tiles * kQueries;
          ForwardHead<T>(l, s, from, head)
              .run(row, std::min(kQueries, l.T - row), out.data() + l.out_at(head) + row * l.C,
                   norms_out.data() + 2 * (head * l.T + row));
        }
      });
    });
  });
}

template <class T>
Array backward(const Array& qkv, const Layout& l, const TileOptions& s, const Array& out,
               const Array& norms, const Array& g) {
  const T* from = qkv.read<T>().data();
  const typename BackwardHead<T>::Given given{out.read<T>().data(), norms.read<T>().data(),
                                              g.read<T>().data()};
  return Array::build<T>(qkv.shape(), [&](std::span<T> into) {
    parallel_for(l.heads(), l.grain(), [&](Index begin, Index end) {
      const LibraryCall calls;  // one for all
      for (Index head = begin; head < end; ++head) {
        BackwardHead<T>(l, s, from, head).run(given, into.data());
      }
    });
  });
}

}  // namespace

Tensor fused_attention(const Tensor& qkv, const FusedAttentionOptions& options) {
  const Layout l = layout_of(qkv, options.n_head);
  TileOptions s{options.scale, options.causal, options.dropout, {}};
  if (!(s.p >= 0 && s.p <= 1)) {
    fail<ValueError>("fused_attention: expected dropout in [0, 1], got {}", s.p);
  }
  if (s.p > 0) s.key = (options.generator ? *options.generator : default_generator()).next();
  const Array x = qkv.data();
  Array norms;
  const Array y = dispatch_float(x.dtype(), "fused_attention",
                                 [&](auto tag) { return forward<decltype(tag)>(x, l, s, norms); });
  return record("fused_attention", y,
                {{qkv, [x, l, s, y, norms](const Array& g) {
                    return dispatch_float(g.dtype(), "fused_attention", [&](auto tag) {
                      return backward<decltype(tag)>(x, l, s, y, norms, g);
                    });
                  }}});
}

}  // namespace autograd
