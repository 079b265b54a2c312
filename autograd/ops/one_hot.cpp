#include <algorithm>
#include <limits>

#include "autograd/array/indexing.h"
#include "autograd/ops.h"

namespace autograd {

Tensor one_hot(const Tensor& index, Index num_classes) {
  const Array at = index.data();
  if (at.dtype() != DType::i64) {
    fail<DTypeError>("one_hot: expected indices of i64, got {}", name(at.dtype()));
  }
  if (num_classes == -1) {
    if (at.numel() == 0) {
      fail<ValueError>("one_hot: expected num_classes, as {} has no index that would say it",
                       at.shape().str());
    }
    const auto all = at.read<std::int64_t>();
    const std::int64_t most = *std::max_element(all.begin(), all.end());
    num_classes = std::clamp<Index>(most, 0, std::numeric_limits<Index>::max() - 1) + 1;
  }
  if (num_classes < 1) fail<ValueError>("one_hot: expected num_classes >= 1, got {}", num_classes);
  check_indices(at, num_classes, "one_hot");
  Array y = Array::zeros(at.shape().inserted(at.rank(), num_classes), DType::i64);
  y.write<std::int64_t>([&](std::span<std::int64_t> to) {
    Index row = 0;
    for (const std::int64_t i : at.read<std::int64_t>()) {
      to[static_cast<std::size_t>(row++ * num_classes + i)] = 1;
    }
  });
  return record("one_hot", y, {{index, {}}});
}

}  // namespace autograd
