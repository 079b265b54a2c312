#include "experiments/softmax/overflow_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "autograd/array/softmax.h"
#include "experiments/softmax/naive.h"

namespace experiments::softmax {
namespace {

using autograd::Array;
using autograd::DType;

template <class T>
std::vector<long double> exact_weights(std::span<const T> scores) {
  const long double top = *std::ranges::max_element(scores);
  std::vector<long double> weights;
  long double total = 0;
  for (const T s : scores) {
    weights.push_back(std::exp(static_cast<long double>(s) - top));
    total += weights.back();
  }
  for (long double& w : weights) w /= total;
  return weights;
}

template <class T>
Weights compare(std::span<const T> scores, std::span<const T> weights) {
  const std::vector<long double> exact = exact_weights(scores);
  long double worst = 0;
  bool all_zero = true;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (std::isnan(weights[i])) return {std::numeric_limits<double>::quiet_NaN(), "nan"};
    all_zero = all_zero && weights[i] == 0;
    worst = std::max(worst, std::abs(weights[i] - exact[i]) / exact[i]);
  }
  const auto error = static_cast<double>(worst);
  const bool ok = error <= 100 * static_cast<double>(std::numeric_limits<T>::epsilon());
  return {error, all_zero ? "zeros" : ok ? "ok" : "inaccurate"};
}

// The last T from `good` on for which holds() is true, given that it is false at `bad` and changes
// once.
template <class T, class Holds>
T last_good(T good, T bad, Holds holds) {
  for (;;) {
    const T middle = good + (bad - good) / 2;
    if (middle == good || middle == bad) return good;
    (holds(middle) ? good : bad) = middle;
  }
}

template <class T>
Breaks breaks(Index seq_len) {
  const auto naive = [&](T top) {
    return std::string_view(
        weights_of(row_of_scores(top, seq_len, autograd::dtype_of<T>()), Method::naive).outcome);
  };
  const T far = 2000;  // beyond all of them, in either type
  return {.sum = last_good(T(1), far, [&](T s) { return naive(s) == "ok"; }),
          .nan_above = last_good(T(1), far, [&](T s) { return naive(s) != "nan"; }),
          .subnormal = last_good(T(1), far,
                                 [](T s) { return std::exp(-s) >= std::numeric_limits<T>::min(); }),
          .nan_below = last_good(T(1), far, [&](T s) { return naive(-s) != "nan"; })};
}

template <class T>
Breaks expected(Index seq_len) {
  using Limits = std::numeric_limits<T>;
  double total = 0;
  for (Index i = 0; i < seq_len; ++i) {
    total +=
        std::exp(-static_cast<double>(i) / static_cast<double>(std::max<Index>(seq_len - 1, 1)));
  }
  const double top = std::log(static_cast<double>(Limits::max()));
  const auto log_of_power = [](int power) { return power * std::log(2.0); };
  return {.sum = top - std::log(total),
          .nan_above = top,
          .subnormal = log_of_power(1 - Limits::min_exponent),
          .nan_below = log_of_power(Limits::digits + 1 - Limits::min_exponent)};
}

}  // namespace

Array row_of_scores(double top, Index T, DType dtype) {
  return autograd::dispatch_real(dtype, "overflow", [&](auto tag) {
    using Real = decltype(tag);
    return Array::build<Real>({1, T}, [&](std::span<Real> row) {
      for (Index i = 0; i < T; ++i) {
        const double below =
            static_cast<double>(i) / static_cast<double>(std::max<Index>(T - 1, 1));
        row[static_cast<std::size_t>(i)] = static_cast<Real>(top - below);
      }
    });
  });
}

Weights weights_of(const Array& scores, Method method) {
  const Array weights = method == Method::naive ? naive_softmax(scores)
                                                : autograd::softmax(scores, scores.rank() - 1);
  return autograd::dispatch_real(scores.dtype(), "overflow", [&](auto tag) {
    using Real = decltype(tag);
    return compare<Real>(scores.read<Real>(), weights.read<Real>());
  });
}

Breaks find_breaks(Index T, DType dtype) {
  return dtype == DType::f32 ? breaks<float>(T) : breaks<double>(T);
}

Breaks expected_breaks(Index T, DType dtype) {
  return dtype == DType::f32 ? expected<float>(T) : expected<double>(T);
}

}  // namespace experiments::softmax
