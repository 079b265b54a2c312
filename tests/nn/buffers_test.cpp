#include <cmath>

#include "autograd/gradcheck/gradcheck.h"
#include "nn/io/save.h"
#include "nn/linear.h"
#include "nn/sequential.h"
#include "tests/nn/check.h"
#include "tests/support/process.h"

// Buffers, and the conversion of a module to another dtype.

namespace nn {
namespace {

using autograd::ValueError;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Ioffe and Szegedy, "Batch normalization" (2015), of (B, C). The average of the variances is, as
/// PyTorch's, of those that divide by B - 1.
class BatchNorm : public Module {
 public:
  explicit BatchNorm(Index size, DType dtype = DType::f32)
      : Module("BatchNorm"),
        weight_(register_parameter("weight", autograd::ones({size}, dtype))),
        bias_(register_parameter("bias", autograd::zeros({size}, dtype))),
        mean_(register_buffer("running_mean", autograd::zeros({size}, dtype))),
        variance_(register_buffer("running_var", autograd::ones({size}, dtype))),
        batches_(register_buffer("num_batches", autograd::zeros({}, DType::i64))) {}

 private:
  Tensor forward(const Tensor& x) override {
    Tensor mean = mean_, variance = variance_;
    if (training()) {
      mean = x.mean(0);
      variance = x.var(0, autograd::KeepDim::no, 0);
      mean_.set_data((mean_ * 0.9 + mean.detach() * 0.1).data());
      variance_.set_data((variance_ * 0.9 + x.detach().var(0) * 0.1).data());
      batches_.set_data((batches_ + 1).data());
    }
    return (x - mean) * (variance + 1e-5).rsqrt() * weight_ + bias_;
  }

  Tensor weight_, bias_, mean_, variance_, batches_;
};

TEST(BatchNorm, IsLayerNormOfColumnsAndRemembersThem) {
  BatchNorm layer(3, DType::f64);
  const Tensor x = autograd::randn({6, 3}, DType::f64) * 2.0 + 1.0;
  const Tensor columns = layer_norm(x.transpose(0, 1), Tensor(), Tensor()).transpose(0, 1);
  EXPECT_TRUE(is_close(layer(x), columns, 1e-13));
  for (int i = 1; i < 20; ++i) layer(x);
  const double kept = std::pow(0.9, 20);  // of the first values, after as many equal batches
  const State state = layer.state();
  EXPECT_TRUE(is_close(state.at("running_mean"), x.mean(0) * (1 - kept), 1e-14));
  EXPECT_TRUE(is_close(state.at("running_var"), x.var(0) * (1 - kept) + kept, 1e-14));
  layer.eval();
  const Tensor one = x.narrow(0, 0, 1);
  const Tensor want = (one - state.at("running_mean")) / sqrt(state.at("running_var") + 1e-5);
  EXPECT_TRUE(is_close(layer(one), want, 1e-14));
  EXPECT_TRUE(same_bits(layer.state().at("running_mean"), state.at("running_mean")));
}

TEST(BatchNorm, PassesGradcheckInBothModes) {
  BatchNorm layer(3, DType::f64);
  std::vector<Tensor> inputs = layer.parameters();
  inputs.push_back(autograd::randn({5, 3}, DType::f64).requires_grad_());
  for (int i = 0; i < 2; ++i) {
    const auto f = [&](const std::vector<Tensor>& in) { return layer(in.back()); };
    const auto report = autograd::gradcheck(f, inputs);
    EXPECT_TRUE(report.ok) << (i == 0 ? "train: " : "eval: ") << report.message;
    layer.eval();
  }
}

TEST(ModuleBuffers, AreStateAndNoParameters) {
  Sequential model;
  model.append<BatchNorm>(Index{2});
  EXPECT_EQ(model.parameter_count(), 4);
  EXPECT_EQ(decay_groups(model, 0.1)[1].parameters.size(), 2u);
  ASSERT_EQ(model.named_buffers().size(), 3u);
  EXPECT_EQ(model.named_buffers()[0].name, "0.running_mean");
  const Tensor x = autograd::tensor({1, 2, 3, 6}, {2, 2}, DType::f32);
  model(x).sum().backward();
  const State state = model.state();
  EXPECT_EQ(state.size(), 5u);
  EXPECT_TRUE(is_close(state.at("0.running_mean"), autograd::tensor({0.2, 0.4}), 1e-6));
  EXPECT_EQ(state.at("0.num_batches").item(), 1);
  EXPECT_EQ(state.at("0.num_batches").dtype(), DType::i64);

  Sequential other;
  other.append<BatchNorm>(Index{2});
  const test::Folder folder;
  save(folder / "x", state);
  other.load_state(load(folder / "x"));
  model.eval();
  other.eval();
  EXPECT_TRUE(same_bits(other(x), model(x)));
  model.train();
  model(x);
  EXPECT_EQ(state.at("0.num_batches").item(), 1);  // a state stays as it was
}

TEST(ModuleBuffers, AreChecked) {
  struct Twice : Module {
    Twice() : Module("Twice") {
      register_buffer("a", autograd::ones({1}));
      register_parameter("a", autograd::ones({1}));
    }
  };
  struct Trained : Module {
    Trained() : Module("Trained") { register_buffer("b", autograd::ones({1}).requires_grad_()); }
  };
  EXPECT_THAT([] { Twice(); }, ThrowsMessage<ValueError>(HasSubstr("the name 'a' is taken")));
  EXPECT_THAT([] { Trained(); },
              ThrowsMessage<autograd::GraphError>(HasSubstr("'b' requires a gradient")));
}

TEST(Module, ToConvertsParametersAndBuffersOfFloats) {
  Sequential model;
  Linear& linear = model.append<Linear>(Index{2}, Index{2});
  model.append<BatchNorm>(Index{2});
  const State before = model.state();
  model(autograd::ones({3, 2})).sum().backward();
  model.to(DType::f64);
  EXPECT_EQ(linear.weight().dtype(), DType::f64);
  EXPECT_FALSE(linear.weight().grad().defined());
  EXPECT_TRUE(same_bits(linear.weight().detach(), before.at("0.weight").to(DType::f64)));
  EXPECT_EQ(model.state().at("1.running_var").dtype(), DType::f64);
  EXPECT_EQ(model.state().at("1.num_batches").dtype(), DType::i64);
  model(autograd::ones({3, 2}, DType::f64)).sum().backward();
  EXPECT_EQ(linear.weight().grad().dtype(), DType::f64);
}

}  // namespace
}  // namespace nn
