#pragma once

#include <span>

#include "autograd/array/array.h"

namespace autograd {

// All of these copy, whatever the dtype, for an Array is always contiguous. Strides would save the
// copies and cost every loop in the engine the question of how its operands lie.

Array permute(const Array& a, std::span<const int> axes);  // result axis i is a's axis axes[i]
Array transpose(const Array& a, int axis0, int axis1);
Array expand(const Array& a, const Shape& shape);  // ShapeError unless a broadcasts to it
Array narrow(const Array& a, int axis, Index start, Index length);
Array concat(std::span<const Array> parts, int axis);
/// into[start : start + length along axis] += g, where g has that part's shape; floats.
void add_to_narrow(Array& into, const Array& g, int axis, Index start);
/// `before` and `after` elements of `value` more at the ends of each axis, or fewer where negative.
Array pad(const Array& a, const Strides& before, const Strides& after, double value);
/// Windows of `size` elements along an axis, one every `step`, as a last axis.
Array unfold(const Array& a, int axis, Index size, Index step);
/// into += g, every window at its place; g has the shape that unfold() makes of `into`; floats.
void add_unfolded(Array& into, const Array& g, int axis, Index step);
/// The elements with column <= row + diagonal in the last two axes; 0 elsewhere.
Array tril(const Array& a, Index diagonal = 0);

}  // namespace autograd
