#include <cstdlib>
#include <limits>

#include "autograd/array/layout.h"
#include "autograd/ops.h"

namespace autograd {
namespace {

/// `before` and `after` of each axis, from PyTorch's pairs, the last dim's first.
struct Margins {
  Strides before{}, after{};
};

Margins margins_of(const Shape& shape, std::span<const Index> pad) {
  const auto dims = static_cast<int>(pad.size() / 2);
  if (pad.size() % 2 != 0 || dims > shape.rank()) {
    fail<ShapeError>("pad: expected two numbers for each of up to {} dims of {}, got {}",
                     shape.rank(), shape.str(), pad.size());
  }
  constexpr Index kMost = std::numeric_limits<Index>::max() / 8;  // their sums still fit
  Margins margins;
  for (int i = 0; i < dims; ++i) {
    const int axis = shape.rank() - 1 - i;
    const Index before = pad[2 * i], after = pad[2 * i + 1];
    const bool sane = std::abs(before / 2) < kMost && std::abs(after / 2) < kMost;
    if (!sane || shape[axis] + std::min<Index>(before, 0) + std::min<Index>(after, 0) < 0) {
      fail<ShapeError>(
          "pad: expected numbers that leave dim {} of {} a size of 0 or more, got {} and {}", axis,
          shape.str(), before, after);
    }
    margins.before[axis] = before;
    margins.after[axis] = after;
  }
  return margins;
}

}  // namespace

// What was added is cut off the gradient; what was cut off gets a gradient of 0.
Tensor pad(const Tensor& x, std::span<const Index> pad, double value) {
  const Margins margins = margins_of(x.shape(), pad);
  const auto rule = [margins](const Array& g) {
    Margins back;
    for (int i = 0; i < g.rank(); ++i) {
      back.before[i] = -margins.before[i];
      back.after[i] = -margins.after[i];
    }
    return autograd::pad(g, back.before, back.after, 0);
  };
  Input input[] = {{x, rule}};
  return record("pad", autograd::pad(x.data(), margins.before, margins.after, value), input,
                Fills::yes);
}

Tensor pad(const Tensor& x, std::initializer_list<Index> pad, double value) {
  return autograd::pad(x, std::span<const Index>(pad.begin(), pad.size()), value);
}

}  // namespace autograd
