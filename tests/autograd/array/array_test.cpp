#include "autograd/array/array.h"

#include <cmath>
#include <limits>
#include <thread>

#include "autograd/array/elementwise.h"
#include "autograd/array/layout.h"
#include "tests/support/tensors.h"

namespace {

using namespace autograd;
using test::f64;
using test::message_of;
using test::near;

Array of(std::initializer_list<double> values) { return f64(values).data(); }

TEST(Array, CopiesShareUntilOneIsWritten) {
  Array a = of({1, 2, 3});
  const Array saved = a;
  EXPECT_TRUE(a.shares_memory_with(saved));
  a.write<double>([](std::span<double> x) { x[0] = 5; });
  EXPECT_FALSE(a.shares_memory_with(saved));
  EXPECT_EQ(saved.at(0), 1);
  EXPECT_EQ(a.at(0), 5);
  const double* before = a.read<double>().data();
  a.write<double>([](std::span<double> x) { x[0] = 6; });
  EXPECT_EQ(a.read<double>().data(), before) << "a sole owner writes in place";
}

TEST(Array, ReshapedArraysShareButDoNotAlias) {
  const Array a = of({1, 2, 3, 4});
  Array b = a.reshape({2, 2});
  EXPECT_TRUE(b.shares_memory_with(a));
  b.write<double>([](std::span<double> x) { x[3] = 9; });
  EXPECT_EQ(a.at(3), 4);
  EXPECT_THROW((void)a.reshape({3}), ShapeError);
}

TEST(Array, AddInPlaceToItself) {
  Array a = of({1, 2});
  add_in_place(a, a);
  EXPECT_EQ(a.at(1), 4);
}

TEST(Array, RefusesTheWrongElementType) {
  const Array a = of({1});
  const std::string text = message_of<DTypeError>([&] { (void)a.read<float>(); });
  EXPECT_NE(text.find("expected f32, it is f64"), std::string::npos);
  EXPECT_THROW((void)(a + a.to(DType::f32)), DTypeError);
  EXPECT_THROW((void)(a.to(DType::b8) + a.to(DType::b8)), DTypeError);
}

TEST(Array, ConvertsOnlyWhatFits) {
  EXPECT_EQ(of({-1.9}).to(DType::i64).at(0), -1);
  for (const double bad : {std::nan(""), 1e19, -1e19, 0x1p63}) {
    EXPECT_THROW((void)of({bad}).to(DType::i64), ValueError) << bad;
    EXPECT_THROW((void)full({1}, bad, DType::i64), ValueError) << bad;
  }
}

TEST(Array, IsAlignedForVectors) {
  for (const Index n : {0, 1, 3, 1000}) {
    const Array a = Array::zeros({n}, DType::f32);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.read<float>().data()) % 64, 0u);
  }
}

TEST(Array, CountsOwnersAcrossThreads) {
  const Array a = Array::full({1000}, 1.0, DType::f64);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([a] {
      for (int i = 0; i < 1000; ++i) {
        Array own = a;
        own.write<double>([](std::span<double> x) { x[0] += 1; });
        ASSERT_EQ(own.at(0), 2);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(a.at(0), 1);
}

TEST(Layout, CopiesTheRightElements) {
  const Array a = of({0, 1, 2, 3, 4, 5}).reshape({2, 3});
  EXPECT_TRUE(near(Tensor(transpose(a, 0, 1)), f64({0, 3, 1, 4, 2, 5}, {3, 2}), 0));
  EXPECT_TRUE(near(Tensor(narrow(a, 1, 1, 2)), f64({1, 2, 4, 5}, {2, 2}), 0));
  const Array parts[] = {a, narrow(a, 1, 0, 1)};
  EXPECT_TRUE(near(Tensor(concat(parts, 1)), f64({0, 1, 2, 0, 3, 4, 5, 3}, {2, 4}), 0));
  EXPECT_TRUE(near(Tensor(tril(a)), f64({0, 0, 0, 3, 4, 0}, {2, 3}), 0));
  EXPECT_THROW((void)narrow(a, 1, 2, 2), ShapeError);
  EXPECT_THROW((void)narrow(a, 1, 1, std::numeric_limits<Index>::max()), ShapeError);
  EXPECT_THROW((void)transpose(a, 0, 2), ShapeError);
}

TEST(Layout, PermuteAgreesWithIndexArithmetic) {
  Generator generator(3);
  const Array a = normal({3, 4, 5, 6}, 0, 1, DType::f64, generator.next());
  const int axes[] = {2, 0, 3, 1};
  const Array b = permute(a, axes);
  ASSERT_EQ(b.shape(), Shape({5, 3, 6, 4}));
  const Tensor x(a), y(b);
  for (Index i = 0; i < 5; ++i) {
    for (Index j = 0; j < 3; ++j) {
      for (Index k = 0; k < 6; ++k) {
        for (Index l = 0; l < 4; ++l) ASSERT_EQ(y.at({i, j, k, l}), x.at({j, l, i, k}));
      }
    }
  }
}

TEST(Elementwise, FindsWhatIsNotFinite) {
  EXPECT_TRUE(all_finite(of({1e308, -1e308, 0})));
  EXPECT_FALSE(all_finite(of({1, std::numeric_limits<double>::infinity()})));
  EXPECT_FALSE(all_finite(of({std::nan(""), 1})));
}

}  // namespace
