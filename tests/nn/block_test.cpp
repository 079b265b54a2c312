#include "nn/block.h"

#include "tests/nn/check.h"

namespace nn {
namespace {

TEST(Block, AddsWhatItsBranchesGive) {
  const BlockOptions config{.attention = {.n_embd = 12, .n_head = 3, .bias = Bias::yes}};
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
  Block block({.attention = {.n_embd = 12, .n_head = 3, .dropout = 0.5, .bias = Bias::no}});
  const Tensor x = autograd::randn({2, 4, 12});
  EXPECT_FALSE(same_bits(block(x), block(x)));
  block.eval();
  EXPECT_TRUE(same_bits(block(x), block(x)));
}

}  // namespace
}  // namespace nn
