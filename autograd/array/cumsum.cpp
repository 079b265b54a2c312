#include "autograd/array/cumsum.h"

#include <algorithm>

#include "autograd/machine/parallel.h"

namespace autograd {
namespace {

constexpr Index kScanColumns = 64;  // summed side by side, so that memory is read in its order

template <class T>
void run_sums(const Array& a, int axis, bool from_end, std::span<T> y) {
  if (y.empty()) return;
  using Sum = std::conditional_t<std::is_same_v<T, std::int64_t>, std::uint64_t, Wide<T>>;
  const T* x = a.read<T>().data();
  const Index n = a.shape()[axis], inner = a.shape().strides()[axis];
  const Index blocks = (inner + kScanColumns - 1) / kScanColumns;
  const Index grain =
      std::max<Index>(1, elements_per_piece() / (n * std::min(inner, kScanColumns)));
  parallel_for(a.numel() / (n * inner) * blocks, grain, [&](Index begin, Index end) {
    for (Index block = begin; block < end; ++block) {
      const Index first = block % blocks * kScanColumns,
                  count = std::min(kScanColumns, inner - first);
      const Index start = block / blocks * n * inner + first;
      Sum sums[kScanColumns];
      std::fill_n(sums, count, Sum(0));
      for (Index k = 0; k < n; ++k) {
        const Index at = start + (from_end ? n - 1 - k : k) * inner;
        for (Index i = 0; i < count; ++i) {
          sums[i] += static_cast<Sum>(x[at + i]);
          y[static_cast<std::size_t>(at + i)] = static_cast<T>(sums[i]);
        }
      }
    }
  });
}

Array sums_along(const Array& a, int axis, bool from_end) {
  return dispatch_any(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, bool>) {
      return sums_along(a.to(DType::i64), axis, from_end);
    } else {
      return Array::build<T>(a.shape(), [&](std::span<T> y) { run_sums(a, axis, from_end, y); });
    }
  });
}

}  // namespace

Array cumsum(const Array& a, int axis) { return sums_along(a, axis, false); }
Array reverse_cumsum(const Array& a, int axis) { return sums_along(a, axis, true); }

}  // namespace autograd
