#include "nn/linear.h"

#include <limits>

#include "tests/nn/check.h"

namespace nn {
namespace {

using autograd::DTypeError;
using autograd::ShapeError;
using autograd::ValueError;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Linear, ParametersAndCount) {
  const Linear with(3, 5);
  const auto parameters = with.named_parameters();
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_EQ(parameters[0].name, "weight");
  EXPECT_EQ(parameters[0].tensor.shape(), (Shape{5, 3}));
  EXPECT_EQ(parameters[1].name, "bias");
  EXPECT_EQ(parameters[1].tensor.shape(), (Shape{5}));
  EXPECT_EQ(with.parameter_count(), 5 * 3 + 5);

  const Linear without(3, 5, {.bias = Bias::no});
  EXPECT_EQ(without.named_parameters().size(), 1u);
  EXPECT_EQ(without.parameter_count(), 5 * 3);
  EXPECT_FALSE(without.bias().defined());
}

TEST(Linear, Values) {
  Linear linear(3, 2, {.dtype = DType::f64});
  linear.load_state({{"weight", autograd::tensor({1, 0, -1, 0.5, 0.5, 0.5}, {2, 3}, DType::f64)},
                     {"bias", autograd::tensor({10, 20}, DType::f64)}});
  const Tensor x = autograd::tensor({1, 2, 3, -4, 0, 4}, {2, 1, 3}, DType::f64);
  const Tensor y = linear(x);
  EXPECT_TRUE(same_bits(y, autograd::tensor({8, 23, 2, 20}, {2, 1, 2}, DType::f64)));
  EXPECT_TRUE(same_bits(linear(x), y));
}

TEST(Linear, KeepsLeadingDims) {
  Linear linear(3, 2);
  for (const Shape& lead : {Shape{}, Shape{4}, Shape{2, 1, 4}, Shape{0}, Shape{2, 0, 3}}) {
    const Shape in = lead.inserted(lead.rank(), 3), out = lead.inserted(lead.rank(), 2);
    EXPECT_EQ(linear(autograd::ones(in)).shape(), out) << in.str();
  }
}

TEST(Linear, FollowsItsInitRule) {
  Generator a(7), b(7);
  const Linear linear(4, 3, {.init = Init::torch, .dtype = DType::f64}, a);
  const Initializer init{Init::torch, DType::f64, b};
  EXPECT_TRUE(same_bits(linear.weight(), init.weight({3, 4}, 4)));
  EXPECT_TRUE(same_bits(linear.bias(), init.bias({3}, 4)));
}

TEST(Linear, RefusesWrongInputs) {
  Linear linear(3, 2);
  EXPECT_THAT(
      [&] {
        linear(autograd::ones({2, 4}));
      },
      ThrowsMessage<ShapeError>(
          AllOf(HasSubstr("(2, 4)"), HasSubstr("(2, 3)"), HasSubstr("[in Linear]"))));
  EXPECT_THROW(linear(autograd::ones({})), ShapeError);
  EXPECT_THAT(
      [&] {
        linear(autograd::ones({2, 3}, DType::f64));
      },
      ThrowsMessage<DTypeError>(AllOf(HasSubstr("f32"), HasSubstr("f64"))));
  EXPECT_THROW(linear(autograd::arange(3)), DTypeError);
}

TEST(Linear, RefusesSizesBelowOneAndSizesThatOverflow) {
  EXPECT_THAT([] { Linear(0, 2); }, ThrowsMessage<ValueError>(HasSubstr("0 -> 2")));
  EXPECT_THROW(Linear(2, 0), ValueError);
  EXPECT_THROW(Linear(-1, 2), ValueError);
  const Index huge = std::numeric_limits<Index>::max() / 2;
  EXPECT_THROW(Linear(huge, huge), ShapeError);
}

}  // namespace
}  // namespace nn
