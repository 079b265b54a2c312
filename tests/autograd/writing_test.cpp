#include <cmath>

#include "tests/support/tensors.h"

// Values changed in place, and what record() takes and refuses.

namespace {

using namespace autograd;
using test::f64;
using test::leaf;
using test::message_of;
using test::near;

TEST(Writing, NeverReachesWhatBackwardSaved) {
  Tensor x = leaf({1, 2});
  const Tensor y = sum(x * x);
  x.write<double>([](std::span<double> v) { v[0] = 100; });
  y.backward();
  EXPECT_TRUE(near(x.grad(), f64({2, 4}), 0));
}

TEST(Writing, AResultWithAHistoryThrows) {
  Tensor x = leaf({0});
  Tensor y = exp(x);
  const std::string text =
      message_of<GraphError>([&] { y.write<double>([](std::span<double> v) { v[0] += 1; }); });
  EXPECT_NE(text.find("exp"), std::string::npos);
  EXPECT_THROW(y.select_(0, 0) += 1.0, GraphError);
  sum(y).backward();
  EXPECT_EQ(x.grad().item(), 1);
}

TEST(Writing, OneSliceInPlace) {
  const Tensor x = f64({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {2, 3, 2});
  Tensor x2 = x.clone();
  x2.select_(1, 0) += 1.0;  // x2[:, 0, :] += 1
  EXPECT_TRUE(near(x2, f64({2, 3, 3, 4, 5, 6, 8, 9, 9, 10, 11, 12}, {2, 3, 2}), 0));
  EXPECT_EQ(x.at({0, 0, 0}), 1) << "the original keeps its values";
  x2.select_(-1, -1) = 0.0;
  EXPECT_EQ(sum(x2.select(2, 1)).item(), 0);
  x2.select_(0, 1) = f64({1, 2});
  EXPECT_TRUE(near(x2.select(0, 1), f64({1, 2, 1, 2, 1, 2}, {3, 2}), 0));
  EXPECT_THROW(x2.select_(0, 2) += 1.0, ValueError);
  x2.select_(1, 0) = x2.select_(1, 1);
  EXPECT_TRUE(near(x2.select(1, 0), x2.select(1, 1), 0));
  Tensor whole = arange(3);
  EXPECT_THROW(whole.select_(0, 1) += 0.5, ValueError);
  EXPECT_THROW(whole.select_(0, 1) = std::nan(""), ValueError);
}

TEST(Record, DropsRulesOfInputsThatNeedNone) {
  const Array saved = f64({1}).data();
  const Tensor a = leaf({1}), b = f64({1});
  const Tensor y =
      record("op", a.data(),
             {{a, [](const Array& g) { return g; }}, {b, [saved](const Array& g) { return g; }}});
  EXPECT_EQ(y.node()->edges.size(), 1u);
}

TEST(Record, RefusesAGradientOfTheWrongShape) {
  const Tensor x = leaf({1, 2, 3});
  const Tensor y = record("broken", x.data(), {{x, [](const Array&) { return f64({1}).data(); }}});
  const Scope scope("layer");
  const std::string text = message_of<GraphError>([&] { sum(y).backward(); });
  EXPECT_NE(text.find("broken"), std::string::npos) << text;
  EXPECT_NE(text.find("(1,)"), std::string::npos) << text;
  const Tensor z =
      record("broken", x.data(), {{x, [](const Array& g) { return g.to(DType::f32); }}});
  EXPECT_THROW(sum(z).backward(), GraphError);
}

TEST(RequiresGrad, IsForFloatLeaves) {
  EXPECT_THROW(arange(3).requires_grad_(), DTypeError);
  const Tensor x = leaf({1});
  Tensor y = x * 2.0;
  EXPECT_THROW(y.requires_grad_(RequiresGrad::no), GraphError);
  Tensor z = leaf({1});
  z.requires_grad_(RequiresGrad::no);
  EXPECT_FALSE(z.requires_grad());
  EXPECT_THROW((void)Tensor().shape(), GraphError);
}

}  // namespace
