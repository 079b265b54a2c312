#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor log(const Tensor& x) {
  const Array d = x.data();
  const Array y = map(d, "log", [](auto v) {
    using std::log;
    return log(v);
  });
  return record("log", y, {{x, [d](const Array& g) { return g / d; }}});
}

}  // namespace autograd
