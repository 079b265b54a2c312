#include <gtest/gtest.h>

#include <filesystem>

#include "autograd/array/elementwise.h"
#include "autograd/derivatives.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/ops.h"
#include "nn/dropout.h"
#include "nn/gradcheck/gradcheck.h"
#include "nn/io/save.h"
#include "nn/linear.h"
#include "nn/optim.h"
#include "nn/sequential.h"
#include "tests/support/process.h"
#include "tests/support/tensors.h"

// The op and the layer of the README, as printed there (readme.sh compares), held to gradcheck.

using autograd::Tensor;

namespace autograd {

Tensor cube(const Tensor& x);

Tensor cube(const Tensor& x) {
  const Array d = x.data();
  return record("cube", d * d * d, {{x, [d](const Array& g) { return g * d * d * 3.0; }}});
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
  const auto op = [](const std::vector<Tensor>& in) { return cube(in[0]); };
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

Tensor batch_loss(nn::Module& model, nn::Index step) {
  autograd::Generator data(static_cast<std::uint64_t>(step));
  const Tensor x = autograd::randn({8, 2}, autograd::DType::f32, data);
  return mse(model(x), x.sum({1}, autograd::KeepDim::yes));
}

nn::State trained(nn::Index steps, const std::string& path) {
  autograd::Generator generator(1);
  nn::Sequential model;
  model.append<nn::Linear>(nn::Index{2}, nn::Index{1}, nn::LinearOptions{}, generator);
  model.append<nn::Dropout>(0.5, generator);
  nn::AdamW optimizer(model.named_parameters(), {.lr = 1e-3});
  if (std::filesystem::exists(path)) nn::load_training(path, model, optimizer);
  while (optimizer.steps() < steps) {
    optimizer.zero_grad();
    batch_loss(model, optimizer.steps()).backward();
    optimizer.step();
    if (optimizer.steps() % 10 == 0) nn::save_training(path, model, optimizer);
  }
  return model.state();
}

TEST(Readme, SavedLoopGoesOn) {
  const test::Folder folder;
  const nn::State whole = trained(40, folder / "whole");
  trained(25, folder / "parts");  // stopped; its last file is of step 20
  const nn::State parts = trained(40, folder / "parts");
  for (const auto& [name, value] : whole) {
    EXPECT_TRUE(bit_equal(value.data(), parts.at(name).data())) << name;
  }
}

TEST(Readme, LayerPassesGradcheck) {
  SwiGlu layer(4, 6, {.dtype = autograd::DType::f64});
  const Tensor x = autograd::randn({2, 3, 4}, autograd::DType::f64).requires_grad_();
  const auto report = nn::gradcheck(layer, x);
  EXPECT_TRUE(report.ok) << report.message;
  EXPECT_EQ(layer.parameter_count(), 3 * 4 * 6 + 6 + 6 + 4);
}

TEST(Readme, HessianTimesGradient) {
  nn::Linear model(3, 2, {.dtype = autograd::DType::f64});
  const Tensor x = autograd::randn({5, 3}, autograd::DType::f64);
  const Tensor target = autograd::randn({5, 2}, autograd::DType::f64);
  const auto loss = [&] { return mse(model(x), target); };
  const std::vector<Tensor> w = model.parameters();
  const std::vector<Tensor> hg = autograd::hvp(loss, w, autograd::gradient(loss, w));
  // The loss is quadratic: a step g changes the gradient by H g.
  const std::vector<Tensor> before = autograd::gradient(loss, w);
  for (std::size_t i = 0; i < w.size(); ++i) {
    Tensor p = w[i];
    p.set_data((p.detach() + before[i]).data());
  }
  const std::vector<Tensor> after = autograd::gradient(loss, w);
  for (std::size_t i = 0; i < w.size(); ++i) {
    EXPECT_TRUE(test::near(after[i] - before[i], hg[i], 1e-12)) << i;
  }
}

}  // namespace
