#pragma once

#include "autograd/graph/observer.h"

namespace autograd {

/// While it lives, every op of this thread is watched, forward and backward: the first one that
/// makes a NaN from operands without one, or an infinity from finite operands, throws NumericError
/// with op, scope, shapes and the range of the operands. Infinities that an op passes on do not
/// count, nor does the fill value of masked_fill. Costs one pass over every operand.
class AnomalyGuard final : public Observer {
 public:
  void recorded(const Recording& recording) override;
  void returned(const Node& node, std::size_t edge, const Array& grad, const Array& part) override;
};

/// What one pass over an array sees. min and max leave NaN out; of nothing they are +inf and -inf.
struct Range {
  double min;
  double max;
  Index nans = 0;
  bool finite() const { return nans == 0 && (min > max || (min - min == 0 && max - max == 0)); }
};
Range range_of(const Array& a);
std::string describe(const Shape& shape, const Range& range);  // "(2, 3) in [-1, 4.5], 1 NaN"

}  // namespace autograd
