#include <gtest/gtest.h>

#include "autograd/array/elementwise.h"
#include "autograd/gradcheck.h"
#include "autograd/ops.h"
#include "nn/linear.h"

// The op and the layer of the README, as printed there (readme.sh compares), held to gradcheck.

using autograd::Tensor;

namespace autograd {

Tensor square(const Tensor& x);

Tensor square(const Tensor& x) {
  const Array d = x.data();
  return record("square", d * d, {{x, [d](const Array& g) { return g * d * 2.0; }}});
}

}  // namespace autograd

namespace {

class Residual : public nn::Module {
 public:
  Residual(nn::Index width, const nn::LinearOptions& options)
      : Module("Residual"), proj_(register_module<nn::Linear>("proj", width, width, options)) {}

 private:
  Tensor forward(const Tensor& x) override { return x + tanh(proj_(x)); }  // (..., width)

  nn::Linear& proj_;
};

TEST(Readme, OpAndLayerPassGradcheck) {
  Tensor x = autograd::randn({3, 4}, autograd::DType::f64).requires_grad_();
  const auto op = [](const std::vector<Tensor>& in) { return square(in[0]); };
  const autograd::GradcheckReport of_op = autograd::gradcheck(op, {x});
  EXPECT_TRUE(of_op.ok) << of_op.message;

  Residual layer(4, {.dtype = autograd::DType::f64});
  std::vector<Tensor> inputs = layer.parameters();
  inputs.insert(inputs.begin(), x);
  const auto whole = [&](const std::vector<Tensor>& in) { return layer(in[0]); };
  const autograd::GradcheckReport of_layer = autograd::gradcheck(whole, inputs);
  EXPECT_TRUE(of_layer.ok) << of_layer.message;
}

}  // namespace
