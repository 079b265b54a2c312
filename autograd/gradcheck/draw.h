#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "autograd/tensor.h"

namespace autograd {

/// Random shapes and inputs for one trial. The same seed and trial give the same draws, and under
/// f32 the same numbers as under f64 (all of them are exact in f32). Float tensors require a
/// gradient.
///
/// Any four trials in a row have each sort of length that a loop may treat in its own way, so that
/// no sweep leaves one out. By trial mod 8:
///
///     1     a last dim of 65 to 80      beyond the lanes and vectors of any loop, with a tail
///     2     a last dim of 17 to 32
///     3     a last dim of 257 to 300    beyond chunks and tiles; is_large(): thousands of
///     elements,
///                                       so that gradcheck samples and loops run on several threads
///     5     a dim of 0, where the case allows it
///     6, 7  33 to 64, and 65 to 80, as any dim
///     0, 4  small shapes of all kinds
class Draw {
 public:
  Draw(std::uint64_t seed, int trial, DType dtype = DType::f64);

  int trial() const { return trial_; }
  bool is_large() const { return trial_ % 8 == 3; }
  bool has_long_row() const { return trial_ % 4 != 0 && trial_ % 8 != 5; }
  /// A length for the long dim of this trial: see above. Small in the other trials.
  Index row();
  DType dtype() const { return dtype_; }         // for modules and constants of a case
  Generator& generator() { return generator_; }  // for anything else random

  Index integer(Index lo, Index hi);    // in [lo, hi]
  double number(double lo, double hi);  // in [lo, hi)
  bool chance(double p) { return number(0, 1) < p; }

  /// A size from 0 to min(65, most): 1 and sizes around vector widths (7, 8, 9, 63, 64, 65, ...)
  /// often, 0 seldom.
  Index size(Index most = 65);
  Index positive_size(Index most = 65);  // the same from 1
  /// A rank of lo_rank to hi_rank, and at most max_numel() elements.
  Shape shape(int lo_rank = 0, int hi_rank = 4);
  Shape nonempty_shape(int lo_rank = 0, int hi_rank = 4);
  Index max_numel() const {
    return is_large() ? 10000 : has_long_row() && trial_ % 8 != 2 ? 600 : 120;
  }
  /// Dims to stand before rows of that width: at most max_numel() elements in all.
  Shape leading(Index width, int hi_rank = 2);
  /// Two shapes that broadcast together: each axis the same in both, 1 in either, or missing.
  std::pair<Shape, Shape> broadcast_pair();
  Shape broadcastable_to(const Shape& shape);  // some axes 1, some leading ones missing
  /// In [-rank, rank), the longest one where there is a long row; rank at least 1.
  int dim(const Shape& shape);
  /// A subset of the dims, possibly none, which stands for all of them; the longest is among them
  /// where there is a long row.
  std::vector<int> dims(const Shape& shape);

  Tensor normal(const Shape& shape);  // N(0, 1)
  Tensor uniform(const Shape& shape, double lo, double hi);
  Tensor positive(const Shape& shape) { return uniform(shape, 0.5, 2.5); }
  Tensor away_from_zero(const Shape& shape);        // |x| in [0.25, 2.25): clear of a kink at 0
  Tensor distinct(const Shape& shape);              // shuffled multiples of 1/128: no near ties
  Tensor mask(const Shape& shape, double p_true);   // b8
  Tensor indices(const Shape& shape, Index limit);  // i64 in [0, limit)

 private:
  Shape shape_from(int lo_rank, int hi_rank, bool nonempty);
  bool keeps_last() const { return trial_ % 8 == 1 || is_large(); }  // in each of several inputs
  Tensor leaf(const Array& f32_values);

  Generator generator_;
  int trial_;
  DType dtype_;
};

}  // namespace autograd
