#include "autograd/gradcheck/draw.h"

#include <algorithm>
#include <cmath>

#include "autograd/array/elementwise.h"

namespace autograd {
namespace {

// Where vector loops of 4, 8, 16 or 32 numbers begin, end and leave a tail.
constexpr Index kEdges[] = {2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65};

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

Shape Draw::shape_from(int lo_rank, int hi_rank, bool nonempty) {
  const int rank = static_cast<int>(is_large() ? hi_rank : integer(lo_rank, hi_rank));
  std::vector<Index> sizes;
  Index left = max_numel();
  for (int axis = 0; axis < rank; ++axis) {
    if (is_large()) {  // about max_numel() in all, whatever the rank
      const double side = std::pow(static_cast<double>(max_numel()), 1.0 / rank);
      sizes.push_back(std::min<Index>(65, static_cast<Index>(side) + integer(-1, 0)));
    } else {
      sizes.push_back(nonempty ? positive_size(left) : size(left));
      left /= std::max<Index>(1, sizes.back());
    }
  }
  if (rank > 0) {
    if (!nonempty && trial_ % 8 == 5) sizes[static_cast<std::size_t>(integer(0, rank - 1))] = 0;
    // The early axes had more room: let each axis be the long one now and then.
    std::rotate(sizes.begin(), sizes.begin() + integer(0, rank - 1), sizes.end());
  }
  return Shape(sizes);
}

Shape Draw::shape(int lo_rank, int hi_rank) { return shape_from(lo_rank, hi_rank, false); }

Shape Draw::nonempty_shape(int lo_rank, int hi_rank) { return shape_from(lo_rank, hi_rank, true); }

Shape Draw::broadcastable_to(const Shape& shape) {
  std::vector<Index> sizes;
  const Index missing = chance(0.3) ? integer(0, shape.rank()) : 0;
  for (int axis = static_cast<int>(missing); axis < shape.rank(); ++axis) {
    sizes.push_back(chance(0.35) ? 1 : shape[axis]);
  }
  return Shape(sizes);
}

std::pair<Shape, Shape> Draw::broadcast_pair() {
  const Shape full = shape();
  if (chance(0.25)) return {full, full};
  if (chance(0.33)) return {full, broadcastable_to(full)};
  if (chance(0.5)) return {broadcastable_to(full), full};
  Shape a = full, b = full;  // each is the larger one along some axes
  for (int axis = 0; axis < full.rank(); ++axis) {
    const double kind = number(0, 1);
    if (kind < 0.35) a = a.with(axis, 1);
    if (kind > 0.65) b = b.with(axis, 1);
  }
  return {a, b};
}

int Draw::dim(const Shape& shape) {
  return static_cast<int>(integer(-shape.rank(), shape.rank() - 1));
}

std::vector<int> Draw::dims(const Shape& shape) {
  std::vector<int> dims;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (chance(0.5)) dims.push_back(chance(0.5) ? axis : axis - shape.rank());
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
