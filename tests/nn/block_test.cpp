#include "nn/block.h"

#include "nn/embedding.h"
#include "tests/nn/check.h"

namespace nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::string> names(const Module& module) {
  std::vector<std::string> all;
  for (const NamedParameter& p : module.named_parameters()) all.push_back(p.name);
  return all;
}

// --- LayerNorm

TEST(LayerNorm, NormalizesTheLastDim) {
  LayerNorm norm(4, {.dtype = DType::f64});
  EXPECT_THAT(names(norm), ElementsAre("weight", "bias"));
  EXPECT_EQ(norm.parameter_count(), 8);
  const Tensor y = norm(autograd::tensor({1, 2, 3, 4, 1, 0, 0, 0}, {2, 4}, DType::f64));
  const Tensor want = autograd::tensor({-1.34163542, -0.4472118067, 0.4472118067, 1.34163542,
                                        1.732004621, -0.5773348738, -0.5773348738, -0.5773348738},
                                       {2, 4}, DType::f64);
  EXPECT_TRUE(is_close(y, want, 1e-9));
  EXPECT_THAT(names(LayerNorm(4, {.bias = Bias::no})), ElementsAre("weight"));
  EXPECT_EQ(to_string(norm), "LayerNorm(4)  8 parameters");
}

TEST(LayerNorm, RefusesWhatDoesNotFit) {
  EXPECT_THAT([] { LayerNorm(0); }, ThrowsMessage<autograd::ValueError>(HasSubstr("got 0")));
  EXPECT_THAT([] { LayerNorm(4, {.eps = 0}); },
              ThrowsMessage<autograd::ValueError>(HasSubstr("eps above 0")));
  LayerNorm norm(4);
  EXPECT_THAT(
      [&] {
        norm(autograd::zeros({2, 5}));
      },
      ThrowsMessage<autograd::ShapeError>(HasSubstr("weight (5,), got (4,)")));
}

// --- Embedding

TEST(Embedding, LooksUpRows) {
  Embedding table(5, 3);
  EXPECT_EQ(table.parameter_count(), 15);
  const Tensor y = table(autograd::tensor({4, 0}, DType::i64));
  EXPECT_TRUE(same_bits(y.select(0, 0), table.weight().detach().select(0, 4)));
  EXPECT_THAT([&] { table(autograd::tensor({5}, DType::i64)); },
              ThrowsMessage<autograd::ValueError>(HasSubstr("[0, 5), got 5")));
  EXPECT_THAT([] { Embedding(0, 3); }, ThrowsMessage<autograd::ValueError>(HasSubstr("0 of 3")));
}

// --- Mlp

TEST(Mlp, IsTwoLinearsAroundGelu) {
  Mlp mlp(6);
  EXPECT_EQ(mlp.parameter_count(), 8 * 36 + 5 * 6);
  const Tensor x = autograd::randn({2, 3, 6});
  const Tensor h = gelu(linear(x, mlp.parameter("fc.weight"), mlp.parameter("fc.bias")));
  EXPECT_TRUE(same_bits(mlp(x), linear(h, mlp.proj().weight(), mlp.proj().bias())));
  Mlp other(6, {.gelu = Gelu::tanh});
  other.load_state(mlp.state());
  EXPECT_FALSE(same_bits(other(x), mlp(x)));
  EXPECT_TRUE(is_close(other(x), mlp(x), 1e-3));
}

// --- Block

TEST(Block, AddsWhatItsBranchesGive) {
  const BlockConfig config{.attention = {.n_embd = 12, .n_head = 3, .bias = Bias::yes}};
  Block block(config);
  EXPECT_EQ(block.parameter_count(), 12 * 144 + 13 * 12);
  const Tensor x = autograd::randn({2, 4, 12});
  EXPECT_EQ(block(x).shape(), x.shape());
  // With branches that give nothing a pre-LN block passes x on, a post-LN one its norm.
  State state = block.state();
  for (auto& [name, value] : state) {
    if (name.find("proj.weight") != std::string::npos) value = autograd::zeros(value.shape());
    if (name.find("proj.bias") != std::string::npos) value = autograd::zeros(value.shape());
  }
  block.load_state(state);
  EXPECT_TRUE(same_bits(block(x), x));
  Block post({.attention = config.attention, .norm = NormPosition::post});
  post.load_state(state);
  LayerNorm norm(12);
  EXPECT_TRUE(same_bits(post(x), norm(norm(x))));
}

TEST(Block, EvalTwiceGivesEqualBits) {
  Block block({.attention = {.n_embd = 12, .n_head = 3, .dropout = 0.5}});
  const Tensor x = autograd::randn({2, 4, 12});
  EXPECT_FALSE(same_bits(block(x), block(x)));
  block.eval();
  EXPECT_TRUE(same_bits(block(x), block(x)));
}

}  // namespace
}  // namespace nn
