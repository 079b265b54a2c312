#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor log(const Tensor& x) {
  const Array d = x.data();
  return record("log", map(d, "log", [](auto v) { return std::log(v); }),
                {{x, [d](const Array& g) { return g / d; }}});
}

}  // namespace autograd
