#include "autograd/gradcheck/op_cases.h"
#include "autograd/ops.h"

namespace autograd::detail {
namespace {

using Inputs = std::vector<Tensor>;
using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);
using Kind = Tensor (*)(Draw&, const Shape&);  // which numbers an input is made of

Tensor normal_numbers(Draw& d, const Shape& s) { return d.normal(s); }
Tensor positive(Draw& d, const Shape& s) { return d.positive(s); }
Tensor clear_of_zero(Draw& d, const Shape& s) { return d.away_from_zero(s); }

GradcheckCase unary(const char* name, Unary f, Kind x) {
  return {name, [f, x](Draw& d) -> Trial {
            return {{x(d, d.shape())}, [f](const Inputs& in) { return f(in[0]); }};
          }};
}

GradcheckCase binary(const char* name, Binary f, Kind a, Kind b) {
  return {name, [f, a, b](Draw& d) -> Trial {
            const auto shapes = d.broadcast_pair();
            const Tensor x = a(d, shapes.first), y = b(d, shapes.second);
            return {{x, y}, [f](const Inputs& in) { return f(in[0], in[1]); }};
          }};
}

/// a and b without near ties, within and between them.
GradcheckCase extremum(const char* name, Binary f) {
  return {name, [f](Draw& d) -> Trial {
            const auto shapes = d.broadcast_pair();
            const Tensor x = d.distinct(shapes.first);
            const Tensor y = (d.distinct(shapes.second).detach() + 1.0 / 256).requires_grad_();
            return {{x, y}, [f](const Inputs& in) { return f(in[0], in[1]); }};
          }};
}

Trial pow_number(Draw& d) {
  constexpr double kExponents[] = {2, 3, 0.5, -1, 1, 0, -1.5, 1.75};
  const double exponent = kExponents[d.trial() % 8];
  const bool whole = exponent == 2 || exponent == 3 || exponent == -1;
  const Shape shape = d.shape();
  return {{whole ? d.away_from_zero(shape) : d.positive(shape)},
          [exponent](const Inputs& in) { return pow(in[0], exponent); },
          exponent == 0};
}

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

Trial norm_of_all(Draw& d) {
  return {{d.away_from_zero(d.nonempty_shape())}, [](const Inputs& in) { return norm(in[0]); }};
}

Trial to_same_dtype(Draw& d) {
  const DType dtype = d.dtype();
  return {{d.normal(d.shape())}, [dtype](const Inputs& in) { return to(in[0], dtype); }};
}

Tensor gelu_erf(const Tensor& x) { return gelu(x, Gelu::erf); }
Tensor gelu_tanh(const Tensor& x) { return gelu(x, Gelu::tanh); }
Tensor times_number(const Tensor& x) { return scale(x, -1.75); }
Tensor plus_number(const Tensor& x) { return shift(x, 0.3); }
Tensor over_number(const Tensor& x) { return x / 3.0; }
Tensor number_over(const Tensor& x) { return 3.0 / x; }
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
      extremum("maximum", maximum),
      extremum("minimum", minimum),
      binary("pow", static_cast<Binary>(pow), positive, normal_numbers),
      {"pow_number", pow_number},
      {"where", select_where},
      unary("abs", static_cast<Unary>(abs), clear_of_zero),
      unary("exp", static_cast<Unary>(exp), normal_numbers),
      unary("log", static_cast<Unary>(log), positive),
      unary("sqrt", static_cast<Unary>(sqrt), positive),
      unary("tanh", static_cast<Unary>(tanh), normal_numbers),
      unary("sigmoid", sigmoid, normal_numbers),
      {"relu", relu_of_some},
      unary("gelu_erf", gelu_erf, normal_numbers),
      unary("gelu_tanh", gelu_tanh, normal_numbers),
      {"norm", norm_of_all},
      {"to", to_same_dtype},
  };
}

}  // namespace autograd::detail
