#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

namespace {

// The mask is a function of the key: forward and backward draw the same one and none is stored.
Array drop(const Array& a, double p, RandomKey key) {
  const Array keep = keep_mask(a.shape(), p, key);
  const Array kept = map(a, "dropout", [p](auto v) { return v / static_cast<decltype(v)>(1 - p); });
  return where(keep, kept, Array::scalar(0, a.dtype()));
}

}  // namespace

Tensor dropout(const Tensor& x, double p, Generator& generator) {
  if (!(p >= 0 && p <= 1)) fail<ValueError>("dropout: expected p in [0, 1], got {}", p);
  check_float(x.data(), "dropout");
  if (p == 0) return record("dropout", x.data(), {{x, [](const Array& g) { return g; }}});
  const RandomKey key = generator.next();
  return record("dropout", drop(x.data(), p, key),
                {{x, [p, key](const Array& g) { return drop(g, p, key); }}});
}

}  // namespace autograd
