#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>

namespace autograd {

using Index = std::ptrdiff_t;

/// The sizes of an array, outermost first; rank 0 is a scalar. Held inline, up to kMaxRank of them.
/// A negative size, more than kMaxRank sizes, or an element count that does not fit throws
/// ShapeError on construction, so every Shape that exists has a true numel().
class Shape {
 public:
  static constexpr int kMaxRank = 8;
  using Strides = std::array<Index, kMaxRank>;

  Shape() = default;
  Shape(std::initializer_list<Index> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}
  explicit Shape(std::span<const Index> sizes);

  int rank() const { return rank_; }
  Index numel() const { return numel_; }
  /// Size of an axis in [0, rank); for negative dims go through axis().
  Index operator[](int axis) const { return sizes_[axis]; }
  std::span<const Index> sizes() const { return {sizes_.data(), static_cast<std::size_t>(rank_)}; }

  /// dim in [-rank, rank) as an axis in [0, rank); ShapeError in the name of `op` otherwise.
  int axis(int dim, const char* op) const;
  /// Row-major strides in elements.
  Strides strides() const;

  Shape with(int axis, Index size) const;      // one size replaced
  Shape without(int axis) const;               // one axis dropped
  Shape inserted(int axis, Index size) const;  // one axis more, before `axis`

  std::string str() const;  // "(2, 8, 768)", "(3,)", "()"
  friend bool operator==(const Shape& a, const Shape& b);

 private:
  std::array<Index, kMaxRank> sizes_{};
  Index numel_ = 1;
  int rank_ = 0;
};

using Strides = Shape::Strides;

/// a * b; ShapeError in the name of `what` if that does not fit into Index. Both are >= 0.
Index checked_product(Index a, Index b, const char* what);

/// NumPy's rule: align at the right, sizes equal or one of them 1. ShapeError names op and shapes.
Shape broadcast(const Shape& a, const Shape& b, const char* op);
/// Whether `from` broadcasts to exactly `to`.
bool broadcasts_to(const Shape& from, const Shape& to);

}  // namespace autograd
