#include "autograd/ops.h"

namespace autograd {

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

}  // namespace autograd
