#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include "autograd/machine/gemm.h"
#include "autograd/machine/parallel.h"
#include "autograd/machine/pool.h"
#include "autograd/ops.h"

// What both directions of fused_attention have in common: the layout, and the scores of one head, a
// tile at a time.

namespace autograd::attention_tiles {

inline constexpr Index kQueries = 128, kKeys = 256;  // per tile: 128 KiB of scores in f32, in L2
static_assert(kKeys % kQueries == 0);  // so every query of a causal tile looks at its first key

/// The qkv projection, (B, T, 3 C) with heads side by side in each of q, k, v.
struct Layout {
  Index B, T, C, H, D;
  Index width() const { return 3 * C; }
  Index heads() const { return B * H; }
  Index grain() const {
    return std::max<Index>(1, 6 * elements_per_piece() / std::max<Index>(1, T * T * D));
  }
  Index at(Index head, Index part) const {  // part 0, 1, 2: first element of q, k, v of a head
    return head / H * T * width() + part * C + head % H * D;
  }
  Index out_at(Index head) const { return head / H * T * C + head % H * D; }
};

struct TileOptions {
  double scale;
  Causal causal;
  double p;       // of dropout
  RandomKey key;  // of its mask, which is that of dropout() on (B, H, T, T)
};

/// Where a tile of scores lies in the (T, T) matrix of its head.
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
    Room at[3];
  };
  struct Release {
    void operator()(Rooms* rooms) const { pool::release(rooms, sizeof(Rooms)); }
  };
  std::unique_ptr<Rooms, Release> rooms_{::new (pool::allocate(sizeof(Rooms))) Rooms};
};

template <class T>
class Head {
 public:
  Head(const Layout& layout, const TileOptions& options, const T* qkv, Index head)
      : l_(layout), s_(options), qkv_(qkv), head_(head) {}

  Matrix<T> part(Index which, Index row, Trans trans = Trans::no) const {
    return {qkv_ + l_.at(head_, which) + row * l_.width(), l_.width(), trans};
  }
  T* scores() { return rooms_[0]; }

  /// Columns that queries up to row `last` look at.
  Index seen(Index last) const { return s_.causal == Causal::yes ? last + 1 : l_.T; }

  /// How many columns of a tile the query of its row i may look at; they are the first ones.
  Index seen(const Tile& t, Index i) const {
    if (s_.causal == Causal::no) return t.columns;
    return std::clamp<Index>(t.row + i + 1 - t.column, 0, t.columns);
  }

  /// scale q k^T of a tile, of keys that a query may not look at too.
  void compute_scores(const Tile& t) {
    gemm<T>(t.rows, t.columns, l_.D, static_cast<T>(s_.scale), part(0, t.row),
            part(1, t.column, Trans::yes), T(0), scores(), kKeys);
  }

  /// Multiplies a tile by what dropout does to it.
  void drop(const Tile& t, T* values) const {
    if (s_.p == 0) return;
    bool keep[kKeys];
    const T factor = s_.p < 1 ? T(1) / static_cast<T>(1 - s_.p) : T(0);
    for (Index i = 0; i < t.rows; ++i) {
      keep_mask(keep, (head_ * l_.T + t.row + i) * l_.T + t.column, t.columns, s_.p, s_.key);
      for (Index j = 0; j < t.columns; ++j) {
        T& v = values[i * kKeys + j];
        v = keep[j] ? v * factor : T(0);
      }
    }
  }

 protected:
  const Layout& l_;
  const TileOptions& s_;
  const T* qkv_;
  Index head_;
  TileRooms<T> rooms_;
};

}  // namespace autograd::attention_tiles
