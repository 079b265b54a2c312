// Arithmetic of i64, alone and beside numbers.

#include <gmock/gmock.h>

#include <limits>

#include "tests/support/tensors.h"

namespace {

using namespace autograd;
using test::f64;
using test::message_of;
using test::near;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kBeyondDouble = (std::int64_t{1} << 53) + 1;

Tensor i64(std::vector<std::int64_t> values) { return from_values(values); }

std::vector<std::int64_t> elements(const Tensor& t) {
  const Array a = t.data();
  const auto x = a.read<std::int64_t>();
  return {x.begin(), x.end()};
}

TEST(Integers, AddSubtractAndMultiply) {
  const Tensor a = i64({7, -3, kBeyondDouble}), b = i64({2, 5, 1});
  EXPECT_THAT(elements(a + b), ElementsAre(9, 2, kBeyondDouble + 1));
  EXPECT_THAT(elements(a - b), ElementsAre(5, -8, kBeyondDouble - 1));
  EXPECT_THAT(elements(a * b), ElementsAre(14, -15, kBeyondDouble));
  EXPECT_THAT(elements(-a), ElementsAre(-7, 3, -kBeyondDouble));
  EXPECT_THAT(elements(a + i64({10}).reshape({})), ElementsAre(17, 7, kBeyondDouble + 10));
  EXPECT_EQ((arange(6).reshape({2, 3}) * arange(3)).shape(), (Shape{2, 3}));
  EXPECT_EQ(elements(arange(0) + arange(0)).size(), 0u);
}

TEST(Integers, WrapAround) {
  EXPECT_THAT(elements(i64({kMost}) + i64({1})), ElementsAre(kLeast));
  EXPECT_THAT(elements(i64({kLeast}) - 1), ElementsAre(kMost));
  EXPECT_THAT(elements(i64({kMost}) * 2), ElementsAre(-2));
  EXPECT_THAT(elements(-i64({kLeast})), ElementsAre(kLeast));
  EXPECT_THAT(elements(sum(i64({kMost, 2}))), ElementsAre(kLeast + 1));
  EXPECT_THAT(elements(floor_divide(i64({kLeast}), -1)), ElementsAre(kLeast));
  EXPECT_THAT(elements(remainder(i64({kLeast}), -1)), ElementsAre(0));
}

TEST(Integers, AreSummedExactly) {
  EXPECT_THAT(elements(sum(i64({kBeyondDouble, kBeyondDouble}))), ElementsAre(2 * kBeyondDouble));
  const Tensor x = arange(24).reshape({2, 3, 4});
  EXPECT_THAT(elements(x.sum({0, 2})), ElementsAre(60, 92, 124));
  EXPECT_EQ(x.sum({0, 2}, KeepDim::yes).shape(), (Shape{1, 3, 1}));
  EXPECT_THAT(elements(x.sum(1).sum()), ElementsAre(276));
  EXPECT_THAT(message_of<DTypeError>([&] { x.mean(); }), HasSubstr("mean: "));
}

TEST(Integers, BesideNumbers) {
  EXPECT_THAT(elements(arange(3) * 2), ElementsAre(0, 2, 4));
  EXPECT_THAT(elements(10 - arange(3)), ElementsAre(10, 9, 8));
  EXPECT_THAT(elements(1 + arange(3) - kBeyondDouble),
              ElementsAre(1 - kBeyondDouble, 2 - kBeyondDouble, 3 - kBeyondDouble));
  const Tensor half = arange(3) * 0.5;
  EXPECT_EQ(half.dtype(), DType::f32) << "as in PyTorch";
  EXPECT_TRUE(near(half, f64({0, 0.5, 1}), 0));
  for (const Tensor& x : {arange(3) + 1.0, 1.0 + arange(3), 2 * (0.5 + arange(3) * 0.5),
                          4.0 - (3.0 - arange(3)), arange(3) - -1.0}) {
    EXPECT_EQ(x.dtype(), DType::f32);
    EXPECT_TRUE(near(x, f64({1, 2, 3}), 0));
  }
  const Tensor b8 = eq(arange(2), arange(2));
  EXPECT_THAT(message_of<DTypeError>([&] { (void)(b8 * 2); }), HasSubstr("got b8"));
  EXPECT_THAT(message_of<DTypeError>([&] { (void)(b8 + b8); }), HasSubstr("add: "));
  EXPECT_THAT(message_of<DTypeError>([] {
                (void)(arange(2) * tensor({1, 2}));
              }),
              HasSubstr("mul: expected equal dtypes, got i64 and f32"));
}

TEST(Integers, FloatsBesideWholeNumbersStay) {
  const Tensor x = tensor({0.5});
  for (const Tensor& y : {x + 1, 1 + x, x * 3, 3 - x - 1, x / 2 + 1.25}) {
    EXPECT_EQ(y.dtype(), DType::f32);
    EXPECT_TRUE(near(y, f64({1.5}), 0));
  }
}

TEST(Integers, DivideAsNumbersOfF32) {
  for (const Tensor& x : {arange(3) / 2, arange(3) / 2.0, arange(3) / i64({2})}) {
    EXPECT_EQ(x.dtype(), DType::f32);
    EXPECT_TRUE(near(x, f64({0, 0.5, 1}), 0));
  }
  EXPECT_TRUE(near(1 / i64({2, 0}), f64({0.5, INFINITY}), 0));
}

/// Python: -7 // 2 = -4, -7 % 2 = 1, 7 // -2 = -4, 7 % -2 = -1.
TEST(Integers, DivideRoundingDown) {
  const Tensor a = i64({7, -7, 7, -7, 6, -6, 0}), b = i64({2, 2, -2, -2, 3, 3, -5});
  EXPECT_THAT(elements(floor_divide(a, b)), ElementsAre(3, -4, -4, 3, 2, -2, 0));
  EXPECT_THAT(elements(a % b), ElementsAre(1, 1, -1, -1, 0, 0, 0));
  EXPECT_TRUE(all(floor_divide(a, b) * b + a % b == a).item());
  const Tensor flat = arange(12);
  EXPECT_THAT(elements(floor_divide(flat, 4).select(0, 11)), ElementsAre(2));
  EXPECT_THAT(elements(flat.narrow(0, 9, 3) % 4), ElementsAre(1, 2, 3));
  EXPECT_THAT(message_of<ValueError>([&] { floor_divide(a, 0); }),
              HasSubstr("floor_divide: expected divisors other than 0"));
  EXPECT_THAT(message_of<ValueError>([&] { (void)(a % (b * 0)); }), HasSubstr("remainder: "));
  EXPECT_THAT(message_of<DTypeError>([] { floor_divide(tensor({1}), tensor({2})); }),
              HasSubstr("floor_divide: expected i64, got f32"));
  EXPECT_THAT(message_of<DTypeError>([&] { remainder(tensor({1}), i64({1})); }),
              HasSubstr("remainder: "));
}

TEST(Integers, CompareExactlyWithNumbers) {
  const Tensor x = i64({kBeyondDouble - 1, kBeyondDouble});
  EXPECT_TRUE(near(x == kBeyondDouble, f64({0, 1}), 0));
  EXPECT_TRUE(near(x == static_cast<double>(kBeyondDouble), f64({1, 0}), 0)) << "2^53";
  EXPECT_TRUE(near(arange(3) > 0.5, f64({0, 1, 1}), 0));
  EXPECT_TRUE(near(arange(3) == 0.5, f64({0, 0, 0}), 0));
  EXPECT_TRUE(near(arange(3) <= 1, f64({1, 1, 0}), 0));
  EXPECT_TRUE(near(i64({kMost, kLeast}) < 0x1p63, f64({1, 1}), 0));
  EXPECT_TRUE(near(i64({kMost, kLeast}) >= -0x1p63, f64({1, 1}), 0));
  EXPECT_TRUE(near(arange(2) < INFINITY, f64({1, 1}), 0));
  EXPECT_TRUE(near(arange(2) != std::nan(""), f64({1, 1}), 0));
  EXPECT_TRUE(near((arange(2) == arange(2)) == true, f64({1, 1}), 0));
}

}  // namespace
