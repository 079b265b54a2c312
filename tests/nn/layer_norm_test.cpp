#include "nn/layer_norm.h"

#include "tests/nn/check.h"

namespace nn {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(LayerNorm, NormalizesTheLastDim) {
  LayerNorm norm(4, {.dtype = DType::f64});
  EXPECT_EQ(norm.parameter("weight").shape(), Shape{4});
  EXPECT_EQ(norm.parameter("bias").shape(), Shape{4});
  EXPECT_EQ(norm.parameter_count(), 8);
  const Tensor y = norm(autograd::tensor({1, 2, 3, 4, 1, 0, 0, 0}, {2, 4}, DType::f64));
  const Tensor want = autograd::tensor({-1.34163542, -0.4472118067, 0.4472118067, 1.34163542,
                                        1.732004621, -0.5773348738, -0.5773348738, -0.5773348738},
                                       {2, 4}, DType::f64);
  EXPECT_TRUE(is_close(y, want, 1e-9));
  EXPECT_EQ(LayerNorm(4, {.bias = Bias::no}).parameter_count(), 4);
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

}  // namespace
}  // namespace nn
