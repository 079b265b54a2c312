#include <algorithm>

#include "autograd/array/elementwise.h"
#include "autograd/array/reduce.h"
#include "autograd/ops.h"

namespace autograd {

Tensor norm(const Tensor& x) {
  const Array d = x.data();
  return dispatch_float(d.dtype(), "norm", [&](auto tag) -> Tensor {
    using T = decltype(tag);
    using W = Wide<T>;
    const W n = euclidean_norm(d.read<T>());
    const auto unit = [d, n](const Array& g) {  // x / |x|, 0 at the origin
      const std::span<const T> all = d.read<T>();
      return g * Array::build<T>(d.shape(), [&](std::span<T> u) {
               std::transform(all.begin(), all.end(), u.begin(), [n](T v) {
                 return static_cast<T>(n == 0 ? W(0) : static_cast<W>(v) / n);
               });
             });
    };
    const Array y = Array::build<T>({}, [n](std::span<T> out) { out[0] = static_cast<T>(n); });
    return record("norm", y, {{x, unit}});
  });
}

}  // namespace autograd
