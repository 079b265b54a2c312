#include "autograd/gradcheck/draw.h"

#include <algorithm>
#include <cmath>

#include "autograd/array/elementwise.h"

namespace autograd {
namespace {

// Where vector loops of 4, 8, 16 or 32 numbers begin, end and leave a tail.
constexpr Index kEdges[] = {2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65};

int longest(const Shape& shape) {
  const auto sizes = shape.sizes();
  return static_cast<int>(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
}

}  // namespace

Draw::Draw(std::uint64_t seed, int trial, DType dtype)
    : generator_(seed * 1000 + static_cast<std::uint64_t>(trial)), trial_(trial), dtype_(dtype) {}

double Draw::number(double lo, double hi) {
  return autograd::uniform(Shape{}, lo, hi, DType::f64, generator_.next()).at(0);
}

Index Draw::integer(Index lo, Index hi) {
  const double span = static_cast<double>(hi - lo + 1);
  return std::min(hi, lo + static_cast<Index>(std::floor(number(0, span))));
}

Index Draw::positive_size(Index most) {
  most = std::min<Index>(65, most);
  const double kind = number(0, 1);
  if (kind < 0.15 || most <= 1) return 1;
  if (kind < 0.5) return integer(1, std::min<Index>(6, most));
  if (kind < 0.6) return integer(1, most);
  const auto* end = std::upper_bound(std::begin(kEdges), std::end(kEdges), most);
  return kEdges[integer(0, end - std::begin(kEdges) - 1)];
}

Index Draw::size(Index most) { return chance(0.03) ? 0 : positive_size(most); }

Index Draw::row() {
  switch (trial_ % 8) {
    case 1:
    case 7: return chance(0.5) ? integer(65, 80) : 65;
    case 2: return chance(0.5) ? integer(17, 32) : 31 + integer(0, 1);
    case 3: return integer(257, 300);
    case 6: return chance(0.5) ? integer(33, 64) : chance(0.5) ? 33 : 64;
    default: return positive_size(17);
  }
}

Shape Draw::leading(Index width, int hi_rank) {
  std::vector<Index> sizes(static_cast<std::size_t>(integer(0, hi_rank)));
  Index left = std::max<Index>(1, max_numel() / width);
  for (Index& size : sizes) {
    size = positive_size(left);
    left /= size;
  }
  return Shape(sizes);
}

Shape Draw::shape_from(int lo_rank, int hi_rank, bool nonempty) {
  const bool low = trial_ % 8 == 4;
  int rank = static_cast<int>(low ? lo_rank : is_large() ? hi_rank : integer(lo_rank, hi_rank));
  if (has_long_row()) rank = std::max(rank, 1);
  std::vector<Index> sizes;
  Index left = max_numel();
  if (has_long_row()) {
    sizes.push_back(row());
    left /= sizes[0];
  }
  // A large shape has about max_numel() elements, whatever its rank.
  const auto side =
      static_cast<Index>(std::pow(static_cast<double>(left), 1.0 / std::max(1, rank - 1)));
  while (static_cast<int>(sizes.size()) < rank) {
    if (is_large()) sizes.push_back(side);
    else sizes.push_back(nonempty || has_long_row() ? positive_size(left) : size(left));
    left /= std::max<Index>(1, sizes.back());
  }
  if (rank > 0) {
    if (!nonempty && trial_ % 8 == 5) sizes[static_cast<std::size_t>(integer(0, rank - 1))] = 0;
    // The first one had more room: let each axis be the long one now and then.
    const bool last = has_long_row() && trial_ % 8 <= 3;
    std::rotate(sizes.begin(), sizes.begin() + (last ? 1 : integer(0, rank - 1)), sizes.end());
  }
  return Shape(sizes);
}

Shape Draw::shape(int lo_rank, int hi_rank) { return shape_from(lo_rank, hi_rank, false); }

Shape Draw::nonempty_shape(int lo_rank, int hi_rank) { return shape_from(lo_rank, hi_rank, true); }

Shape Draw::broadcastable_to(const Shape& shape) {
  std::vector<Index> sizes;
  const int most = keeps_last() ? std::max(0, shape.rank() - 1) : shape.rank();
  const Index missing = chance(0.3) ? integer(0, most) : 0;
  for (int axis = static_cast<int>(missing); axis < shape.rank(); ++axis) {
    const bool keep = keeps_last() && axis == shape.rank() - 1;
    sizes.push_back(chance(0.35) && !keep ? 1 : shape[axis]);
  }
  return Shape(sizes);
}

std::pair<Shape, Shape> Draw::broadcast_pair() {
  const Shape full = shape();
  if (chance(0.25)) return {full, full};
  if (chance(0.33)) return {full, broadcastable_to(full)};
  if (chance(0.5)) return {broadcastable_to(full), full};
  Shape a = full, b = full;  // each is the larger one along some axes
  for (int axis = 0; axis < full.rank() - (keeps_last() ? 1 : 0); ++axis) {
    const double kind = number(0, 1);
    if (kind < 0.35) a = a.with(axis, 1);
    if (kind > 0.65) b = b.with(axis, 1);
  }
  return {a, b};
}

int Draw::dim(const Shape& shape) {
  const auto any = static_cast<int>(integer(-shape.rank(), shape.rank() - 1));
  if (!has_long_row()) return any;
  const int axis = longest(shape);
  return any < 0 ? axis - shape.rank() : axis;
}

std::vector<int> Draw::dims(const Shape& shape) {
  std::vector<int> dims;
  if (is_large()) return dims;  // one long sum
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool wanted = has_long_row() && axis == longest(shape);
    if (chance(0.5) || wanted) dims.push_back(chance(0.5) ? axis : axis - shape.rank());
  }
  return dims;
}

Tensor Draw::leaf(const Array& f32_values) {
  return Tensor(f32_values.to(dtype_)).requires_grad_();
}

Tensor Draw::normal(const Shape& shape) {
  return leaf(autograd::normal(shape, 0, 1, DType::f32, generator_.next()));
}

Tensor Draw::uniform(const Shape& shape, double lo, double hi) {
  return leaf(autograd::uniform(shape, lo, hi, DType::f32, generator_.next()));
}

Tensor Draw::away_from_zero(const Shape& shape) {
  const Array x = autograd::uniform(shape, -2, 2, DType::f32, generator_.next());
  return leaf(map(x, "away_from_zero", [](auto v) {
    using T = decltype(v);
    return v < T(0) ? v - T(0.25) : v + T(0.25);
  }));
}

Tensor Draw::distinct(const Shape& shape) {
  const Index n = shape.numel();
  std::vector<float> values(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) {
    values[static_cast<std::size_t>(i)] = static_cast<float>(i - n / 2) / 128.0f;
  }
  const Array random = autograd::uniform(Shape{n}, 0, 1, DType::f64, generator_.next());
  for (std::size_t i = values.size(); i-- > 1;) {
    const double r = random.at(static_cast<Index>(i)) * static_cast<double>(i + 1);
    std::swap(values[i], values[std::min(i, static_cast<std::size_t>(r))]);
  }
  return leaf(Array::from<float>(values, shape));
}

Tensor Draw::mask(const Shape& shape, double p_true) {
  return Tensor(keep_mask(shape, 1 - p_true, generator_.next()));
}

Tensor Draw::indices(const Shape& shape, Index limit) {
  const double top = static_cast<double>(limit);
  const Array u = autograd::uniform(shape, 0, top, DType::f64, generator_.next());
  return Tensor(u.to(DType::i64));
}

}  // namespace autograd
