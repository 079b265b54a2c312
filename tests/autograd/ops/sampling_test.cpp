// randint, randperm and multinomial against their distributions. Seeds are fixed; a sum of squares
// over k free cells is k on average, and above k + 6 sqrt(2 k) about once in ten thousand seeds.

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "autograd/machine/parallel.h"
#include "tests/support/tensors.h"

namespace {

using namespace autograd;
using test::f64;
using test::message_of;
using test::near;
using testing::HasSubstr;

/// Pearson's sum over cells with an expected count each.
void expect_counts(const std::vector<double>& counts, const std::vector<double>& expected) {
  double sum = 0;
  const double free = static_cast<double>(counts.size()) - 1;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    sum += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
  }
  EXPECT_LT(sum, free + 6 * std::sqrt(2 * free));
}

void expect_even(const std::vector<double>& counts, double draws) {
  const double each = draws / static_cast<double>(counts.size());
  expect_counts(counts, std::vector<double>(counts.size(), each));
}

std::vector<double> histogram(const Tensor& x, Index cells) {
  std::vector<double> counts(static_cast<std::size_t>(cells));
  for (const std::int64_t i : x.data().read<std::int64_t>()) {
    counts.at(static_cast<std::size_t>(i)) += 1;
  }
  return counts;
}

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(RandInt, IsEvenOnItsRange) {
  Generator generator(1);
  for (const Index high : {2, 3, 10, 1000}) {
    constexpr Index n = 200000;
    expect_even(histogram(randint(high, {n}, DType::i64, generator), high), n);
  }
  const Tensor x = randint(-2, 1, {5, 4}, DType::f64, generator);
  EXPECT_EQ(x.dtype(), DType::f64);
  EXPECT_EQ(x.shape(), Shape({5, 4}));
  for (const double v : test::values_of(x)) EXPECT_TRUE(v == -2 || v == -1 || v == 0) << v;
  EXPECT_EQ(randint(7, 8, {}).item(), 7);
  EXPECT_EQ(randint(3, {0}).shape(), Shape({0}));
}

/// 3 2^62 numbers: 64 random bits modulo that would draw the first third twice as often.
TEST(RandInt, HasNoBiasOnARangeThatDividesNoPowerOfTwo) {
  constexpr Index n = 30000;
  constexpr std::int64_t third = std::int64_t{1} << 62;
  Generator generator(2);
  std::vector<double> counts(3), odd(2);
  const Array x = randint(-third - third / 2, third + third / 2, {n}, DType::i64, generator).data();
  for (const std::int64_t v : x.read<std::int64_t>()) {
    counts[v < -third / 2 ? 0 : v < third / 2 ? 1 : 2] += 1;
    odd[static_cast<std::size_t>(v & 1)] += 1;
  }
  expect_even(counts, n);
  expect_even(odd, n);
}

/// low + floor(u (high - low) / 2^128) by long multiplication, a 32-bit digit at a time.
std::int64_t by_hand(RandomKey key, std::uint64_t i, std::int64_t low, std::int64_t high) {
  const auto digit = [](std::uint64_t v, int at) {
    return static_cast<std::uint32_t>(v >> 32 * at);
  };
  const auto u = philox4x32({digit(i, 0), digit(i, 1), digit(key.stream, 0), digit(key.stream, 1)},
                            {digit(key.seed, 0), digit(key.seed, 1)});
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  std::uint32_t product[6] = {};  // the lowest digit first
  for (int a = 0; a < 4; ++a) {
    std::uint64_t carry = 0;
    for (int b = 0; b < 2; ++b) {
      carry += std::uint64_t{u[3 - a]} * digit(range, b) + product[a + b];
      product[a + b] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    product[a + 2] = static_cast<std::uint32_t>(carry);
  }
  const std::uint64_t above = std::uint64_t{product[5]} << 32 | product[4];
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + above);
}

