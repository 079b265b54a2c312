#include <cmath>

#include "autograd/gradcheck/op_cases.h"
#include "autograd/gradcheck/op_trials.h"
#include "autograd/ops.h"

namespace autograd::detail {
namespace {

Trial pow_number(Draw& d) {
  constexpr double kExponents[] = {2, 3, 0.5, -1, 1, 0, -1.5, 1.75};
  const double exponent = kExponents[d.trial() % 8];
  const bool whole = exponent == 2 || exponent == 3 || exponent == -1;
  const Shape shape = d.shape();
  return {{whole ? d.away_from_zero(shape) : d.positive(shape)},
          [exponent](const Inputs& in) { return pow(in[0], exponent); },
          exponent == 0};
}

/// Numbers on both sides of the bounds, and none near them.
Trial clamp_to_bounds(Draw& d) {
  const Tensor x = between_those(d, d.shape());
  const double lo = d.trial() % 4 == 2 ? -INFINITY : -0.25, hi = d.trial() % 4 == 3 ? 9.0 : 0.5;
  return {{x}, [lo, hi](const Inputs& in) { return clamp(in[0], lo, hi); }, true};
}

/// sign alone is flat: its gradient of 0 shows beside that of the other factor.
Tensor sign_times_square(const Tensor& x) { return sign(x) * square(x); }

Trial select_where(Draw& d) {
  const auto shapes = d.broadcast_pair();
  const Tensor a = d.normal(shapes.first), b = d.normal(shapes.second);
  const Tensor mask = d.mask(d.broadcastable_to(broadcast(a.shape(), b.shape(), "where")), 0.5);
  return {{a, b}, [mask](const Inputs& in) { return where(mask, in[0], in[1]); }};
}

/// Flat where every number is negative.
Trial relu_of_some(Draw& d) {
  return {{d.away_from_zero(d.shape())}, [](const Inputs& in) { return relu(in[0]); }, true};
}

Trial norm_of_all(Draw& d) { return of(d.away_from_zero(d.nonempty_shape()), norm); }

Trial to_same_dtype(Draw& d) {
  return of(d.normal(d.shape()), [](const Tensor& x) { return to(x, x.dtype()); });
}

Tensor gelu_erf(const Tensor& x) { return gelu(x, Gelu::erf); }
Tensor gelu_tanh(const Tensor& x) { return gelu(x, Gelu::tanh); }
Tensor times_number(const Tensor& x) { return scale(x, -1.75); }
Tensor plus_number(const Tensor& x) { return shift(x, 0.3); }
Tensor over_number(const Tensor& x) { return x / 3.0; }
Tensor number_over(const Tensor& x) { return 3.0 / x; }
Tensor power_of_number(const Tensor& x) { return pow(1.75, x); }
Tensor number_minus(const Tensor& x) { return 3.0 - x; }

}  // namespace

std::vector<GradcheckCase> elementwise_cases() {
  return {
      binary("add", add, normal_numbers, normal_numbers),
      binary("sub", sub, normal_numbers, normal_numbers),
      binary("mul", mul, normal_numbers, normal_numbers),
      binary("div", div, normal_numbers, clear_of_zero),
      unary("neg", neg, normal_numbers),
      unary("scale", times_number, normal_numbers),
      unary("shift", plus_number, normal_numbers),
      unary("div_by_number", over_number, normal_numbers),
      unary("div_of_number", number_over, clear_of_zero),
      unary("sub_from_number", number_minus, normal_numbers),
      binary("maximum", maximum, distinct, between_those),
      binary("minimum", minimum, distinct, between_those),
      binary("pow", static_cast<Binary>(pow), positive, normal_numbers),
      {"pow_number", pow_number},
      unary("pow_of_number", power_of_number, normal_numbers),
      {"where", select_where},
      unary("abs", static_cast<Unary>(abs), clear_of_zero),
      unary("sign", sign_times_square, clear_of_zero),
      {"clamp", clamp_to_bounds},
      unary("square", square, normal_numbers),
      unary("exp", static_cast<Unary>(exp), normal_numbers),
      unary("log", static_cast<Unary>(log), positive),
      unary("sqrt", static_cast<Unary>(sqrt), positive),
      unary("rsqrt", rsqrt, positive),
      unary("sin", static_cast<Unary>(sin), normal_numbers),
      unary("cos", static_cast<Unary>(cos), normal_numbers),
      unary("tanh", static_cast<Unary>(tanh), normal_numbers),
      unary("sigmoid", sigmoid, normal_numbers),
      unary("softplus", softplus, normal_numbers),
      {"relu", relu_of_some},
      unary("gelu_erf", gelu_erf, normal_numbers),
      unary("gelu_tanh", gelu_tanh, normal_numbers),
      {"norm", norm_of_all},
      {"to", to_same_dtype},
  };
}

}  // namespace autograd::detail
