#include <gtest/gtest.h>

#include "autograd/array/elementwise.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/ops.h"
#include "nn/linear.h"
#include "nn/optim.h"

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

/// down(silu(gate(x)) * up(x)): (..., width) -> (..., width), with `hidden` channels between.
class SwiGlu : public nn::Module {
 public:
  SwiGlu(nn::Index width, nn::Index hidden, const nn::LinearOptions& options = {})
      : Module("SwiGlu"),
        gate_(register_module<nn::Linear>("gate", width, hidden, options)),
        up_(register_module<nn::Linear>("up", width, hidden, options)),
        down_(register_module<nn::Linear>("down", hidden, width, options)) {}

 private:
  Tensor forward(const Tensor& x) override {
    const Tensor g = gate_(x);  // (..., hidden)
    return down_(g * sigmoid(g) * up_(x));
  }

  nn::Linear& gate_;
  nn::Linear& up_;
  nn::Linear& down_;
};

TEST(Readme, OpPassesGradcheck) {
  const Tensor x = autograd::randn({3, 4}, autograd::DType::f64).requires_grad_();
  const auto op = [](const std::vector<Tensor>& in) { return square(in[0]); };
  const autograd::GradcheckReport of_op = autograd::gradcheck(op, {x});
  EXPECT_TRUE(of_op.ok) << of_op.message;
}

TEST(Readme, LoopLearns) {
  nn::Linear layer(2, 1);
  nn::SGD optimizer(layer.named_parameters(), {.lr = 0.1});
  const Tensor x = autograd::randn({64, 2}), y = x.sum({1}, autograd::KeepDim::yes);
  for (int step = 0; step < 100; ++step) {
    optimizer.zero_grad();
    const Tensor loss = mse(layer(x), y);
    loss.backward();
    optimizer.step();
  }
  EXPECT_LT(mse(layer(x), y).item(), 1e-3);
}

TEST(Readme, LayerPassesGradcheck) {
  SwiGlu layer(4, 6, {.dtype = autograd::DType::f64});
  std::vector<Tensor> inputs = layer.parameters();
  inputs.push_back(autograd::randn({2, 3, 4}, autograd::DType::f64).requires_grad_());
  const auto report =
      autograd::gradcheck([&](const std::vector<Tensor>& in) { return layer(in.back()); }, inputs);
  EXPECT_TRUE(report.ok) << report.message;
  EXPECT_EQ(layer.parameter_count(), 3 * 4 * 6 + 6 + 6 + 4);
}

}  // namespace
