#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "autograd/tensor.h"

// Small measurements of plain numbers that several experiments need.

namespace experiments::measure {

/// The rounding error of one operation: the distance from 1 to the next number of the type.
double epsilon(autograd::DType dtype);

/// A row of softmax is called dead when the Frobenius norm of its Jacobian is below this.
inline constexpr double kDeadJacobian = 1e-3;

/// All elements, as f64.
std::vector<double> doubles(const autograd::Tensor& t);

/// The largest |v|; 0 if there is none.
double largest(std::span<const double> values);

/// The Euclidean norm. Eight partial sums, so that the compiler may use vector instructions.
template <class T>
double norm(std::span<const T> x) {
  double lanes[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= x.size(); i += 8) {
    for (std::size_t j = 0; j < 8; ++j) {
      const auto v = static_cast<double>(x[i + j]);
      lanes[j] += v * v;
    }
  }
  double total = 0;
  for (; i < x.size(); ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  for (const double lane : lanes) total += lane;
  return std::sqrt(total);
}

/// NumericError that names `what` and suggests a way out, unless all values are finite.
void require_finite(std::span<const double> values, const char* what);

}  // namespace experiments::measure
