#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "autograd/tensor.h"

namespace autograd {

/// Random shapes and inputs for one trial. The same seed and trial give the same draws, and under
/// f32 the same numbers as under f64 (all of them are exact in f32). Float tensors require a
/// gradient. Most trials stay near 100 elements; every eighth (is_large()) allows thousands, so
/// that gradcheck samples and loops run on several threads.
class Draw {
 public:
  Draw(std::uint64_t seed, int trial, DType dtype = DType::f64);

  int trial() const { return trial_; }
  bool is_large() const { return trial_ % 8 == 7; }
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
  Index max_numel() const { return is_large() ? 10000 : trial_ % 8 == 3 ? 600 : 120; }
  /// Two shapes that broadcast together: each axis the same in both, 1 in either, or missing.
  std::pair<Shape, Shape> broadcast_pair();
  Shape broadcastable_to(const Shape& shape);  // some axes 1, some leading ones missing
  int dim(const Shape& shape);                 // in [-rank, rank); rank at least 1
  std::vector<int> dims(const Shape& shape);   // a subset of the dims, possibly none

  Tensor normal(const Shape& shape);  // N(0, 1)
  Tensor uniform(const Shape& shape, double lo, double hi);
  Tensor positive(const Shape& shape) { return uniform(shape, 0.5, 2.5); }
  Tensor away_from_zero(const Shape& shape);        // |x| in [0.25, 2.25): clear of a kink at 0
  Tensor distinct(const Shape& shape);              // shuffled multiples of 1/128: no near ties
  Tensor mask(const Shape& shape, double p_true);   // b8
  Tensor indices(const Shape& shape, Index limit);  // i64 in [0, limit)

 private:
  Shape shape_from(int lo_rank, int hi_rank, bool nonempty);
  Tensor leaf(const Array& f32_values);

  Generator generator_;
  int trial_;
  DType dtype_;
};

}  // namespace autograd
