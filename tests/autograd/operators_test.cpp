// The forms in which users write ops: operators, members, and what argument lookup finds.

#include "autograd/operators.h"

#include <gmock/gmock.h>

#include <cmath>
#include <type_traits>

#include "tests/support/tensors.h"

namespace {

using autograd::DType;
using autograd::GraphError;
using autograd::NoGrad;
using autograd::Retain;
using autograd::Shape;
using autograd::ShapeError;
using autograd::Tensor;
using autograd::ValueError;
using test::f64;
using test::leaf;
using test::message_of;
using test::near;
using testing::HasSubstr;

TEST(Comparison, WithNumbersAndTensors) {
  const Tensor x = f64({-1, 0.5, 2, std::nan("")}), y = f64({2, 0.5, -1, 0});
  EXPECT_TRUE(near(x > 0.5, f64({0, 0, 1, 0}), 0));
  EXPECT_TRUE(near(x >= 0.5, f64({0, 1, 1, 0}), 0));
  EXPECT_TRUE(near(x < 0.5, f64({1, 0, 0, 0}), 0));
  EXPECT_TRUE(near(x <= 0.5, f64({1, 1, 0, 0}), 0));
  EXPECT_TRUE(near(x == 0.5, f64({0, 1, 0, 0}), 0));
  EXPECT_TRUE(near(x != 0.5, f64({1, 0, 1, 1}), 0));
  EXPECT_TRUE(near(0.5 < x, x > 0.5, 0));
  EXPECT_TRUE(near(0.5 <= x, x >= 0.5, 0));
  EXPECT_TRUE(near(0.5 > x, x < 0.5, 0));
  EXPECT_TRUE(near(0.5 >= x, x <= 0.5, 0));
  EXPECT_TRUE(near(0.5 == x, x == 0.5, 0));
  EXPECT_TRUE(near(0 != x, x != 0, 0));
  EXPECT_TRUE(near(x > y, f64({0, 0, 1, 0}), 0));
  EXPECT_TRUE(near(x >= y, f64({0, 1, 1, 0}), 0));
  EXPECT_TRUE(near(x < y, f64({1, 0, 0, 0}), 0));
  EXPECT_TRUE(near(x <= y, f64({1, 1, 0, 0}), 0));
  EXPECT_TRUE(near(x == y, f64({0, 1, 0, 0}), 0));
  EXPECT_TRUE(near(x != y, f64({1, 0, 1, 1}), 0));
  EXPECT_TRUE(near(autograd::tensor({0.1}) == 0.1, f64({1}), 0)) << "the number rounded to f32";
  EXPECT_EQ((x > 0).dtype(), DType::b8);
  EXPECT_EQ((x > 0).op(), "gt");
  EXPECT_FALSE((leaf({1}) > 0).requires_grad());
  static_assert(!std::is_convertible_v<Tensor, bool> && !std::is_constructible_v<bool, Tensor>,
                "if (a == b) must not compile");
}

TEST(Comparison, MakesMasksThatWhereTakes) {
  const Tensor x = leaf({-2, 3});
  const Tensor y = where((x > 0) & (x < 10), x, 0.1 * x);
  EXPECT_TRUE(near(y, f64({-0.2, 3}), 1e-16));
  EXPECT_TRUE(near(grad(y.sum(), {x})[0], f64({0.1, 1}), 0));
}

TEST(Assignment, RebindsTheHandle) {
  Tensor x = f64({1, 2});
  const Tensor before = x;
  x += 1;
  x *= f64({2, 3});
  x -= 0.5;
  x /= 2;
  EXPECT_TRUE(near(x, f64({1.75, 4.25}), 0));
  EXPECT_TRUE(near(before, f64({1, 2}), 0)) << "another handle keeps the value it had";
  const Tensor same = x;
  x -= same;
  EXPECT_TRUE(near(x, f64({0, 0}), 0));
  Tensor n = autograd::arange(3);
  (n += 1) *= n;
  EXPECT_TRUE(near(n, f64({1, 4, 9}), 0));
  Tensor undefined;
  EXPECT_THROW(undefined += x, GraphError);
}

TEST(Assignment, KeepsTheGraph) {
  const Tensor w = leaf({2, 3});
  Tensor total = autograd::zeros({}, DType::f64);
  for (int i = 1; i <= 3; ++i) total += (w * w).sum() * i;
  total /= 2;
  total.backward();
  EXPECT_TRUE(near(w.grad(), f64({12, 18}), 0));  // (1 + 2 + 3) / 2 * 2 w
  Tensor y = w * 2;
  const Tensor old = y;
  y *= y;
  EXPECT_TRUE(near(grad(y.sum(), {w}, Retain::yes)[0], f64({16, 24}), 0));  // 8 w
  EXPECT_TRUE(near(grad(old.sum(), {w})[0], f64({2, 2}), 0));
  const Tensor x = leaf({0});
  Tensor e = exp(x);
  e += 1;  // what exp saved for its gradient stays
  e.backward();
  EXPECT_EQ(x.grad().item(), 1);
}

/// As in PyTorch: an error while ops are recorded, and the step of an optimizer under NoGrad.
TEST(Assignment, OfALeaf) {
  Tensor w = leaf({2, 3});
  const Tensor other = w;
  EXPECT_THAT(message_of<GraphError>([&] { w += 1; }), HasSubstr("shift: a leaf that requires"));
  EXPECT_TRUE(near(w, f64({2, 3}), 0));
  (w * w).sum().backward();
  {
    const NoGrad no_grad;
    w -= w.grad() * 0.25;
    EXPECT_THROW(w += f64({1, 2, 3, 4}, {2, 2}), ShapeError) << "a leaf keeps its shape";
  }
  EXPECT_TRUE(w.requires_grad());
  EXPECT_TRUE(near(w, f64({1, 1.5}), 0));
  EXPECT_TRUE(near(other, f64({1, 1.5}), 0)) << "the same leaf";
  w.zero_grad();
  (w * w).sum().backward();
  EXPECT_TRUE(near(w.grad(), f64({2, 3}), 0));
}

TEST(Index, SelectsAlongTheFirstDim) {
  const Tensor x = leaf({1, 2, 3, 4, 5, 6}, {3, 2});
  EXPECT_TRUE(near(x[1], f64({3, 4}), 0));
  EXPECT_TRUE(near(x[-1][0], f64({5}, {}), 0));
  EXPECT_TRUE(near(grad((x[0] * x[2]).sum(), {x})[0], f64({5, 6, 0, 0, 1, 2}, {3, 2}), 0));
  EXPECT_THAT(message_of<ValueError>([&] { (void)x[3]; }), HasSubstr("(3, 2), got 3"));
  EXPECT_THROW((void)x[0][0][0], ShapeError);
}

TEST(Members, AreTheOps) {
  const Tensor x = leaf({1, 2, 3, 4}, {2, 2});
  EXPECT_TRUE(near(x.matmul(x), f64({7, 10, 15, 22}, {2, 2}), 0));
  EXPECT_EQ(x.view({-1}).shape(), Shape{4});
  EXPECT_TRUE(near(grad(x.view({4}).sum(), {x})[0], f64({1, 1, 1, 1}, {2, 2}), 0));
  EXPECT_TRUE(near(x.argmax(-1), f64({1, 1}), 0));
}

/// Nothing here is qualified or used: the arguments say where to look.
TEST(Lookup, FindsOpsByTheirArguments) {
  const Tensor a = leaf({1, 2}), b = leaf({3, 4});
  EXPECT_TRUE(near(concat(a, b, 0), f64({1, 2, 3, 4}), 0));
  EXPECT_TRUE(near(stack(a, b, 1), f64({1, 3, 2, 4}, {2, 2}), 0));
  const std::vector<Tensor> parts{a, b};
  EXPECT_TRUE(near(concat(parts, -1), f64({1, 2, 3, 4}), 0));
  EXPECT_TRUE(near(stack(parts, 0), f64({1, 2, 3, 4}, {2, 2}), 0));
  EXPECT_TRUE(near(grad(stack(a, b, 0).sum(), {a})[0], f64({1, 1}), 0));
}

TEST(FromValues, TakesVectors) {
  const std::vector<float> floats{0.5F, 1.5F};
  EXPECT_EQ(autograd::from_values(floats).dtype(), DType::f32);
  EXPECT_TRUE(near(autograd::from_values(floats), f64({0.5, 1.5}), 0));
  EXPECT_TRUE(near(autograd::from_values(floats, {2, 1}), f64({0.5, 1.5}, {2, 1}), 0));
  EXPECT_EQ(autograd::from_values(std::vector<std::int64_t>{3}).dtype(), DType::i64);
  EXPECT_EQ(autograd::from_values(std::vector<double>{}, {0, 2}).dtype(), DType::f64);
  EXPECT_THROW((void)autograd::from_values(floats, {3}), ShapeError);
}

}  // namespace
