#include "experiments/softmax/naive.h"

#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/array/reduce.h"

namespace experiments::softmax {

using autograd::Array;

Array naive_softmax(const Array& scores) {
  const Array e = map(scores, "exp", [](auto s) { return std::exp(s); });
  return e / sum(e, scores.rank() - 1, autograd::KeepDim::yes);
}

double printed_entropy(std::span<const double> p) {
  double total = 0;
  for (const double x : p) total += x * std::log(x + 1e-10);
  return -total;
}

}  // namespace experiments::softmax
