#include "autograd/array/reduce.h"

#include <cmath>

#include "autograd/machine/parallel.h"
#include "tests/support/tensors.h"

namespace {

using namespace autograd;
using test::f64;
using test::near;

TEST(Sum, IsExactForManyFloatOnes) {
  const Tensor ones = full({17825792}, 1.0);
  EXPECT_EQ(sum(ones).item(), 17825792);
  EXPECT_EQ(mean(ones).item(), 1);
  EXPECT_EQ(sum(full({Index{1} << 25}, 1.0)).item(), 33554432);
}

TEST(Sum, DoesNotDriftInFloat) {
  const Tensor x = full({62500}, 1.23456);
  EXPECT_NEAR(sum(x).item(), 77160.0008, 0.5);
  EXPECT_NEAR(sum(x.reshape({62500, 1}), {0}).item(), 77160.0008, 0.5);
  EXPECT_NEAR(sum(sum(x.reshape({250, 250}), {0})).item(), 77160.0008, 0.5);
}

TEST(Sum, OverAnySetOfDims) {
  Generator generator(1);
  const Tensor x = randn({3, 4, 5, 6}, DType::f64, generator);
  for (unsigned bits = 1; bits < 16; ++bits) {
    std::vector<int> dims;
    for (int i = 0; i < 4; ++i) {
      if ((bits >> i) & 1u) dims.push_back(i);
    }
    Tensor one_by_one = x;
    for (const int dim : dims) one_by_one = sum(one_by_one, {dim}, KeepDim::yes);
    EXPECT_TRUE(near(sum(x, dims, KeepDim::yes), one_by_one, 1e-12)) << bits;
    EXPECT_TRUE(near(max(x, dims, KeepDim::yes), neg(min(neg(x), dims, KeepDim::yes)), 0)) << bits;
    EXPECT_EQ(sum(x, dims).rank(), 4 - static_cast<int>(dims.size()));
  }
}

TEST(Sum, OfNothingIsZero) {
  EXPECT_EQ(sum(zeros({0, 3})).item(), 0);
  EXPECT_TRUE(near(sum(zeros({0, 3}), {0}), zeros({3}), 0));
  EXPECT_EQ(sum(zeros({3, 0}), {0}).shape(), Shape({0}));
  EXPECT_TRUE(std::isnan(mean(zeros({0})).item()));
}

TEST(Sum, OfAScalar) {
  const Tensor x = full({}, 2.5);
  EXPECT_EQ(sum(x).item(), 2.5);
  EXPECT_EQ(sum(x, {-1}).item(), 2.5);
  EXPECT_EQ(max(x).item(), 2.5);
  EXPECT_THROW((void)sum(x, {1}), ShapeError);
}

/// In f32 the ones would vanish beside 2^24, whatever the order of the axes makes of the loops.
TEST(Sum, AccumulatesInDoubleAlongAnyAxis) {
  constexpr Index kRows = 4099, kColumns = 300;  // several chunks, and more than one block
  Array x = Array::full({kRows, kColumns}, 1, DType::f32);
  x.write<float>([](std::span<float> v) {
    for (Index j = 0; j < kColumns; ++j) v[static_cast<std::size_t>(j)] = 0x1p25F;
    for (Index i = 0; i < kRows; ++i) v[static_cast<std::size_t>(i * kColumns)] = 0x1p25F;
  });
  const double of_column = 0x1p25 + (kRows - 1), of_row = 0x1p25 + (kColumns - 1);
  const Array columns = sum(x, 0, KeepDim::no), rows = sum(x, 1, KeepDim::no);
  for (Index j = 1; j < kColumns; ++j) {
    ASSERT_EQ(columns.at(j), static_cast<float>(of_column)) << j;
  }
  for (Index i = 1; i < kRows; ++i) ASSERT_EQ(rows.at(i), static_cast<float>(of_row)) << i;
  const Array middle = sum(x.reshape({1, kRows, kColumns}), 1, KeepDim::no);
  EXPECT_TRUE(bit_equal(middle.reshape({kColumns}), columns));
  EXPECT_TRUE(bit_equal(sum_to(x, {1, kColumns}).reshape({kColumns}), columns));
  const Array first = sum(x.reshape({kRows * kColumns}), 0, KeepDim::no);
  const double corner = 0x1p25 * (kRows + kColumns - 1) + (kRows - 1.0) * (kColumns - 1.0);
  EXPECT_EQ(first.at(0), static_cast<float>(corner));
}

TEST(Sum, RefusesADimTwice) { EXPECT_THROW((void)sum(zeros({2, 2}), {0, -2}), ShapeError); }

TEST(Max, LetsNanWin) {
  const double nan = std::nan("");
  EXPECT_TRUE(std::isnan(max(f64({1, nan, 3})).item()));
  EXPECT_TRUE(std::isnan(max(f64({nan, 1, 3})).item()));
  EXPECT_TRUE(std::isnan(min(f64({1, 3, nan})).item()));
  EXPECT_EQ(argmax(f64({1, nan, 3, nan}), 0).item(), 1);
  EXPECT_EQ(argmax(f64({1, 3, 3}), 0).item(), 1);
  EXPECT_EQ(argmax(f64({1, 9, 3, 4}, {2, 2}), 0).at({1}), 0);
}

TEST(Max, OverNothingThrows) {
  EXPECT_THROW((void)max(zeros({0})), ShapeError);
  EXPECT_THROW((void)max(zeros({3, 0}), {1}), ShapeError);
  EXPECT_EQ(max(zeros({3, 0}), {0}).shape(), Shape({0}));
}

TEST(Reduce, HasTheSameBitsForAnyThreadCount) {
  Generator generator(2);
  const Array wide = normal({100003}, 0, 1, DType::f32, generator.next());
  const Array tall = normal({5000, 33}, 0, 1, DType::f32, generator.next());
  const int before = num_threads();
  set_num_threads(1);
  const Array total = sum(wide), columns = sum(tall, 0, KeepDim::no),
              rows = sum(tall, 1, KeepDim::no);
  for (const int threads : {2, 3, 4, 8}) {
    set_num_threads(threads);
    EXPECT_TRUE(bit_equal(sum(wide), total));
    EXPECT_TRUE(bit_equal(sum(tall, 0, KeepDim::no), columns));
    EXPECT_TRUE(bit_equal(sum(tall, 1, KeepDim::no), rows));
  }
  set_num_threads(before);
}

}  // namespace
