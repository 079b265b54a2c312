#pragma once

#include <algorithm>
#include <limits>

#include "autograd/machine/lanes.h"
#include "autograd/ops/attention_head.h"

namespace autograd::attention_tiles {

// Dao, Fu, Ermon, Rudra and Re, "FlashAttention" (2022). Why: attention as five ops writes and
// reads (T, S) matrices of scores and weights, which at T = 2048 no cache holds, and saves them for
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
template <class T>
class ForwardHead : Head<T> {
 public:
  using Head<T>::Head;

  /// Output (rows, E) of queries [row, row + rows), and what makes weights of their scores again:
  /// the largest, and 1 / the sum of exp(score - largest). The log of the sum alone would be
  /// rounded to the size of the largest.
  void run(Index row, Index rows, T* out, T* norms) {
    const Index E = l_.E, stride = l_.out.row, columns = this->seen(row + rows - 1);
    for (Index column = 0; column < columns; column += kKeys) {
      const Tile tile{row, rows, column, std::min(kKeys, columns - column)};
      this->compute_scores(tile);
      for (Index i = 0; i < rows; ++i) {
        const T rescale = absorb(tile, i, column == 0);
        if (column == 0) continue;
        for (Index e = 0; e < E; ++e) out[i * stride + e] *= rescale;
      }
      this->drop(tile, this->scores());
      gemm<T>(rows, E, tile.columns, T(1), {this->scores(), kKeys}, this->values(column),
              column == 0 ? T(0) : T(1), out, stride);
    }
    for (Index i = 0; i < rows; ++i) {
      if (columns == 0) {  // no key at all
        std::fill_n(out + i * stride, E, T(0));
        top_[i] = T(0), sum_[i] = T(1);
      }
      const T share = T(1) / sum_[i];
      for (Index e = 0; e < E; ++e) out[i * stride + e] *= share;
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
    if (n == 0) {  // not in the first tile, as every query sees key 0
      std::fill_n(row, t.columns, T(0));
      return T(1);
    }
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

  using Head<T>::Head;

  /// The gradients of this head's q, k, v and bias.
  void run(const Given& given, const Pointers<T>& to) {
    clear(to);
    for (Index row = 0; row < l_.T; row += kQueries) {
      const Index rows = std::min(kQueries, l_.T - row), columns = this->seen(row + rows - 1);
      for (Index column = 0; column < columns; column += kKeys) {
        add_tile({row, rows, column, std::min(kKeys, columns - column)}, given, to);
      }
    }
  }

 private:
  using Head<T>::l_;
  using Head<T>::s_;

  /// Whether the first tiles of queries look at every key.
  bool first_row_meets_all() const {
    return l_.T > 0 && this->seen(std::min(l_.T, kQueries) - 1) == l_.S;
  }

  T* at(T* base, const Matrices& m, Index row, Index column = 0) const {
    return base + m.starts[this->head_] + row * m.row + column * m.column;
  }

  /// Zeros where the tiles only add.
  void clear(const Pointers<T>& to) const {
    for (Index s = 0; !first_row_meets_all() && s < l_.S; ++s) {
      std::fill_n(at(to.k, l_.grad.k, s), l_.D, T(0));
      std::fill_n(at(to.v, l_.grad.v, s), l_.E, T(0));
    }
    for (Index t = 0; l_.S == 0 && t < l_.T; ++t) std::fill_n(at(to.q, l_.grad.q, t), l_.D, T(0));
    const Matrices& bias = l_.grad.bias;
    for (Index t = 0; to.bias && t < (bias.row == 0 ? 1 : l_.T); ++t) {
      std::fill_n(at(to.bias, bias, t), bias.column == 0 ? 1 : l_.S, T(0));
    }
  }

  void add_tile(const Tile& t, const Given& given, const Pointers<T>& to) {
    const Index at_out = l_.out.starts[this->head_] + t.row * l_.out.row;
    const Matrix<T> grad{given.grad + at_out, l_.out.row};
    T *weights = this->scores(), *grads = this->rooms_[1];
    weights_from_scores(t, given.norms + 2 * (this->head_ * l_.T + t.row));
    const T* dropped = weights;
    if (s_.p > 0) {
      std::copy_n(weights, t.rows * kKeys, this->rooms_[2]);
      this->drop(t, this->rooms_[2]);
      dropped = this->rooms_[2];
    }
    const Matrices &q = l_.grad.q, &k = l_.grad.k, &v = l_.grad.v;
    const T so_far_q = t.column == 0 ? T(0) : T(1);
    const T so_far_kv = t.row == 0 && first_row_meets_all() ? T(0) : T(1);
    gemm<T>(t.columns, l_.E, t.rows, T(1), {dropped, kKeys, Trans::yes}, grad, so_far_kv,
            at(to.v, v, t.column), v.row);
    gemm<T>(t.rows, t.columns, l_.E, T(1), grad, this->values(t.column, Trans::yes), T(0), grads,
            kKeys);
    this->drop(t, grads);
    through_softmax(t, given.out + at_out, given.grad + at_out, grads, to.bias);
    gemm<T>(t.rows, l_.D, t.columns, T(1), {grads, kKeys}, this->keys(t.column), so_far_q,
            at(to.q, q, t.row), q.row);
    gemm<T>(t.columns, l_.D, t.rows, T(1), {grads, kKeys, Trans::yes}, this->queries(t.row),
            so_far_kv, at(to.k, k, t.column), k.row);
  }

  /// The scores of a tile and then, in their place, the weights.
  void weights_from_scores(const Tile& t, const T* norms) {
    this->compute_scores(t, slopes());
    for (Index i = 0; i < t.rows; ++i) {
      T* row = this->scores() + i * kKeys;
      const Index n = this->seen(t, i), whole = whole_vectors(t, n);
      const T top = norms[2 * i], share = norms[2 * i + 1];
      for (Index j = 0; j < whole; ++j) row[j] = vector_math::exp(row[j] - top) * share;
      std::fill(row + n, row + t.columns, T(0));
    }
  }

  /// `grads` becomes scale * weights * (grads - out . grad), the gradient of q k^T, times the
  /// slopes where the scores are capped.
  void through_softmax(const Tile& t, const T* out, const T* grad, T* grads, T* bias) {
    const T a = static_cast<T>(s_.scale);
    for (Index i = 0; i < t.rows; ++i) {
      const T *y = out + i * l_.out.row, *g = grad + i * l_.out.row;
      const T *weights = this->scores() + i * kKeys, *slope = slopes() + i * kKeys;
      T* row = grads + i * kKeys;
      const Index n = this->seen(t, i);
      const T dot = static_cast<T>(sum_of(l_.E, [y, g](Index e) { return y[e] * g[e]; }));
      if (bias) {
        T* to = at(bias, l_.grad.bias, t.row + i, t.column);
        add_to_bias(to, n, [=](Index j) { return weights[j] * (row[j] - dot); });
      }
      for (Index j = 0; j < n; ++j) row[j] = a * weights[j] * (row[j] - dot);
      for (Index j = 0; s_.softcap > 0 && j < n; ++j) row[j] *= slope[j];
      std::fill(row + n, row + t.columns, T(0));
    }
  }

  template <class F>
  void add_to_bias(T* to, Index n, F gradient) const {
    if (l_.grad.bias.column == 0) {
      *to += static_cast<T>(sum_of(n, gradient));
    } else {
      for (Index j = 0; j < n; ++j) to[j] += gradient(j);
    }
  }

  T* slopes() { return this->rooms_[3]; }
};

}  // namespace autograd::attention_tiles
