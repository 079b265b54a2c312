#include "experiments/softmax/naive.h"

#include <algorithm>
#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/array/reduce.h"

namespace experiments::softmax {

using autograd::Array;

Array naive_softmax(const Array& scores) {
  const Array e = autograd::dispatch_real(scores.dtype(), "exp", [&scores](auto tag) {
    using T = decltype(tag);
    const std::span<const T> from = scores.read<T>();
    return Array::build<T>(scores.shape(), [from](std::span<T> to) {
      std::transform(from.begin(), from.end(), to.begin(), [](T s) { return std::exp(s); });
    });
  });
  return e / sum(e, scores.rank() - 1, autograd::KeepDim::yes);
}

double printed_entropy(std::span<const double> p) {
  double total = 0;
  for (const double x : p) total += x * std::log(x + 1e-10);
  return -total;
}

}  // namespace experiments::softmax