TEST(RandInt, ScalesAllBitsOfItsBlock) {
  const RandomKey key{0x123456789abcdef0, 77};
  const std::int64_t ranges[][2] = {
      {0, 10}, {-5, 1000003}, {-kMost - 1, kMost}, {0, kMost}, {kMost - 1, kMost}};
  for (const auto& [low, high] : ranges) {
    const Array x = randint({300}, low, high, key);
    std::uint64_t i = 0;
    for (const std::int64_t v : x.read<std::int64_t>()) {
      ASSERT_EQ(v, by_hand(key, i++, low, high)) << low << " to " << high;
    }
  }
}

TEST(RandInt, NamesAnEmptyRange) {
  EXPECT_THAT(message_of<ValueError>([] { (void)randint(3, 3, {2}); }),
              HasSubstr("randint: expected low < high, got 3 and 3"));
  EXPECT_THAT(message_of<ValueError>([] { (void)randint(0, {2}); }), HasSubstr("got 0 and 0"));
}

TEST(RandPerm, DrawsEachOrderAsOften) {
  Generator generator(4);
  std::map<std::vector<double>, double> seen;
  constexpr int n = 24000;
  for (int i = 0; i < n; ++i) seen[test::values_of(randperm(4, generator))] += 1;
  std::vector<double> counts;
  for (const auto& [order, count] : seen) counts.push_back(count);
  ASSERT_EQ(counts.size(), 24u);
  expect_even(counts, n);
}

TEST(RandPerm, HasEachNumberOnce) {
  for (const Index n : {0, 1, 2, 1000, 100000}) {
    const Tensor x = randperm(n);
    EXPECT_TRUE(bit_equal(sort(x).values.data(), arange(n).data()));
  }
  EXPECT_THAT(message_of<ValueError>([] { (void)randperm(-1); }), HasSubstr("randperm: "));
}

TEST(Multinomial, DrawsByWeight) {
  Generator generator(5);
  constexpr Index n = 100000;
  const Tensor w = tensor({1, 2, 0, 3, 4});
  const auto counts = histogram(multinomial(w, n, Replacement::yes, generator), 5);
  EXPECT_EQ(counts[2], 0);
  expect_counts({counts[0], counts[1], counts[3], counts[4]}, {0.1 * n, 0.2 * n, 0.3 * n, 0.4 * n});
}

/// Each row has its own weights and its own numbers.
TEST(Multinomial, DrawsRowsApart) {
  Generator generator(6);
  constexpr Index n = 50000;
  const Tensor w = f64({1, 1, 0, 5, 0, 15}, {2, 3});
  const Tensor x = w.multinomial(n, Replacement::yes, generator);
  ASSERT_EQ(x.shape(), Shape({2, n}));
  const auto first = histogram(x.select(0, 0), 3), second = histogram(x.select(0, 1), 3);
  expect_even({first[0], first[1]}, n);
  expect_counts({second[0], second[2]}, {0.25 * n, 0.75 * n});
  EXPECT_EQ(first[2] + second[1], 0);
  const Tensor agree = eq(x.select(0, 0), x.select(0, 1));
  EXPECT_NEAR(agree.to(DType::f64).mean().item(), 0.5 * 0.25, 0.01);
}

/// The pair (i, j) comes with p_i p_j / (1 - p_i): one drawn, then another from what is left.
TEST(Multinomial, WithoutReplacementDrawsFromWhatIsLeft) {
  Generator generator(7);
  constexpr Index n = 40000;
  const std::vector<double> p = {0.1, 0.2, 0.3, 0.4};
  const Tensor w = from_values<double>(p, {1, 4}).expand({n, 4}) * 17.0;
  const Tensor x = multinomial(w, 2, Replacement::no, generator);
  const Tensor first = x.select(1, 0).to(DType::f64), second = x.select(1, 1).to(DType::f64);
  const std::vector<double> pairs = histogram((first * 4 + second).to(DType::i64), 16);
  std::vector<double> counts, expected;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(pairs[5 * i], 0);
    for (std::size_t j = 0; j < 4; ++j) {
      if (i == j) continue;
      counts.push_back(pairs[4 * i + j]);
      expected.push_back(n * p[i] * p[j] / (1 - p[i]));
    }
  }
  expect_counts(counts, expected);
}

