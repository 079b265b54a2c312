// gather, scatter_add, index_select and one_hot, with the numbers of PyTorch's documentation or
// worked out by hand.

#include <gmock/gmock.h>

#include <limits>

#include "autograd/machine/parallel.h"
#include "tests/support/tensors.h"

namespace {

using namespace autograd;
using test::f64;
using test::leaf;
using test::message_of;
using test::near;
using testing::HasSubstr;

Tensor i64(std::initializer_list<double> values) { return tensor(values, DType::i64); }
Tensor i64(std::initializer_list<double> values, const Shape& shape) {
  return tensor(values, shape, DType::i64);
}

TEST(Gather, TakesAnElementForEachIndex) {
  const Tensor x = leaf({1, 2, 3, 4}, {2, 2}), at = i64({0, 0, 1, 0}, {2, 2});
  for (const int dim : {1, -1}) EXPECT_TRUE(near(gather(x, dim, at), f64({1, 1, 4, 3}, {2, 2}), 0));
  EXPECT_TRUE(near(x.gather(0, at), f64({1, 2, 3, 2}, {2, 2}), 0));
  gather(x, 1, at).sum().backward();
  EXPECT_TRUE(near(x.grad(), f64({2, 0, 1, 1}, {2, 2}), 0));
}

TEST(Gather, AddsGradientsOfEqualIndices) {
  const Tensor x = leaf({0.1});
  gather(x, 0, i64({0, 0})).backward(f64({0.2, 0.3}));
  EXPECT_TRUE(near(x.grad(), f64({0.5}), 0));
}

TEST(Gather, TakesAnIndexThatIsShorterBesideTheDim) {
  const Tensor x = leaf({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {2, 2, 3});
  const Tensor y = gather(x, 1, i64({1, 0, 0, 1, 1, 1}, {1, 3, 2}));
  EXPECT_TRUE(near(y, f64({4, 2, 1, 5, 4, 5}, {1, 3, 2}), 0));
  y.backward(f64({1, 2, 3, 4, 5, 6}, {1, 3, 2}));
  EXPECT_TRUE(near(x.grad(), f64({3, 2, 0, 6, 10, 0, 0, 0, 0, 0, 0, 0}, {2, 2, 3}), 0));
}

TEST(Gather, OfOneRowByLongerColumnsIsNoBroadcast) {
  const Tensor x = leaf({1, 2, 3}, {1, 3});
  gather(x, 0, i64({0, 0, 0, 0, 0, 0}, {2, 3})).backward(f64({1, 2, 3, 4, 5, 6}, {2, 3}));
  EXPECT_TRUE(near(x.grad(), f64({5, 7, 9}, {1, 3}), 0));
}

TEST(Gather, TakesScalarsAndNothing) {
  const Tensor x = leaf({7}, {});
  EXPECT_TRUE(near(gather(x, 0, i64({0}, {})), f64({7}, {}), 0));
  EXPECT_TRUE(near(gather(x, -1, i64({0, 0})), f64({7, 7}), 0));
  EXPECT_TRUE(near(gather(f64({1, 2}), 0, i64({1}, {})), f64({2}, {}), 0));
  gather(x, 0, i64({0, 0, 0})).sum().backward();
  EXPECT_TRUE(near(x.grad(), f64({3}, {}), 0));
  EXPECT_EQ(gather(f64({1, 2}), 0, i64({}, {0})).shape(), Shape({0}));
  EXPECT_EQ(gather(zeros({2, 0}), 1, i64({}, {2, 0})).shape(), Shape({2, 0}));
}

TEST(Gather, KeepsIntegersAndMasks) {
  const Tensor mask = tensor({1, 0, 1}, DType::b8), at = i64({1, 2, 2, 0});
  EXPECT_TRUE(bit_equal(gather(mask, 0, at).data(), tensor({0, 1, 1, 1}, DType::b8).data()));
  const std::int64_t big[] = {(std::int64_t{1} << 53) + 1, -3};
  const Tensor y = gather(from_values<std::int64_t>(big, {2}), 0, i64({1, 0}));
  EXPECT_EQ(y.data().read<std::int64_t>()[1], big[0]);
}

TEST(ScatterAdd, AddsWhereTheIndexSays) {
  const Tensor x = zeros({3, 5}, DType::f64).requires_grad_();
  const Tensor src = ones({2, 5}, DType::f64).requires_grad_();
  const Tensor at = i64({0, 1, 2, 0, 0, 0, 1, 2, 2, 2}, {2, 5});
  const Tensor want = f64({2, 0, 0, 1, 1, 0, 2, 0, 0, 0, 0, 0, 2, 1, 1}, {3, 5});
  EXPECT_TRUE(near(scatter_add(x, 0, at, src), want, 0));
  EXPECT_TRUE(near(x, zeros({3, 5}, DType::f64), 0));
  const Tensor seed = (arange(15).to(DType::f64) + 1.0).reshape({3, 5});
  x.scatter_add(-2, at, src).backward(seed);
  EXPECT_TRUE(near(x.grad(), seed, 0));
  EXPECT_TRUE(near(src.grad(), f64({1, 7, 13, 4, 5, 1, 7, 13, 14, 15}, {2, 5}), 0));
}

TEST(ScatterAdd, GivesARowThatLooksBroadcastItsOwnGradient) {
  const Tensor x = zeros({2, 2}, DType::f64).requires_grad_(), src = leaf({1, 1}, {1, 2});
  scatter_add(x, 0, i64({1, 0}, {1, 2}), src).backward(f64({1, 2, 3, 4}, {2, 2}));
  EXPECT_TRUE(near(src.grad(), f64({3, 2}, {1, 2}), 0));
}

TEST(ScatterAdd, AddsInTheOrderOfTheIndex) {
  const Tensor at = i64({0, 0, 0});
  EXPECT_EQ(scatter_add(zeros({1}), 0, at, tensor({1e8, 1, -1e8})).item(), 0);
  EXPECT_EQ(scatter_add(zeros({1}), 0, at, tensor({1e8, -1e8, 1})).item(), 1);
  const Tensor twice = zeros({2, 3}, DType::i64);
  const Tensor src = tensor({1e8, 1, -1e8, 1e8, -1e8, 1}, {2, 3});
  EXPECT_TRUE(near(scatter_add(zeros({2, 1}), 1, twice, src), tensor({0, 1}, {2, 1}), 0));
  EXPECT_TRUE(near(scatter_add(zeros({1, 2}), 0, twice.reshape({3, 2}), src.transpose(0, 1)),
                   tensor({0, 1}, {1, 2}), 0));
}

TEST(ScatterAdd, CountsAndWrapsIntegers) {
  const Tensor words = i64({2, 0, 2, 2, 1});
  const Tensor counts = scatter_add(zeros({4}, DType::i64), 0, words, ones_like(words));
  EXPECT_TRUE(bit_equal(counts.data(), i64({1, 1, 3, 0}).data()));
  const std::int64_t most[] = {std::numeric_limits<std::int64_t>::max()};
  const Tensor sum = scatter_add(from_values<std::int64_t>(most, {1}), 0, i64({0}), i64({1}));
  EXPECT_EQ(sum.data().read<std::int64_t>()[0], std::numeric_limits<std::int64_t>::min());
}

TEST(ScatterAdd, TakesScalarsAndNothing) {
  EXPECT_TRUE(near(scatter_add(f64({1}, {}), 0, i64({0, 0}), f64({2, 3})), f64({6}, {}), 0));
  EXPECT_TRUE(near(scatter_add(f64({1, 2}), 0, i64({1}, {}), f64({5}, {})), f64({1, 7}), 0));
  const Tensor src = zeros({0}, DType::f64).requires_grad_(), x = leaf({1, 2});
  const Tensor y = scatter_add(x, 0, i64({}, {0}), src);
  y.sum().backward();
  EXPECT_TRUE(near(y, f64({1, 2}), 0));
  EXPECT_TRUE(near(x.grad(), f64({1, 1}), 0));
  EXPECT_EQ(src.grad().shape(), Shape({0}));
}

TEST(IndexSelect, TakesWholeSlices) {
  const Tensor x = leaf({1, 2, 3, 4, 5, 6}, {2, 3}), at = i64({2, 0, 2});
  EXPECT_TRUE(near(index_select(x, 1, at), f64({3, 1, 3, 6, 4, 6}, {2, 3}), 0));
  EXPECT_TRUE(near(x.index_select(0, i64({1})), f64({4, 5, 6}, {1, 3}), 0));
  EXPECT_TRUE(near(index_select(x, -2, i64({0}, {})), f64({1, 2, 3}, {1, 3}), 0));
  index_select(x, -1, at).backward(f64({1, 2, 3, 4, 5, 6}, {2, 3}));
  EXPECT_TRUE(near(x.grad(), f64({2, 0, 4, 5, 0, 10}, {2, 3}), 0));
}

TEST(IndexSelect, TakesScalarsMasksAndNothing) {
  EXPECT_TRUE(near(index_select(f64({7}, {}), 0, i64({0})), f64({7}, {}), 0));
  EXPECT_EQ(index_select(zeros({2, 3}), 1, i64({}, {0})).shape(), Shape({2, 0}));
  EXPECT_EQ(index_select(zeros({2, 0, 3}), 0, i64({1, 1, 0})).shape(), Shape({3, 0, 3}));
  EXPECT_EQ(index_select(tensor({1, 0}, DType::b8), 0, i64({1})).dtype(), DType::b8);
  const Tensor x = zeros({2, 0}, DType::f64).requires_grad_();
  index_select(x, 0, i64({1, 1, 1})).sum().backward();
  EXPECT_EQ(x.grad().shape(), Shape({2, 0}));
}

TEST(OneHot, HasAOneAtEachIndex) {
  const Tensor y = one_hot(i64({0, 2, 1}));
  EXPECT_TRUE(bit_equal(y.data(), i64({1, 0, 0, 0, 0, 1, 0, 1, 0}, {3, 3}).data()));
  EXPECT_TRUE(bit_equal(one_hot(i64({1}, {1, 1}), 3).data(), i64({0, 1, 0}, {1, 1, 3}).data()));
  EXPECT_TRUE(bit_equal(one_hot(i64({1}, {}), 2).data(), i64({0, 1}).data()));
  EXPECT_EQ(one_hot(i64({}, {2, 0}), 4).shape(), Shape({2, 0, 4}));
}

/// The names of the op, and of what was wrong, with the size that it had to fit.
TEST(Index, OutOfRangeIsNamed) {
  const Tensor x = zeros({2, 3});
  const auto says = [](auto call, const char* text) {
    EXPECT_THAT(message_of<ValueError>(call), HasSubstr(text));
  };
  says(
      [&] {
        (void)gather(x, 1, i64({0, 3}, {2, 1}));
      },
      "gather: expected indices in [0, 3), got 3 at position 1 of (2, 1)");
  says(
      [&] {
        (void)scatter_add(x, 0, i64({0, -1}, {1, 2}), zeros({1, 2}));
      },
      "scatter_add: expected indices in [0, 2), got -1 at position 1 of (1, 2)");
  says(
      [&] {
        (void)index_select(x, 0, i64({1, 0, 2}));
      },
      "index_select: expected indices in [0, 2), got 2 at position 2 of (3,)");
  says([&] { (void)gather(zeros({0}), 0, i64({0})); }, "[0, 0), got 0");
  says([&] { (void)one_hot(i64({0, 5}), 5); }, "one_hot: expected indices in [0, 5), got 5");
  says([&] { (void)one_hot(i64({2, -1})); }, "one_hot: expected indices in [0, 3), got -1");
  says([&] { (void)one_hot(i64({-1})); }, "one_hot: expected indices in [0, 1), got -1");
  says([&] { (void)one_hot(i64({}, {0})); }, "one_hot: expected num_classes");
  says([&] { (void)one_hot(i64({0}), 0); }, "one_hot: expected num_classes >= 1, got 0");
}

TEST(Index, ShapesAndDTypesThatDoNotFitAreNamed) {
  const Tensor x = zeros({2, 3});
  const auto shape = [](auto call, const char* text) {
    EXPECT_THAT(message_of<ShapeError>(call), HasSubstr(text));
  };
  shape([&] { (void)gather(x, 1, i64({0})); }, "gather: expected an index that fits into (2, 3)");
  shape([&] { (void)gather(x, 1, i64({0, 0, 0}, {3, 1})); }, "but for dim 1, got (3, 1)");
  shape([&] { (void)gather(x, 2, i64({0})); }, "gather: expected a dim in [-2, 2)");
  shape(
      [&] {
        (void)scatter_add(x, 1, i64({0}, {1, 1}), zeros({1, 2}));
      },
      "scatter_add: expected src in the shape of the index, (1, 1), got (1, 2)");
  shape([&] { (void)index_select(x, 1, i64({0}, {1, 1})); }, "index_select: expected an index");
  shape([&] { (void)index_select(zeros({}), 0, i64({0, 0})); }, "index_select: ");
  const auto dtype = [](auto call, const char* text) {
    EXPECT_THAT(message_of<DTypeError>(call), HasSubstr(text));
  };
  dtype([&] { (void)gather(x, 1, zeros({2, 1})); }, "gather: expected indices of i64, got f32");
  dtype([&] { (void)index_select(x, 1, zeros({1})); }, "index_select: expected indices of i64");
  dtype([&] { (void)one_hot(zeros({1})); }, "one_hot: expected indices of i64, got f32");
  dtype(
      [&] {
        (void)scatter_add(x, 0, i64({0}, {1, 1}), f64({1}, {1, 1}));
      },
      "scatter_add: expected equal dtypes, got f32 and f64");
  const Tensor mask = tensor({1}, DType::b8);
  dtype([&] { (void)scatter_add(mask, 0, i64({0}), mask); }, "scatter_add: expected f32, f64 or");
}

/// Every row to one place, by all ways there are: no count is lost, and no bit depends on threads.
TEST(Index, CollisionsAddUpOnAnyNumberOfThreads) {
  const SmallPieces small;
  const int before = num_threads();
  constexpr Index n = 5000, columns = 64;
  const Tensor rows = full({n}, 3, DType::i64), lines = full({n, columns}, 3, DType::i64);
  const Tensor sideways = full({columns, n}, 3, DType::i64);
  Generator generator(8);
  const Tensor noise = randn({n, columns}, DType::f32, generator);
  const Tensor mixed = randint(10, {n, columns}, DType::i64, generator);
  Array first;
  for (int threads = 1; threads <= 4; ++threads) {
    set_num_threads(threads);
    const Tensor a = zeros({10, columns}).requires_grad_(), b = zeros_like(a).requires_grad_();
    const Tensor c = zeros({columns, 10}).requires_grad_();
    index_select(a, 0, rows).sum().backward();
    gather(b, 0, lines).sum().backward();
    gather(c, 1, sideways).sum().backward();
    EXPECT_EQ(a.grad().at({3, 5}), n);
    EXPECT_EQ(a.grad().sum().item(), n * columns);
    EXPECT_TRUE(bit_equal(b.grad().data(), a.grad().data()));
    EXPECT_TRUE(bit_equal(c.grad().detach().transpose(0, 1).data(), a.grad().data()));
    const Tensor sums = scatter_add(zeros({10, columns}), 0, mixed, noise);
    if (threads == 1) first = sums.data();
    EXPECT_TRUE(bit_equal(sums.data(), first)) << threads << " threads";
  }
  set_num_threads(before);
}

}  // namespace
