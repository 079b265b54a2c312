// Second derivatives in the parameters of a module.

#include <gmock/gmock.h>

#include "autograd/derivatives.h"
#include "nn/gpt.h"
#include "tests/nn/check.h"
#include "tests/support/tensors.h"

namespace nn {
namespace {

using autograd::hvp;
using testing::HasSubstr;

class SmallGpt {
 public:
  explicit SmallGpt(DType dtype = DType::f64)
      : generator_(3),
        gpt_({.block_size = 6,
              .vocab_size = 7,
              .n_layer = 2,
              .n_head = 2,
              .n_embd = 8,
              .dtype = dtype},
             generator_),
        tokens_(autograd::uniform({2, 6}, 0, 7, DType::f32, generator_).to(DType::i64)),
        targets_(autograd::uniform({2, 6}, 0, 7, DType::f32, generator_).to(DType::i64)) {}

  Tensor loss() { return cross_entropy(gpt_(tokens_), targets_); }
  std::vector<Tensor> direction() {
    std::vector<Tensor> v;
    for (const Tensor& p : gpt_.parameters()) {
      v.push_back(autograd::randn(p.shape(), DType::f64, generator_));
    }
    return v;
  }
  void move(const std::vector<Tensor>& v, double t) {
    std::vector<Tensor> parameters = gpt_.parameters();
    for (std::size_t i = 0; i < v.size(); ++i) {
      parameters[i].set_data((parameters[i].detach() + v[i] * t).data());
    }
  }
  GPT& gpt() { return gpt_; }

 private:
  Generator generator_;
  GPT gpt_;
  Tensor tokens_, targets_;  // (B, T)
};

TEST(SecondOrder, OfAGptIsTheDifferenceOfItsGradients) {
  SmallGpt model;
  const auto loss = [&] { return model.loss(); };
  const std::vector<Tensor> parameters = model.gpt().parameters(), v = model.direction();
  const std::vector<Tensor> hv = hvp(loss, parameters, v);
  const auto slopes = [&](double step) {
    model.move(v, step);
    std::vector<Tensor> ahead = gradient(loss, parameters);
    model.move(v, -2 * step);
    const std::vector<Tensor> behind = gradient(loss, parameters);
    model.move(v, step);
    for (std::size_t i = 0; i < v.size(); ++i) ahead[i] = (ahead[i] - behind[i]) / (2 * step);
    return ahead;
  };
  constexpr double kStep = 1e-4;
  const std::vector<Tensor> whole = slopes(kStep), half = slopes(kStep / 2);
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double scale = hv[i].abs().max().item();
    EXPECT_TRUE(is_close(hv[i], (half[i] * 4.0 - whole[i]) / 3.0, 1e-6 * (scale + 0.1))) << i;
    EXPECT_GT(scale, 1e-3) << i;
  }
}

/// All of its types and values are as before, and training goes on.
TEST(SecondOrder, LeavesTheModuleAsItWas) {
  SmallGpt model;
  const State before = model.gpt().state();
  model.loss().backward();
  hvp([&] { return model.loss(); }, model.gpt().parameters(), model.direction());
  for (const NamedParameter& p : model.gpt().named_parameters()) {
    EXPECT_TRUE(bit_equal(p.tensor.data(), before.at(p.name).data())) << p.name;
    EXPECT_TRUE(p.tensor.requires_grad() && p.tensor.grad().defined()) << p.name;
    EXPECT_EQ(p.tensor.grad().dtype(), DType::f64) << p.name;
  }
}

TEST(SecondOrder, OfAnF32ModuleAsksForF64) {
  SmallGpt model(DType::f32);
  const auto product = [&] {
    return hvp([&] { return model.loss(); }, model.gpt().parameters(), model.direction());
  };
  EXPECT_THAT(test::message_of<autograd::DTypeError>(product),
              HasSubstr("hvp: expected f64, got input 0 in f32"));
  model.gpt().to(DType::f64);
  EXPECT_EQ(product().size(), model.gpt().parameters().size());
}

}  // namespace
}  // namespace nn
