#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <vector>

#include "autograd/array/array.h"

namespace autograd {

enum class KeepDim : bool { no, yes };

/// The dims that a function goes over: one, or several in braces or a vector; {} stands for all.
class Dims {
 public:
  Dims(std::initializer_list<int> dims = {}) : Dims(std::span(dims.begin(), dims.size())) {}
  Dims(int dim) : Dims({dim}) {}
  Dims(const std::vector<int>& dims) : Dims(std::span(dims)) {}
  Dims(std::span<const int> dims);  // ShapeError for more than there can be
  operator std::span<const int>() const { return {dims_.data(), count_}; }

 private:
  std::array<int, Shape::kMaxRank> dims_{};
  std::size_t count_ = 0;
};

/// A set of axes, one bit each.
class Axes {
 public:
  /// dims may be negative; none means all axes. ShapeError on a dim out of range or given twice.
  static Axes of(const Shape& shape, std::span<const int> dims, const char* op);
  static Axes one(int axis) { return Axes(1u << axis); }
  bool contains(int axis) const { return (bits_ >> axis) & 1u; }

 private:
  explicit Axes(unsigned bits) : bits_(bits) {}
  unsigned bits_;
};

/// `shape` without the axes, or with size 1 in their place.
Shape reduced(const Shape& shape, Axes axes, KeepDim keep);
/// How many elements make one of the result.
Index reduced_count(const Shape& shape, Axes axes);

/// Sums accumulate in double, in several lanes and fixed chunks: 2^25 float ones sum to 2^25, and
/// the bits do not depend on the thread count. A sum over nothing is 0. Of i64 and b8 it is an i64,
/// which wraps around.
Array sum(const Array& a, Axes axes, KeepDim keep);
Array sum(const Array& a, int dim, KeepDim keep);
Array sum(const Array& a);  // of everything, shape ()
/// The Euclidean norm of all elements, in double, whose squares may overflow or vanish; 0 of none.
double euclidean_norm(const Array& a);  // f32 or f64
template <class T>
Wide<T> euclidean_norm(std::span<const T> x);  // of dual numbers too
/// Largest and smallest elements; a NaN among them wins. ShapeError over an axis of size 0.
Array max(const Array& a, Axes axes, KeepDim keep);
Array min(const Array& a, Axes axes, KeepDim keep);
/// Position (i64) of the first largest element along an axis; the first NaN counts as the largest.
Array argmax(const Array& a, int axis, KeepDim keep);

/// `g` summed over the axes along which `shape` was broadcast to g's shape: the gradient of
/// broadcasting. Returns `g` itself where nothing was.
Array sum_to(const Array& g, const Shape& shape);

}  // namespace autograd
