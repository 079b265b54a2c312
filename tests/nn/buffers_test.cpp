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

/// Batch normalisation of (B, C), as short as it can be.
class BatchNorm : public Module {
 public:
  explicit BatchNorm(Index size)
      : Module("BatchNorm"),
        weight_(register_parameter("weight", autograd::ones({size}))),
        mean_(register_buffer("running_mean", autograd::zeros({size}))),
        variance_(register_buffer("running_var", autograd::ones({size}))),
        batches_(register_buffer("num_batches", autograd::zeros({}, DType::i64))) {}

 private:
  Tensor forward(const Tensor& x) override {
    if (!training()) return (x - mean_) / (variance_ + 1e-5).sqrt() * weight_;
    const Tensor mean = x.mean({0}), moved = x - mean, variance = (moved * moved).mean({0});
    mean_.set_data((mean_ * 0.9 + mean.detach() * 0.1).data());
    variance_.set_data((variance_ * 0.9 + variance.detach() * 0.1).data());
    batches_.set_data(autograd::full({}, batches_.item() + 1, DType::i64).data());
    return moved / (variance + 1e-5).sqrt() * weight_;
  }

  Tensor weight_, mean_, variance_, batches_;
};

TEST(ModuleBuffers, AreStateAndNoParameters) {
  Sequential model;
  model.append<BatchNorm>(Index{2});
  EXPECT_EQ(model.parameter_count(), 2);
  EXPECT_EQ(decay_groups(model, 0.1)[1].parameters.size(), 1u);
  ASSERT_EQ(model.named_buffers().size(), 3u);
  EXPECT_EQ(model.named_buffers()[0].name, "0.running_mean");
  const Tensor x = autograd::tensor({1, 2, 3, 6}, {2, 2}, DType::f32);
  model(x).sum().backward();
  const State state = model.state();
  EXPECT_EQ(state.size(), 4u);
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
