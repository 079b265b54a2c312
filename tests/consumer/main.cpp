// An op and a layer that the library does not have, each held to numerical gradients.

#include <cmath>
#include <cstdio>
#include <numbers>
#include <vector>

#include "autograd/array/elementwise.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/ops.h"
#include "nn/linear.h"
#include "nn/module.h"

using autograd::Array;
using autograd::Tensor;

/// log(cosh(x)), elementwise.
Tensor log_cosh(const Tensor& x) {
  const Array v = x.data();
  const Array y = autograd::map(v, "log_cosh", [](auto t) {
    using T = decltype(t);  // float, double, or the dual numbers of second derivatives,
    using std::abs, std::exp, std::log1p;  // whose functions are found by their argument
    return abs(t) + log1p(exp(T(-2) * abs(t))) - T(std::numbers::ln2);  // never overflows
  });
  const auto rule = [v](const Array& g) {
    return autograd::zip(g, v, "log_cosh", [](auto g_i, auto t) {
      using std::tanh;
      return g_i * tanh(t);
    });
  };
  return autograd::record("log_cosh", y, {{x, rule}});
}

/// log_cosh(beta * (x W^T + b)) / beta, with a learned beta for each output.
class LogCoshLayer : public nn::Module {
 public:
  LogCoshLayer(nn::Index in, nn::Index out, const nn::LinearOptions& options)
      : Module("LogCoshLayer"),
        proj_(register_module<nn::Linear>("proj", in, out, options)),
        beta_(register_parameter("beta", autograd::ones({out}, options.dtype))) {}

 private:
  Tensor forward(const Tensor& x) override {    // (B, in)
    return log_cosh(proj_(x) * beta_) / beta_;  // (B, out)
  }

  nn::Linear& proj_;
  Tensor beta_;
};

/// Prints what failed; 0 if nothing did.
int failures(const char* what, const autograd::GradcheckReport& report) {
  std::printf("%s: %s, %td numbers checked %s\n", what, report.ok ? "ok" : "FAILED", report.checked,
              report.message.c_str());
  return report.ok ? 0 : 1;
}

int main() {
  Tensor x = autograd::randn({5, 3}, nn::DType::f64);
  x.requires_grad_();

  LogCoshLayer layer(3, 4, {.dtype = nn::DType::f64});
  std::vector<Tensor> inputs = layer.parameters();  // checked along with x
  inputs.insert(inputs.begin(), x);

  const auto op = [](const std::vector<Tensor>& in) { return log_cosh(in[0]); };
  const auto whole_layer = [&](const std::vector<Tensor>& in) { return layer(in[0]); };
  return failures("log_cosh", autograd::gradcheck(op, {x})) +
         failures("LogCoshLayer", autograd::gradcheck(whole_layer, inputs));
}
