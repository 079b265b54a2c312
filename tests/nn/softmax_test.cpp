#include "nn/softmax.h"

#include "tests/nn/check.h"

namespace nn {
namespace {

TEST(Softmax, IsTheOpAlongItsDim) {
  const Tensor x = autograd::randn({2, 3, 4});
  for (const int dim : {-3, -1, 0, 1, 2}) {
    Softmax module(dim);
    EXPECT_TRUE(same_bits(module(x), softmax(x, dim))) << dim;
    EXPECT_EQ(module.parameter_count(), 0);
    EXPECT_EQ(to_string(module), fmt::format("Softmax(dim {})  0 parameters", dim));
  }
}

TEST(Softmax, Values) {
  const Tensor y = Softmax(0)(autograd::tensor({1, 2, 3}, DType::f64));
  const Tensor expected =
      autograd::tensor({0.09003057317038046, 0.24472847105479765, 0.6652409557748219}, DType::f64);
  EXPECT_TRUE(is_close(y, expected, 1e-15));
}

TEST(Softmax, RefusesADimThatIsNotThere) {
  EXPECT_THAT(
      [] {
        Softmax(2)(autograd::ones({2, 3}));
      },
      testing::ThrowsMessage<autograd::ShapeError>(
          testing::AllOf(testing::HasSubstr("2"), testing::HasSubstr("[in Softmax]"))));
}

}  // namespace
}  // namespace nn