/// Reports of other engines: a weight of 0 drawn once in millions, and one of 1e-17 lost, so that
/// another came twice.
TEST(Multinomial, NeverDrawsAWeightOfZeroNorLosesASmallOne) {
  Generator generator(8);
  const Tensor w = tensor({0, 0.33, 0.34, 0, 0.33, 0});
  for (const Replacement how : {Replacement::yes, Replacement::no}) {
    const Tensor rows = w.expand({200000, 6});
    const auto counts = histogram(multinomial(rows, 3, how, generator), 6);
    EXPECT_EQ(counts[0] + counts[3] + counts[5], 0);
  }
  const Tensor one = tensor({0, 1}).expand({100000, 2});
  EXPECT_EQ(multinomial(one, 1, Replacement::no, generator).to(DType::f64).sum().item(), 100000);
  const Tensor small = f64({1.2899e-01, 6.2532e-01, 1.5196e-01, 1.5281e-17, 5e-324, 0, 1e308});
  const Tensor all = multinomial(small, 6, Replacement::no, generator);
  EXPECT_EQ(histogram(all, 7), (std::vector<double>{1, 1, 1, 1, 1, 0, 1}));
  EXPECT_EQ(all.at({0}), 6);
  EXPECT_EQ(all.at({5}), 4);
  const Tensor large = f64({1e308, 1e308, 1e308});
  expect_even(histogram(multinomial(large, 30000, Replacement::yes, generator), 3), 30000);
}

TEST(Multinomial, CarriesNoGradient) {
  const Tensor w = tensor({1, 2}).requires_grad_();
  EXPECT_FALSE(multinomial(w, 1).requires_grad());
  EXPECT_EQ(multinomial(zeros({0, 3}), 2).shape(), Shape({0, 2}));
}

TEST(Multinomial, NamesWhatIsNoWeight) {
  const auto says = [](const Tensor& w, Index samples, const char* text) {
    EXPECT_THAT(message_of<ValueError>([&] { (void)multinomial(w, samples); }), HasSubstr(text));
  };
  says(f64({1, -1}), 1, "multinomial: expected finite weights >= 0, got -1 at position 1 of (2,)");
  says(f64({1, std::nan("")}), 1, "got nan at position 1");
  says(f64({1, 1, INFINITY, 1}, {2, 2}), 1, "got inf at position 2 of (2, 2)");
  says(f64({1, 1, 0, 0}, {2, 2}), 1, "expected a weight above 0 in each row, row 1 of (2, 2)");
  says(zeros({0}), 1, "row 0 of (0,) has none");
  says(f64({0, 10, 3, 0}), 3, "expected at most 2 samples without replacement");
  says(f64({1}), 0, "expected at least one sample, got 0");
  EXPECT_THAT(message_of<ShapeError>([] { (void)multinomial(zeros({}), 1); }),
              HasSubstr("multinomial: expected weights (n) or (rows, n), got ()"));
  EXPECT_THAT(message_of<DTypeError>([] { (void)multinomial(arange(3), 1); }),
              HasSubstr("multinomial: expected f32 or f64, got i64"));
}

TEST(Sampling, HasTheSameBitsForAnyThreadCount) {
  const SmallPieces small;
  const int before = num_threads();
  const Tensor w = uniform({300, 50}, 0, 1);
  const auto draw = [&] {
    Generator generator(9);
    return concat({randint(-3, 1000, {5000}, DType::i64, generator), randperm(5000, generator),
                   multinomial(w, 7, Replacement::yes, generator).reshape({-1}),
                   multinomial(w, 7, Replacement::no, generator).reshape({-1})},
                  0);
  };
  set_num_threads(1);
  const Tensor first = draw();
  for (int threads = 2; threads <= 4; ++threads) {
    set_num_threads(threads);
    EXPECT_TRUE(bit_equal(draw().data(), first.data())) << threads << " threads";
  }
  set_num_threads(before);
}

}  // namespace
