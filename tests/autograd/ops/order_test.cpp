// sort, topk and cumsum: order among NaN, equal numbers and integers, and running sums.

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "tests/support/tensors.h"

namespace {

using namespace autograd;
using test::f64;
using test::leaf;
using test::message_of;
using test::near;
using testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

Tensor indices(std::initializer_list<double> values) { return tensor(values, DType::i64); }
Tensor indices(std::initializer_list<double> values, const Shape& shape) {
  return tensor(values, shape, DType::i64);
}

void expect_sorted(const Sorted& got, const Tensor& values, const Tensor& at) {
  EXPECT_TRUE(near(got.values, values, 0));
  EXPECT_TRUE(bit_equal(got.indices.data(), at.data())) << got.indices;
}

TEST(Sort, GoesAlongAnyDim) {
  const Tensor x = f64({3, 1, 2, 0, 5, 4}, {2, 3});
  expect_sorted(sort(x), f64({1, 2, 3, 0, 4, 5}, {2, 3}), indices({1, 2, 0, 0, 2, 1}, {2, 3}));
  expect_sorted(x.sort(-2), f64({0, 1, 2, 3, 5, 4}, {2, 3}), indices({1, 0, 0, 0, 1, 1}, {2, 3}));
  expect_sorted(sort(x, 1, Descending::yes), f64({3, 2, 1, 5, 4, 0}, {2, 3}),
                indices({0, 2, 1, 1, 2, 0}, {2, 3}));
  EXPECT_TRUE(bit_equal(argsort(x).data(), sort(x).indices.data()));
  EXPECT_TRUE(
      bit_equal(x.argsort(0, Descending::yes).data(), indices({0, 1, 1, 1, 0, 0}, {2, 3}).data()));
}

/// 0, 1, 0, 1, ...: what torch.sort(stable=True) is documented to give.
TEST(Sort, KeepsTheOrderOfEquals) {
  std::vector<double> bits(18), even_first(18);
  for (std::size_t i = 0; i < 18; ++i) {
    bits[i] = static_cast<double>(i % 2);
    even_first[i] = static_cast<double>(i < 9 ? 2 * i : 2 * (i - 9) + 1);
  }
  const Tensor x = from_values<double>(bits, {18});
  EXPECT_EQ(test::values_of(sort(x).indices), even_first);
  std::rotate(even_first.begin(), even_first.begin() + 9, even_first.end());
  EXPECT_EQ(test::values_of(sort(x, 0, Descending::yes).indices), even_first);
  EXPECT_TRUE(bit_equal(argsort(f64({0, -0.0, 0})).data(), indices({0, 1, 2}).data()));
}

TEST(Sort, TakesNaNForTheLargest) {
  const Tensor x = f64({3, kNan, 1, kInf, -kInf, kNan});
  expect_sorted(sort(x), f64({-kInf, 1, 3, kInf, kNan, kNan}), indices({4, 2, 0, 3, 1, 5}));
  expect_sorted(sort(x, 0, Descending::yes), f64({kNan, kNan, kInf, 3, 1, -kInf}),
                indices({1, 5, 3, 0, 2, 4}));
  expect_sorted(topk(x, 3), f64({kNan, kNan, kInf}), indices({1, 5, 3}));
  expect_sorted(topk(x, 2, 0, Largest::no), f64({-kInf, 1}), indices({4, 2}));
}

TEST(Sort, OrdersIntegersAndMasks) {
  const std::int64_t big = std::int64_t{1} << 53;
  const std::int64_t values[] = {big + 1, -big - 1, big, 7};
  const Sorted got = sort(from_values<std::int64_t>(values, {4}));
  EXPECT_TRUE(bit_equal(got.indices.data(), indices({1, 3, 2, 0}).data()));
  EXPECT_EQ(got.values.data().read<std::int64_t>()[3], big + 1);
  const Sorted mask = sort(tensor({1, 0, 1, 0}, DType::b8));
  EXPECT_EQ(mask.values.dtype(), DType::b8);
  EXPECT_TRUE(bit_equal(mask.indices.data(), indices({1, 3, 0, 2}).data()));
}

TEST(Sort, TakesScalarsAndNothing) {
  expect_sorted(sort(f64({7}, {})), f64({7}, {}), indices({0}, {}));
  expect_sorted(topk(f64({7}, {}), 1), f64({7}, {}), indices({0}, {}));
  EXPECT_EQ(sort(zeros({0})).values.shape(), Shape({0}));
  EXPECT_EQ(sort(zeros({0, 3}), 1).indices.shape(), Shape({0, 3}));
  EXPECT_EQ(sort(zeros({3, 0}), 0).indices.shape(), Shape({3, 0}));
  EXPECT_EQ(topk(zeros({2, 3}), 0).values.shape(), Shape({2, 0}));
}

TEST(Sort, SendsGradientsBackToWhereValuesWere) {
  const Tensor x = leaf({3, 1, 2});
  sort(x).values.backward(f64({10, 20, 30}));
  EXPECT_TRUE(near(x.grad(), f64({30, 10, 20}), 0));
  const Tensor y = leaf({3, 1, 2, 9}, {2, 2});
  topk(y, 1, -1).values.backward(f64({5, 7}, {2, 1}));
  EXPECT_TRUE(near(y.grad(), f64({5, 0, 0, 7}, {2, 2}), 0));
  EXPECT_FALSE(sort(x).indices.requires_grad());
}

/// Rows full of equal numbers, against std::stable_sort of pairs.
TEST(Sort, AgreesWithASecondMethod) {
  Generator generator(3);
  for (const Index n : {1, 2, 17, 100, 1000}) {
    const Tensor x = randint(-20, 20, {n}, DType::f64, generator);
    const std::vector<double> values = test::values_of(x);
    std::vector<double> up(values.size());
    std::iota(up.begin(), up.end(), 0);
    std::vector<double> down = up;
    const auto value = [&](double i) { return values[static_cast<std::size_t>(i)]; };
    std::ranges::stable_sort(up, std::less<>(), value);
    std::ranges::stable_sort(down, std::greater<>(), value);
    EXPECT_EQ(test::values_of(argsort(x)), up);
    EXPECT_EQ(test::values_of(argsort(x, 0, Descending::yes)), down);
    for (const Index k : {Index{0}, Index{1}, n / 2, n}) {
      const std::vector<double> first(down.begin(), down.begin() + k);
      EXPECT_EQ(test::values_of(topk(x, k).indices), first);
    }
  }
}

TEST(TopK, TakesTheFirstOfEquals) {
  const Tensor x = f64({1, 3, 3, 2});
  expect_sorted(topk(x, 1), f64({3}), indices({1}));
  expect_sorted(x.topk(3), f64({3, 3, 2}), indices({1, 2, 3}));
  expect_sorted(topk(arange(1, 6), 3), f64({5, 4, 3}), indices({4, 3, 2}));
}

TEST(TopK, NamesABadK) {
  const Tensor x = zeros({2, 3});
  EXPECT_THAT(message_of<ValueError>([&] { (void)topk(x, 4); }),
              HasSubstr("topk: expected k in [0, 3] along dim -1 of (2, 3), got 4"));
  EXPECT_THAT(message_of<ValueError>([&] { (void)topk(x, -1, 0); }), HasSubstr("got -1"));
  EXPECT_THAT(message_of<Error>([&] { (void)topk(zeros({}), 2); }), HasSubstr("topk: "));
  EXPECT_THAT(message_of<ShapeError>([&] { (void)sort(x, 2); }), HasSubstr("sort: "));
}

TEST(CumSum, RunsAlongAnyDim) {
  const Tensor x = leaf({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_TRUE(near(cumsum(x, 1), f64({1, 3, 6, 4, 9, 15}, {2, 3}), 0));
  EXPECT_TRUE(near(x.cumsum(-2), f64({1, 2, 3, 5, 7, 9}, {2, 3}), 0));
  cumsum(x, -1).backward(f64({1, 10, 100, 2, 20, 200}, {2, 3}));
  EXPECT_TRUE(near(x.grad(), f64({111, 110, 100, 222, 220, 200}, {2, 3}), 0));
  EXPECT_TRUE(near(cumsum(f64({1, kNan, 2}), 0), f64({1, kNan, kNan}), 0));
}

TEST(CumSum, TakesScalarsAndNothing) {
  EXPECT_TRUE(near(cumsum(f64({7}, {}), 0), f64({7}, {}), 0));
  EXPECT_EQ(cumsum(zeros({0}), 0).shape(), Shape({0}));
  EXPECT_EQ(cumsum(zeros({2, 0, 3}), 0).shape(), Shape({2, 0, 3}));
  EXPECT_THAT(message_of<ShapeError>([] { (void)cumsum(zeros({2}), 1); }), HasSubstr("cumsum: "));
}

TEST(CumSum, CountsInIntegers) {
  const Tensor counted = cumsum(tensor({1, 0, 1, 1}, DType::b8), 0);
  EXPECT_TRUE(bit_equal(counted.data(), indices({1, 1, 2, 3}).data()));
  const std::int64_t big = std::int64_t{1} << 53;
  const std::int64_t values[] = {big, 1, std::numeric_limits<std::int64_t>::max() - big};
  const Tensor sums = cumsum(from_values<std::int64_t>(values, {3}), 0);
  EXPECT_EQ(sums.data().read<std::int64_t>()[1], big + 1);
  EXPECT_EQ(sums.data().read<std::int64_t>()[2], std::numeric_limits<std::int64_t>::min());
}

/// A running sum in f32 would stay at 2^24.
TEST(CumSum, DoesNotLoseSmallTerms) {
  const Tensor y = cumsum(tensor({0x1p24, 1, 1, 1, 1}), 0);
  EXPECT_TRUE(near(y, tensor({0x1p24, 0x1p24, 0x1p24 + 2, 0x1p24 + 4, 0x1p24 + 4}), 0));
}

/// Several blocks of columns, against sums of parts.
TEST(CumSum, AgreesWithSumsOfParts) {
  Generator generator(5);
  const Tensor x = randn({3, 4, 130}, DType::f64, generator);
  const Tensor y = cumsum(x, 1);
  for (Index k = 0; k < 4; ++k) {
    EXPECT_TRUE(near(y.select(1, k), x.narrow(1, 0, k + 1).sum({1}), 1e-14));
  }
}

}  // namespace
