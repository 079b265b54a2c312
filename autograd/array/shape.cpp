#include "autograd/array/shape.h"

#include <algorithm>
#include <limits>

#include "autograd/errors.h"

namespace autograd {
namespace {

std::string text_of(std::span<const Index> sizes) {
  std::string s = "(";
  for (std::size_t i = 0; i < sizes.size(); ++i) s += (i ? ", " : "") + fmt::format("{}", sizes[i]);
  return s + (sizes.size() == 1 ? ",)" : ")");
}

bool product_overflows(Index a, Index b) {
  return b != 0 && a > std::numeric_limits<Index>::max() / b;
}

}  // namespace

Shape::Shape(std::span<const Index> sizes) {
  if (sizes.size() > static_cast<std::size_t>(kMaxRank)) {
    fail<ShapeError>("shape {}: at most {} dims, got {}", text_of(sizes), kMaxRank, sizes.size());
  }
  rank_ = static_cast<int>(sizes.size());
  Index nonzero = 1;  // strides stay representable even beside a size of 0
  for (int i = 0; i < rank_; ++i) {
    const Index size = sizes[static_cast<std::size_t>(i)];
    if (size < 0) fail<ShapeError>("shape {}: sizes are >= 0, got {}", text_of(sizes), size);
    if (size > 0 && product_overflows(nonzero, size)) {
      fail<ShapeError>("shape {}: the element count does not fit into 63 bits", text_of(sizes));
    }
    if (size > 0) nonzero *= size;
    numel_ *= size;
    sizes_[static_cast<std::size_t>(i)] = size;
  }
}

int Shape::axis(int dim, const char* op) const {
  if (dim < -rank_ || dim >= rank_) {
    fail<ShapeError>("{}: expected a dim in [{}, {}) for shape {}, got {}", op, -rank_, rank_,
                     str(), dim);
  }
  return dim < 0 ? dim + rank_ : dim;
}

// The last axis is next to itself in memory; one step along any other skips all that lies behind
// it. A size of 0 counts as 1, so that no stride is 0: that means "repeats" in a broadcast.
Strides Shape::strides() const {
  Strides strides{};
  Index step = 1;
  for (int i = rank_ - 1; i >= 0; --i) {
    strides[i] = step;
    step *= std::max<Index>(sizes_[i], 1);
  }
  return strides;
}

Shape Shape::with(int axis, Index size) const {
  std::array<Index, kMaxRank> sizes = sizes_;
  sizes[axis] = size;
  return Shape(std::span<const Index>(sizes.data(), static_cast<std::size_t>(rank_)));
}

Shape Shape::without(int axis) const {
  std::array<Index, kMaxRank> sizes{};
  for (int i = 0, j = 0; i < rank_; ++i) {
    if (i != axis) sizes[j++] = sizes_[i];
  }
  return Shape(std::span<const Index>(sizes.data(), static_cast<std::size_t>(rank_ - 1)));
}

Shape Shape::inserted(int axis, Index size) const {
  std::array<Index, kMaxRank + 1> sizes{};
  for (int i = 0, j = 0; i <= rank_; ++i) sizes[i] = i == axis ? size : sizes_[j++];
  return Shape(std::span<const Index>(sizes.data(), static_cast<std::size_t>(rank_ + 1)));
}

std::string Shape::str() const { return text_of(sizes()); }

bool operator==(const Shape& a, const Shape& b) {
  return a.rank_ == b.rank_ &&
         std::equal(a.sizes_.begin(), a.sizes_.begin() + a.rank_, b.sizes_.begin());
}

Index checked_product(Index a, Index b, const char* what) {
  if (product_overflows(a, b))
    fail<ShapeError>("{}: {} x {} does not fit into 63 bits", what, a, b);
  return a * b;
}

// From the right, i = 1 being the last axis; an axis that is missing on the left counts as size 1.
Shape broadcast(const Shape& a, const Shape& b, const char* op) {
  if (a == b) return a;
  const int rank = std::max(a.rank(), b.rank());
  std::array<Index, Shape::kMaxRank> sizes{};
  for (int i = 1; i <= rank; ++i) {
    const Index x = i <= a.rank() ? a[a.rank() - i] : 1;
    const Index y = i <= b.rank() ? b[b.rank() - i] : 1;
    if (x != y && x != 1 && y != 1) {
      fail<ShapeError>("{}: expected shapes that broadcast, got {} and {}", op, a.str(), b.str());
    }
    sizes[static_cast<std::size_t>(rank - i)] = x == 1 ? y : x;
  }
  return Shape(std::span<const Index>(sizes.data(), static_cast<std::size_t>(rank)));
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  for (int i = 1; i <= from.rank(); ++i) {
    const Index size = from[from.rank() - i];
    if (size != 1 && size != to[to.rank() - i]) return false;
  }
  return true;
}

}  // namespace autograd
