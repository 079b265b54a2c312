#include "nn/mlp.h"

#include "tests/nn/check.h"

namespace nn {
namespace {

TEST(MLP, IsTwoLinearsAroundGelu) {
  MLP mlp(6);
  EXPECT_EQ(mlp.parameter_count(), 8 * 36 + 5 * 6);
  const Tensor x = autograd::randn({2, 3, 6});
  const Tensor h = gelu(linear(x, mlp.parameter("fc.weight"), mlp.parameter("fc.bias")));
  EXPECT_TRUE(same_bits(mlp(x), linear(h, mlp.proj().weight(), mlp.proj().bias())));
  MLP other(6, {.gelu = Gelu::tanh});
  other.load_state(mlp.state());
  EXPECT_FALSE(same_bits(other(x), mlp(x)));
  EXPECT_TRUE(is_close(other(x), mlp(x), 1e-3));
}

}  // namespace
}  // namespace nn
