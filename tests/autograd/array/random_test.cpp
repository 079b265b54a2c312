#include "autograd/array/random.h"

#include <cmath>

#include "autograd/machine/parallel.h"
#include "tests/support/tensors.h"

namespace {

using namespace autograd;

using Words = std::array<std::uint32_t, 4>;

// The known answers that come with the generator's publication (Random123, kat_vectors).
TEST(Philox, GivesItsPublishedAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t f = 0xffffffff;
  EXPECT_EQ(philox4x32({f, f, f, f}, {f, f}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Generator, StateIsReadAndRestored) {
  Generator generator(42);
  (void)randn({10}, DType::f64, generator);
  const Generator::State state = generator.state();
  const Tensor first = randn({10}, DType::f64, generator);
  const Tensor other = randn({10}, DType::f64, generator);
  EXPECT_FALSE(bit_equal(first.data(), other.data()));
  generator.set_state(state);
  EXPECT_TRUE(bit_equal(randn({10}, DType::f64, generator).data(), first.data()));
}

TEST(Generator, SeedsDiffer) {
  Generator a(1), b(2);
  EXPECT_FALSE(bit_equal(randn({10}, DType::f64, a).data(), randn({10}, DType::f64, b).data()));
  manual_seed(7);
  const Tensor x = randn({4});
  manual_seed(7);
  EXPECT_TRUE(bit_equal(randn({4}).data(), x.data()));
}

TEST(Normal, HasTheMomentsOfTheNormalLaw) {
  const Index n = 1000000;
  const Array x = normal({n}, 1, 2, DType::f64, {11, 0});
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
  for (const double v : x.read<double>()) {
    const double z = (v - 1) / 2;
    m1 += z, m2 += z * z, m3 += z * z * z, m4 += z * z * z * z;
  }
  EXPECT_NEAR(m1 / n, 0, 6e-3);  // six standard errors each
  EXPECT_NEAR(m2 / n, 1, 6 * std::sqrt(2e-6));
  EXPECT_NEAR(m3 / n, 0, 6 * std::sqrt(15e-6));
  EXPECT_NEAR(m4 / n, 3, 6 * std::sqrt(96e-6));
}

TEST(Uniform, StaysBelowItsEnd) {
  const Array x = uniform({1000000}, 0, 1, DType::f64, {5, 0});
  double total = 0;
  for (const double v : x.read<double>()) {
    ASSERT_GE(v, 0);
    ASSERT_LT(v, 1);
    total += v;
  }
  EXPECT_NEAR(total / 1e6, 0.5, 6 * std::sqrt(1.0 / 12e6));
  const Array narrow = uniform({1000000}, 1000, 1000.0001, DType::f32, {5, 0});
  for (const float v : narrow.read<float>()) {
    ASSERT_LT(v, 1000.0001f);
  }
  EXPECT_EQ(uniform({1}, 3, 3, DType::f64, {5, 0}).at(0), 3);
  EXPECT_THROW((void)uniform({1}, 1, 0, DType::f64, {5, 0}), ValueError);
  EXPECT_THROW((void)uniform({1}, 0, std::nan(""), DType::f64, {5, 0}), ValueError);
  EXPECT_THROW((void)normal({1}, 0, -1, DType::f64, {5, 0}), ValueError);
}

TEST(Random, FloatsAreTheRoundedDoubles) {
  const Array wide = normal({1001}, 0, 1, DType::f64, {9, 3});
  EXPECT_TRUE(bit_equal(normal({1001}, 0, 1, DType::f32, {9, 3}), wide.to(DType::f32)));
}

TEST(Random, APrefixIsTheSameStream) {
  const Array longer = normal({1000}, 0, 1, DType::f64, {9, 3});
  const Array shorter = normal({7}, 0, 1, DType::f64, {9, 3});
  for (Index i = 0; i < 7; ++i) EXPECT_EQ(shorter.at(i), longer.at(i));
}

/// Whether one element is kept says nothing about its neighbours, near or far: one random word for
/// several of them would show as a correlation at a small lag, and a short period at that lag.
TEST(KeepMask, KeepsEachElementByItself) {
  constexpr Index n = 1 << 20;
  for (const double p : {0.1, 0.5, 0.9}) {
    const Array mask = keep_mask({n}, p, {11, 5});
    const auto keep = mask.read<bool>();
    double kept = 0;
    for (const bool k : keep) kept += k;
    EXPECT_NEAR(kept / n, 1 - p, 5 * std::sqrt(p * (1 - p) / n));
    for (const Index lag : {1, 2, 3, 4, 5, 7, 8, 12, 16, 32, 64, 128, 1024, 2048, 4096, 65536}) {
      double together = 0;
      for (Index i = 0; i + lag < n; ++i) {
        together += (static_cast<double>(keep[i]) - (1 - p)) *
                    (static_cast<double>(keep[i + lag]) - (1 - p));
      }
      const double z = together / (p * (1 - p) * std::sqrt(static_cast<double>(n - lag)));
      EXPECT_LT(std::abs(z), 5) << "lag " << lag << ", p " << p;
    }
  }
}

/// Nor does it in the mask of another key, or of a neighbouring stream.
TEST(KeepMask, IsAnotherOneForEveryKey) {
  constexpr Index n = 1 << 18;
  const RandomKey keys[] = {{11, 5}, {11, 6}, {12, 5}, {5, 11}};
  for (const RandomKey& a : keys) {
    for (const RandomKey& b : keys) {
      if (&a == &b) continue;
      const Array x = keep_mask({n}, 0.5, a), y = keep_mask({n}, 0.5, b);
      double equal = 0;
      for (Index i = 0; i < n; ++i) equal += x.at(i) == y.at(i);
      EXPECT_LT(std::abs(equal - n / 2) / std::sqrt(n / 4), 5);
    }
  }
}

TEST(Random, HasTheSameBitsForAnyThreadCount) {
  const int before = num_threads();
  set_num_threads(1);
  const Array z = normal({100001}, 0, 1, DType::f32, {1, 2});
  const Array mask = keep_mask({1000000}, 0.3, {1, 2});
  for (int threads = 2; threads <= 8; ++threads) {
    set_num_threads(threads);
    EXPECT_TRUE(bit_equal(normal({100001}, 0, 1, DType::f32, {1, 2}), z));
    EXPECT_TRUE(bit_equal(keep_mask({1000000}, 0.3, {1, 2}), mask));
  }
  set_num_threads(before);
}

}  // namespace
