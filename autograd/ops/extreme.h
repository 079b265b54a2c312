#pragma once

#include "autograd/array/elementwise.h"
#include "autograd/array/layout.h"
#include "autograd/ops.h"

// What max, min, maximum and minimum share: equal winners share the gradient evenly, NaN wins.

namespace autograd::detail {

using Reduction = Array (*)(const Array&, Axes, KeepDim);

inline Tensor reduce_extreme(const char* op, Reduction reduction, const Tensor& x,
                             std::span<const int> dims, KeepDim keep) {
  const Array d = x.data();
  const Axes axes = Axes::of(d.shape(), dims, op);
  const Array y = reduction(d, axes, KeepDim::yes);
  return record(op, y.reshape(reduced(d.shape(), axes, keep)),
                {{x, [=](const Array& g) {
                    const Array wins = zip(d, y, op, [](auto v, auto m) {
                      return static_cast<decltype(v)>(v == m || (v != v && m != m));
                    });
                    return g.reshape(y.shape()) / sum(wins, axes, KeepDim::yes) * wins;
                  }}});
}

/// beats(u, v): whether u is the result rather than v, for unequal numbers.
template <class Beats>
Tensor pairwise_extreme(const char* op, const Tensor& a, const Tensor& b, Beats beats) {
  const Array x = a.data(), y = b.data();
  const Array z = zip(x, y, op, [beats](auto u, auto v) { return beats(u, v) || u != u ? u : v; });
  const auto share = [op, beats](const Array& mine, const Array& other) {
    return zip(mine, other, op, [beats](auto u, auto v) {
      using T = decltype(u);
      return u == v ? T(0.5) : (beats(v, u) ? T(0) : T(1));  // beside NaN both have all of it
    });
  };
  return record(op, z,
                {{a, [=](const Array& g) { return g * share(x, y); }},
                 {b, [=](const Array& g) { return g * share(y, x); }}});
}

}  // namespace autograd::detail
