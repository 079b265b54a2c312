#pragma once

#include "autograd/gradcheck/battery.h"
#include "autograd/operators.h"

// What the lines of the gradcheck table have in common.

namespace autograd::detail {

using Inputs = std::vector<Tensor>;

template <class F>
inline Trial of(const Tensor& input, F f) {
  return {{input}, [f](const Inputs& in) { return f(in[0]); }};
}

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);
using Kind = Tensor (*)(Draw&, const Shape&);  // which numbers an input is made of

inline Tensor normal_numbers(Draw& d, const Shape& s) { return d.normal(s); }
inline Tensor positive(Draw& d, const Shape& s) { return d.positive(s); }
inline Tensor clear_of_zero(Draw& d, const Shape& s) { return d.away_from_zero(s); }
inline Tensor distinct(Draw& d, const Shape& s) { return d.distinct(s); }
inline Tensor between_those(Draw& d, const Shape& s) {  // no near ties with distinct numbers either
  return (d.distinct(s).detach() + 1.0 / 256).requires_grad_();
}

inline GradcheckCase unary(const char* name, Unary f, Kind x) {
  return {name, [f, x](Draw& d) -> Trial { return of(x(d, d.shape()), f); }};
}

inline GradcheckCase binary(const char* name, Binary f, Kind a, Kind b) {
  return {name, [f, a, b](Draw& d) -> Trial {
            const auto shapes = d.broadcast_pair();
            const Tensor x = a(d, shapes.first), y = b(d, shapes.second);
            return {{x, y}, [f](const Inputs& in) { return f(in[0], in[1]); }};
          }};
}

}  // namespace autograd::detail
