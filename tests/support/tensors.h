#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "autograd/ops.h"

namespace test {

using autograd::Array;
using autograd::DType;
using autograd::Index;
using autograd::Shape;
using autograd::Tensor;

inline Tensor f64(std::initializer_list<double> values) {
  return autograd::tensor(values, DType::f64);
}
inline Tensor f64(std::initializer_list<double> values, const Shape& shape) {
  return autograd::tensor(values, shape, DType::f64);
}
/// A leaf that requires a gradient.
inline Tensor leaf(std::initializer_list<double> values) { return f64(values).requires_grad_(); }
inline Tensor leaf(std::initializer_list<double> values, const Shape& shape) {
  return f64(values, shape).requires_grad_();
}

inline std::vector<double> values_of(const Tensor& t) {
  std::vector<double> values;
  for (Index i = 0; i < t.numel(); ++i) values.push_back(t.data().at(i));
  return values;
}

/// Shape and every element, |difference| <= tolerance; the worst element is named.
inline ::testing::AssertionResult near(const Tensor& got, const Tensor& want, double tolerance) {
  if (got.shape() != want.shape()) {
    return ::testing::AssertionFailure()
           << "shape " << got.shape().str() << ", expected " << want.shape().str();
  }
  for (Index i = 0; i < got.numel(); ++i) {
    const double g = got.data().at(i), w = want.data().at(i);
    const bool same = (g != g && w != w) || g == w || std::abs(g - w) <= tolerance;
    if (!same) {
      return ::testing::AssertionFailure() << "element " << i << " of " << got.shape().str() << ": "
                                           << g << ", expected " << w << " within " << tolerance;
    }
  }
  return ::testing::AssertionSuccess();
}

/// The message of the E that f throws; a test failure if it throws nothing.
template <class E, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "expected an exception";
  return "";
}

}  // namespace test
