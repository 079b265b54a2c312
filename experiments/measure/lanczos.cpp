#include "experiments/measure/lanczos.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace experiments::measure {
namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
  return total;
}

/// y += s x
void add(Vector& y, double s, const Vector& x) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += s * x[i];
}

/// The largest eigenvalue of the tridiagonal matrix so far, and the last entry of its unit vector.
struct Ritz {
  double value, last;
};
Ritz largest_of(const Vector& diagonal, const Vector& beside) {
  const auto m = static_cast<Index>(diagonal.size());
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(Eigen::Map<const Eigen::VectorXd>(diagonal.data(), m),
                                Eigen::Map<const Eigen::VectorXd>(beside.data(), m - 1));
  return {solver.eigenvalues()[m - 1], solver.eigenvectors()(m - 1, m - 1)};
}

}  // namespace

Eigenvalue largest_eigenvalue(const Product& product, Index n, autograd::RandomKey start,
                              const LanczosOptions& options) {
  const autograd::Array first = normal(autograd::Shape{n}, 0, 1, autograd::DType::f64, start);
  const auto drawn = first.read<double>();
  Vector next(drawn.begin(), drawn.end());
  double length = std::sqrt(dot(next, next));

  std::vector<Vector> basis;
  Vector diagonal, beside;
  Eigenvalue found;
  while (true) {
    for (double& v : next) v /= length;
    basis.push_back(next);
    next = product(basis.back());
    diagonal.push_back(dot(next, basis.back()));
    for (int pass = 0; pass < 2; ++pass) {
      for (const Vector& v : basis) add(next, -dot(next, v), v);
    }
    length = std::sqrt(dot(next, next));
    const Ritz ritz = largest_of(diagonal, beside);
    found = {ritz.value, length * std::abs(ritz.last), std::ssize(basis)};
    const bool whole = found.products == n || !(length > 0);  // nothing is left, or all is NaN
    if (whole || found.products >= options.max_products ||
        found.residual <= options.tolerance * std::abs(ritz.value)) {
      return found;
    }
    beside.push_back(length);
  }
}

std::vector<double> eigenvalues(std::span<const double> matrix, Index n) {
  const Eigen::MatrixXd a = Eigen::Map<const Eigen::MatrixXd>(matrix.data(), n, n);
  const Eigen::VectorXd values =
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(a, Eigen::EigenvaluesOnly).eigenvalues();
  return {values.begin(), values.end()};
}

}  // namespace experiments::measure
