#include <algorithm>
#include <cmath>

#include "autograd/array/elementwise.h"
#include "nn/attention.h"
#include "tests/nn/check.h"

// Causal attention, masks and qk-norm.

namespace nn {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor f64(std::initializer_list<double> values, const Shape& shape) {
  return autograd::tensor(values, shape, DType::f64);
}

Tensor b8(std::initializer_list<double> values, const Shape& shape) {
  return autograd::tensor(values, shape, DType::b8);
}

// q, k, v and the output projection pass on what they are given.
void use_identity_projections(MultiHeadAttention& module) {
  const Tensor ones = autograd::ones({4, 4}, DType::f64);
  const Tensor one = autograd::tril(ones) - autograd::tril(ones, -1);
  module.load_state({{"qkv.weight", autograd::concat({one, one, one}, 0)}, {"proj.weight", one}});
}

MultiHeadAttentionOptions small(Causal causal = Causal::no) {
  return {.n_embd = 4, .n_head = 2, .bias = Bias::no, .causal = causal, .dtype = DType::f64};
}

TEST(CausalAttention, SeesItselfAndWhatCameBefore) {
  MultiHeadAttention attn(small(Causal::yes));
  use_identity_projections(attn);
  const Tensor x = f64({1, 0, 2, 1, 0, 1, 1, 0, 1, 1, 0, 3}, {1, 3, 4});
  const Tensor want = f64({1, 0, 2, 1,                                             //
                           0.3302384507, 0.6697615493, 1.669761549, 0.6697615493,  //
                           0.7517449217, 0.7517449217, 0.02997929182, 2.966630208},
                          {1, 3, 4});
  EXPECT_TRUE(is_close(attn(x), want, 1e-9));
}

TEST(CausalAttention, MovesNothingBeforeWhatMoved) {
  MultiHeadAttention attn(small(Causal::yes));
  const Tensor x = autograd::randn({1, 6, 4}, DType::f64);
  const Tensor y = attn(x);
  for (Index moved = 0; moved < 6; ++moved) {
    Tensor x2 = x.clone();
    x2.select_(1, moved) += 1.0;
    const Tensor y2 = attn(x2);
    for (Index t = 0; t < 6; ++t) {
      EXPECT_EQ(same_bits(y2.select(1, t), y.select(1, t)), t < moved) << moved << " to " << t;
    }
  }
}

TEST(AttentionMask, HidesKeysOfItsOwnItemInEveryHead) {
  MultiHeadAttention attn(small());
  const AttentionTrace trace;
  // Item 0 hides key 0, item 1 hides key 1.
  attn(autograd::randn({2, 3, 4}, DType::f64), b8({0, 1, 1, 1, 0, 1}, {2, 1, 1, 3}));
  for (Index item = 0; item < 2; ++item) {
    for (Index head = 0; head < 2; ++head) {
      for (Index t = 0; t < 3; ++t) {
        EXPECT_EQ(trace[0].weights.at({item, head, t, item}), 0.0);
        EXPECT_GT(trace[0].weights.at({item, head, t, 1 - item}), 0.0);
      }
    }
  }
}

// One row that may look nowhere must not reach the weights that all rows share.
TEST(AttentionMask, ARowThatSeesNothingTouchesNoGradient) {
  const auto gradients = [](MultiHeadAttention& attn, const Tensor& x, const Tensor& mask,
                            Index rows_of_last) {
    attn.zero_grad();
    const Tensor y = attn(x, mask);
    const Tensor seen =
        autograd::concat({y.select(0, 0), y.select(0, 1).narrow(0, 0, rows_of_last)}, 0);
    (seen * seen).sum().backward();
    std::vector<Tensor> all;
    for (const Tensor& p : attn.parameters()) all.push_back(p.grad());
    return all;
  };
  MultiHeadAttention attn({.n_embd = 4, .n_head = 2, .bias = Bias::yes, .dtype = DType::f64});
  const Tensor x = autograd::randn({2, 4, 4}, DType::f64);
  Tensor mask = autograd::full({2, 1, 4, 4}, 1, DType::b8);
  mask.write<bool>([](auto m) { std::fill(m.end() - 4, m.end(), false); });  // item 1, row 3
  const std::vector<Tensor> with_empty_row = gradients(attn, x, mask, 4);
  const std::vector<Tensor> without = gradients(attn, x, Tensor(), 3);
  ASSERT_EQ(with_empty_row.size(), 4u);
  for (std::size_t i = 0; i < 3; ++i) {  // the row still gets proj.bias, and that its gradient
    EXPECT_TRUE(is_close(with_empty_row[i], without[i], 1e-12)) << i;
  }
  EXPECT_TRUE(autograd::all_finite(with_empty_row[3].data()));
  const Tensor y = attn(x, mask);
  EXPECT_TRUE(is_close(y.select(0, 1).select(0, 3), attn.parameter("proj.bias").detach(), 1e-15));
}

TEST(AttentionMask, HasToBroadcast) {
  MultiHeadAttention attn(small());
  EXPECT_THAT(
      [&] {
        attn(autograd::randn({2, 3, 4}, DType::f64), b8({1, 1}, {2}));
      },
      ThrowsMessage<autograd::ShapeError>(HasSubstr("(2,)")));
}

TEST(QkNorm, KeepsScoresBounded) {
  MultiHeadAttentionOptions config = small();
  config.qk_norm = QkNorm::yes;
  MultiHeadAttention attn(config);
  EXPECT_EQ(attn.parameter_count(), 4 * 16 + 2 * 2);
  State state = attn.state();
  state["qkv.weight"] = state["qkv.weight"] * 1e6;
  attn.load_state(state);
  const AttentionTrace trace;
  attn(autograd::randn({2, 8, 4}, DType::f64));
  // Normalised rows of D numbers have length sqrt(D): |q.k| / sqrt(D) <= sqrt(D).
  EXPECT_LE(trace[0].scores.abs().max().item(), std::sqrt(2.0) + 1e-12);
}

}  // namespace
}  // namespace nn
