#pragma once

#include <functional>
#include <span>
#include <vector>

#include "autograd/array/random.h"

namespace experiments::measure {

using autograd::Index;

/// A symmetric matrix A known by what it does: A x for a vector x.
using Product = std::function<std::vector<double>(const std::vector<double>& x)>;

struct LanczosOptions {
  Index max_products = 100;
  double tolerance = 1e-6;  // of the residual, relative to the eigenvalue
};

/// An eigenvalue lies within `residual` = |A y - value y| of `value`, y its unit vector.
struct Eigenvalue {
  double value = 0;
  double residual = 0;
  Index products = 0;  // that it took
};

/// The largest eigenvalue, from a random start (Lanczos 1950). Each new vector is made orthogonal
/// to all before it, twice, since rounding would bring the largest eigenvalues back as copies.
Eigenvalue largest_eigenvalue(const Product& product, Index n, autograd::RandomKey start,
                              const LanczosOptions& options = {});

/// All eigenvalues of a symmetric (n, n) matrix, row-major, in increasing order.
std::vector<double> eigenvalues(std::span<const double> matrix, Index n);

}  // namespace experiments::measure
