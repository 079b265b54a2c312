#include <algorithm>
#include <cmath>

#include "autograd/ops.h"

namespace autograd {
namespace {

template <class T, class F>
Array by_position(Index n, F f) {
  return Array::build<T>(Shape{n}, [&](std::span<T> x) {
    for (Index i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = f(i);
  });
}

}  // namespace

Tensor zeros(const Shape& shape, DType dtype) { return Tensor(Array::zeros(shape, dtype)); }
Tensor ones(const Shape& shape, DType dtype) { return Tensor(Array::full(shape, 1, dtype)); }
Tensor full(const Shape& shape, double value, DType dtype) {
  return Tensor(Array::full(shape, value, dtype));
}

Tensor arange(Index n, DType dtype) {
  if (n < 0) fail<ValueError>("arange: expected n >= 0, got {}", n);
  return dispatch_any(dtype, [n](auto tag) {
    using T = decltype(tag);
    return Tensor(Array::build<T>(Shape{n}, [](std::span<T> x) {
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i);
    }));
  });
}

Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.dtype()); }
Tensor ones_like(const Tensor& x) { return ones(x.shape(), x.dtype()); }

Tensor detail::arange_of(double start, double end, double step, DType dtype) {
  const double steps = (end - start) / step;
  if (!(steps >= 0 && steps < 0x1p62) || !std::isfinite(start + step)) {
    fail<ValueError>("arange: expected finite steps from start to end, got {}, {} and a step of {}",
                     start, end, step);
  }
  const Array x = by_position<double>(static_cast<Index>(std::ceil(steps)), [=](Index i) {
    return start + static_cast<double>(i) * step;
  });
  return Tensor(x.to(dtype));
}

// In unsigned numbers, which may wrap around.
Tensor detail::arange_of(Index start, Index end, Index step, DType dtype) {
  if (step == 0 || (step > 0 ? end < start : end > start)) {
    fail<ValueError>("arange: expected steps from start to end, got {}, {} and a step of {}", start,
                     end, step);
  }
  const auto a = static_cast<std::uint64_t>(start), b = static_cast<std::uint64_t>(end);
  const auto by = static_cast<std::uint64_t>(step);
  const std::uint64_t way = step > 0 ? b - a : a - b, stride = step > 0 ? by : 0 - by;
  const std::uint64_t n = way / stride + (way % stride != 0);
  if (n >> 62 != 0) fail<ValueError>("arange: expected fewer than 2^62 steps, got {}", n);
  const Array x = by_position<std::int64_t>(static_cast<Index>(n), [=](Index i) {
    return static_cast<std::int64_t>(a + static_cast<std::uint64_t>(i) * by);
  });
  return Tensor(x.to(dtype));
}

// From both ends to the middle, so that the last number is the end and not only close to it.
Tensor linspace(double start, double end, Index steps, DType dtype) {
  if (steps < 0) fail<ValueError>("linspace: expected steps >= 0, got {}", steps);
  const double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  const Array x = by_position<double>(steps, [=](Index i) {
    return 2 * i < steps ? start + static_cast<double>(i) * step
                         : end - static_cast<double>(steps - 1 - i) * step;
  });
  return Tensor(x.to(dtype));
}

Tensor eye(Index n, Index m, DType dtype) {
  if (n < 0 || m < 0) fail<ValueError>("eye: expected sizes >= 0, got {} and {}", n, m);
  return dispatch_any(dtype, [&](auto tag) {
    using T = decltype(tag);
    Array x = Array::zeros({n, m}, dtype);
    x.write<T>([&](std::span<T> to) {
      for (Index i = 0; i < std::min(n, m); ++i) to[static_cast<std::size_t>(i * (m + 1))] = T(1);
    });
    return Tensor(x);
  });
}
Tensor eye(Index n, DType dtype) { return eye(n, n, dtype); }

Tensor tensor(std::initializer_list<double> values, DType dtype) {
  return tensor(values, Shape{static_cast<Index>(values.size())}, dtype);
}
Tensor tensor(std::initializer_list<double> values, const Shape& shape, DType dtype) {
  if (static_cast<Index>(values.size()) != shape.numel()) {
    fail<ShapeError>("tensor: shape {} takes {} values, got {}", shape.str(), shape.numel(),
                     values.size());
  }
  const std::span<const double> numbers(values.begin(), values.size());
  return Tensor(Array::from<double>(numbers, shape).to(dtype));
}

Tensor uniform(const Shape& shape, double lo, double hi, DType dtype, Generator& generator) {
  return Tensor(uniform(shape, lo, hi, dtype, generator.next()));
}
Tensor normal(const Shape& shape, double mean, double stddev, DType dtype, Generator& generator) {
  return Tensor(normal(shape, mean, stddev, dtype, generator.next()));
}
Tensor randn(const Shape& shape, DType dtype, Generator& generator) {
  if (!is_float(dtype)) fail<DTypeError>("randn: expected f32 or f64, got {}", name(dtype));
  return normal(shape, 0, 1, dtype, generator);
}
Tensor randint(Index low, Index high, const Shape& shape, DType dtype, Generator& generator) {
  if (low >= high) fail<ValueError>("randint: expected low < high, got {} and {}", low, high);
  return Tensor(randint(shape, low, high, generator.next()).to(dtype));
}
Tensor randint(Index high, const Shape& shape, DType dtype, Generator& generator) {
  return randint(0, high, shape, dtype, generator);
}
Tensor randperm(Index n, Generator& generator) {
  if (n < 0) fail<ValueError>("randperm: expected n >= 0, got {}", n);
  return Tensor(randperm(n, generator.next()));
}

}  // namespace autograd
