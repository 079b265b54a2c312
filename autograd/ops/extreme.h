#pragma once

#include "autograd/array/elementwise.h"
#include "autograd/array/layout.h"
#include "autograd/ops.h"

// What max, min, maximum and minimum share: equal winners share the gradient evenly, NaN wins.

namespace autograd::detail {

using Reduction = Array (*)(const Array&, Axes, KeepDim);

/// Which elements of x are the y that they were reduced to: 1 or 0, of the dtype of x.
inline Array winners(const Array& x, const Array& y, const char* op) {
  return zip(x, y, op,
             [](auto v, auto m) { return static_cast<decltype(v)>(v == m || (v != v && m != m)); });
}

/// y with the mean tangent of the winners, as their gradient is shared.
inline Array share_tangents(const Array& x, const Array& y, Axes axes, const char* op) {
  const Array wins = winners(value_of(x), value_of(y), op);
  const Array all = sum(tangent_of(x) * wins, axes, KeepDim::yes);
  return dual(value_of(y), all / sum(wins, axes, KeepDim::yes));
}

inline Tensor reduce_extreme(const char* op, Reduction reduction, const Tensor& x, Dims dims,
                             KeepDim keep) {
  const Array d = x.data();
  const Axes axes = Axes::of(d.shape(), dims, op);
  Array y = reduction(d, axes, KeepDim::yes);
  if (y.dtype() == DType::dual) y = share_tangents(d, y, axes, op);
  return record(op, y.reshape(reduced(d.shape(), axes, keep)),
                {{x, [=](const Array& g) {
                    const Array wins = winners(d, y, op);
                    return g.reshape(y.shape()) / sum(wins, axes, KeepDim::yes) * wins;
                  }}});
}

/// beats(u, v): whether u is the result rather than v, for unequal numbers.
template <class Beats>
Tensor pairwise_extreme(const char* op, const Tensor& a, const Tensor& b, Beats beats) {
  const Array x = a.data(), y = b.data();
  const Array z = zip(x, y, op, [beats](auto u, auto v) {
    if constexpr (std::is_same_v<decltype(u), Dual>) {
      if (u == v) return Dual(u.value, 0.5 * (u.tangent + v.tangent));
    }
    return beats(u, v) || u != u ? u : v;
  });
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
