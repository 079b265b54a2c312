#include <algorithm>

#include "autograd/machine/parallel.h"
#include "autograd/ops.h"

namespace autograd {

namespace {

void check_indices(const Array& index, Index limit) {
  if (index.dtype() != DType::i64) {
    fail<DTypeError>("embedding: expected indices of i64, got {}", name(index.dtype()));
  }
  Index position = 0;
  for (const std::int64_t i : index.read<std::int64_t>()) {
    if (i < 0 || i >= limit) {
      fail<ValueError>("embedding: expected indices in [0, {}), got {} at position {} of {}", limit,
                       i, position, index.shape().str());
    }
    ++position;
  }
}

template <class T>
void add_rows(const Array& g, const Array& index, Array& into) {
  const Index width = into.shape()[1];
  const auto rows = index.read<std::int64_t>();
  const T* from = g.read<T>().data();
  into.write<T>([&](std::span<T> to) {
    // Columns in parallel, rows in order: equal indices add up without a race.
    const Index grain =
        std::max<Index>(64, elements_per_piece() / std::max<Index>(1, std::ssize(rows)));
    parallel_for(width, grain, [&](Index begin, Index end) {
      for (std::size_t r = 0; r < rows.size(); ++r) {
        T* row = to.data() + rows[r] * width;
        for (Index j = begin; j < end; ++j) row[j] += from[static_cast<Index>(r) * width + j];
      }
    });
  });
}

}  // namespace

Tensor embedding(const Tensor& weight, const Tensor& index) {
  const auto [V, C] = weight.dims<2>("embedding: weight is (V, C)");
  const Array at = index.data(), w = weight.data();
  check_indices(at, V);
  const Shape shape = at.shape().inserted(at.rank(), C);
  const Index width = C;
  const Array y = dispatch_float(w.dtype(), "embedding", [&](auto tag) {
    using T = decltype(tag);
    return Array::build<T>(shape, [&](std::span<T> out) {
      const T* from = w.read<T>().data();
      Index r = 0;
      for (const std::int64_t i : at.read<std::int64_t>()) {
        std::copy(from + i * width, from + (i + 1) * width, out.data() + r++ * width);
      }
    });
  });
  return record("embedding", y, {{weight, ScatterRule([at](const Array& g, Array& into) {
                                    dispatch_float(g.dtype(), "embedding", [&](auto tag) {
                                      add_rows<decltype(tag)>(g, at, into);
                                    });
                                  })}});
}

}  // namespace autograd
