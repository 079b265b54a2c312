#include "autograd/array/elementwise.h"
#include "autograd/array/indexing.h"
#include "autograd/ops.h"

namespace autograd {

Tensor embedding(const Tensor& weight, const Tensor& index) {
  const auto [V, C] = weight.dims<2>("embedding: weight is (V, C)");
  const Array at = index.data();
  check_indices(at, V, "embedding");
  check_float(weight.data(), "embedding");
  const Array rows = index_select(weight.data(), 0, at);
  return record(
      "embedding", rows.reshape(at.shape().inserted(at.rank(), C)),
      {{weight, ScatterRule([at](const Array& g, Array& into) { index_add(into, 0, at, g); })}});
}

}  // namespace autograd
