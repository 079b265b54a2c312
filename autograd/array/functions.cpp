#include "autograd/array/functions.h"

#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/machine/vector_math.h"

namespace autograd {

Array abs(const Array& x) {
  return map(x, "abs", [](auto v) {
    using std::abs;
    return abs(v);
  });
}

Array exp(const Array& x) {
  return map(x, "exp", [](auto v) { return vector_math::exp(v); });
}

Array log(const Array& x) {
  return map(x, "log", [](auto v) {
    using std::log;
    return log(v);
  });
}

Array sqrt(const Array& x) {
  return map(x, "sqrt", [](auto v) {
    using std::sqrt;
    return sqrt(v);
  });
}

Array sin(const Array& x) {
  return map(x, "sin", [](auto v) {
    using std::sin;
    return sin(v);
  });
}

Array cos(const Array& x) {
  return map(x, "cos", [](auto v) {
    using std::cos;
    return cos(v);
  });
}

Array tanh(const Array& x) {
  return map(x, "tanh", [](auto v) { return vector_math::tanh(v); });
}

Array sigmoid(const Array& x) {
  return map(x, "sigmoid", [](auto v) {
    using T = decltype(v);
    const T e = vector_math::exp(v < T(0) ? v : -v);  // never overflows
    return (v < T(0) ? e : T(1)) / (T(1) + e);
  });
}

Array sign(const Array& x) {
  return map(x, "sign", [](auto v) {
    using T = decltype(v);
    const T flat = v == T(0) ? T(0) : static_cast<T>(value_of(v));  // v is NaN
    return v > T(0) ? T(1) : (v < T(0) ? T(-1) : flat);
  });
}

}  // namespace autograd
