#include "autograd/array/softmax.h"

#include <cmath>
#include <limits>

#include "autograd/array/rows.h"
#include "autograd/machine/lanes.h"
#include "autograd/machine/vector_math.h"

namespace autograd {
namespace {

template <class T>
Wide<T> sum_of_row(const T* y, Index n) {
  return sum_of(n, [y](Index i) { return y[i]; });
}

template <class T>
void exp_row(const T* x, T top, T* y, Index n) {
  for (Index i = 0; i < n; ++i) y[i] = vector_math::exp(x[i] - top);
}

template <class T>
void divide_by_sum(T* y, Index n) {
  const T sum = static_cast<T>(sum_of_row(y, n));
  for (Index i = 0; i < n; ++i) y[i] /= sum;
}

}  // namespace

// Why max is taken off: exp(x) overflows from x = 89 on (f32; 710 in f64), exp(x - max) never does.
Array softmax(const Array& x, int axis) {
  return map_rows(x, axis, "softmax", [](const auto* row, auto* y, Index n) {
    exp_row(row, max_of(row, n), y, n);  // -inf - -inf and inf - inf are NaN, as promised
    divide_by_sum(y, n);
  });
}

// Not log(softmax(x)), which is -inf where softmax rounds to 0.
Array log_softmax(const Array& x, int axis) {
  return map_rows(x, axis, "log_softmax", [](const auto* row, auto* y, Index n) {
    const auto top = max_of(row, n);
    using std::log;
    exp_row(row, top, y, n);
    const auto log_sum = static_cast<decltype(top)>(log(sum_of_row(y, n)));
    for (Index i = 0; i < n; ++i) y[i] = row[i] - top - log_sum;
  });
}

Array masked_softmax(const Array& x, const Array& mask, int axis) {
  return zip_rows<bool>(x, mask, axis, "masked_softmax", [](auto* row, auto* ok, auto* y, Index n) {
    using T = std::remove_reference_t<decltype(*y)>;
    T top = -std::numeric_limits<T>::infinity();
    for (Index i = 0; i < n; ++i) top = ok[i] && row[i] > top ? row[i] : top;
    for (Index i = 0; i < n; ++i) y[i] = ok[i] ? vector_math::exp(row[i] - top) : T(0);
    if (sum_of_row(y, n) != 0) divide_by_sum(y, n);  // else zeros
  });
}

}  // namespace autograd
