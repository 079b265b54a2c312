#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "autograd/machine/gemm.h"
#include "autograd/machine/parallel.h"
#include "autograd/machine/pool.h"
#include "autograd/machine/vector_math.h"
#include "autograd/ops.h"

// What both directions of fused_attention have in common: where the operands lie, and the scores of
// one head, a tile at a time.

namespace autograd::attention_tiles {

inline constexpr Index kQueries = 128, kKeys = 256;  // per tile: 128 KiB of scores in f32, in L2

/// Where the matrix of each head begins, and the elements between two of its rows and columns; 0
/// where it repeats. Heads may share a matrix.
struct Matrices {
  std::vector<Index> starts;
  Index row, column = 1;
};
struct Operands {
  Matrices q, k, v, bias;  // (T, D), (S, D), (S, E), (T, S); no starts where there is no bias
};

struct Layout {
  Index heads, T, S, D, E;
  Operands in, grad;  // of the gradients no two heads share a matrix
  Matrices out;       // (T, E)
  Index grain() const {
    return std::max<Index>(1, 6 * elements_per_piece() / std::max<Index>(1, T * S * D));
  }
};

/// The operands, or their gradients, in memory.
template <class T>
struct Pointers {
  T *q, *k, *v, *bias;
};

struct TileOptions {
  double scale, softcap;
  Causal causal;
  Index offset;   // of the first query among the keys
  double p;       // of dropout
  RandomKey key;  // of its mask, which is that of dropout() on (..., T, S)
};

/// Where a tile of scores lies in the (T, S) matrix of its head.
struct Tile {
  Index row, rows, column, columns;
};

/// n rounded up to a multiple of 16, at most the tile's columns: loops over whole vectors are
/// faster, and what they compute beyond n is overwritten.
inline Index whole_vectors(const Tile& t, Index n) {
  return std::min(t.columns, (n + 15) / 16 * 16);
}

/// Memory for the tiles of one head, not initialised. Half a page lies between them: where equal
/// places of two tiles are whole pages apart, the processor takes loads from one for loads of what
/// was just stored to the other, and waits.
template <class T>
class TileRooms {
 public:
  T* operator[](int i) { return rooms_->at[i].values; }

 private:
  struct Room {
    alignas(pool::kAlignment) T values[kQueries * kKeys];
    std::byte gap[2048 + pool::kAlignment];
  };
  struct Rooms {
    Room at[4];
  };
  struct Release {
    void operator()(Rooms* rooms) const { pool::release(rooms, sizeof(Rooms)); }
  };
  std::unique_ptr<Rooms, Release> rooms_{::new (pool::allocate(sizeof(Rooms))) Rooms};
};

template <class T>
class Head {
 public:
  Head(const Layout& layout, const TileOptions& options, const Pointers<const T>& from, Index head)
      : l_(layout), s_(options), from_(from), head_(head) {}

  Matrix<T> queries(Index row) const { return rows_of(from_.q, l_.in.q, row, Trans::no); }
  Matrix<T> keys(Index row, Trans trans = Trans::no) const {
    return rows_of(from_.k, l_.in.k, row, trans);
  }
  Matrix<T> values(Index row, Trans trans = Trans::no) const {
    return rows_of(from_.v, l_.in.v, row, trans);
  }
  T* scores() { return rooms_[0]; }

  /// Columns that queries up to row `last` look at.
  Index seen(Index last) const {
    return s_.causal == Causal::yes ? std::min(l_.S, s_.offset + last + 1) : l_.S;
  }

  /// How many columns of a tile the query of its row i may look at; they are the first ones. None
  /// where the tile has later rows that look at it.
  Index seen(const Tile& t, Index i) const {
    if (s_.causal == Causal::no) return t.columns;
    return std::clamp<Index>(s_.offset + t.row + i + 1 - t.column, 0, t.columns);
  }

  /// The scores of a tile, of keys that a query may not look at too. `slopes`, unless null, become
  /// the derivatives of capped scores.
  void compute_scores(const Tile& t, T* slopes = nullptr) {
    gemm<T>(t.rows, t.columns, l_.D, static_cast<T>(s_.scale), queries(t.row),
            keys(t.column, Trans::yes), T(0), scores(), kKeys);
    for (Index i = 0; s_.softcap > 0 && i < t.rows; ++i) {
      cap(scores() + i * kKeys, t.columns, slopes ? slopes + i * kKeys : nullptr);
    }
    for (Index i = 0; from_.bias && i < t.rows; ++i) add_bias(t, i);
  }

  /// Multiplies a tile by what dropout does to it.
  void drop(const Tile& t, T* values) const {
    if (s_.p == 0) return;
    bool keep[kKeys];
    const T factor = s_.p < 1 ? T(1) / static_cast<T>(1 - s_.p) : T(0);
    for (Index i = 0; i < t.rows; ++i) {
      keep_mask(keep, (head_ * l_.T + t.row + i) * l_.S + t.column, t.columns, s_.p, s_.key);
      for (Index j = 0; j < t.columns; ++j) {
        T& v = values[i * kKeys + j];
        v = keep[j] ? v * factor : T(0);
      }
    }
  }

 private:
  Matrix<T> rows_of(const T* base, const Matrices& m, Index row, Trans trans) const {
    return {base + m.starts[head_] + row * m.row, m.row, trans};
  }

  /// c tanh(s / c). Its derivative is computed as that of the op tanh.
  void cap(T* row, Index n, T* slopes) const {
    const T c = static_cast<T>(s_.softcap);
    for (Index j = 0; slopes && j < n; ++j) {
      const T x = row[j] / c, e = vector_math::exp(T(2) * (x < T(0) ? x : -x));
      const T share = T(1) / (T(1) + e);
      slopes[j] = T(4) * e * share * share;
    }
    for (Index j = 0; j < n; ++j) row[j] = c * vector_math::tanh(row[j] / c);
  }

  void add_bias(const Tile& t, Index i) {
    const Matrices& m = l_.in.bias;
    const T* bias = from_.bias + m.starts[head_] + (t.row + i) * m.row + t.column * m.column;
    T* row = scores() + i * kKeys;
    if (m.column == 0) {
      for (Index j = 0; j < t.columns; ++j) row[j] += *bias;
    } else {
      for (Index j = 0; j < t.columns; ++j) row[j] += bias[j];
    }
  }

 protected:
  const Layout& l_;
  const TileOptions& s_;
  const Pointers<const T>& from_;
  Index head_;
  TileRooms<T> rooms_;
};

}  // namespace autograd::attention_tiles
