#include "experiments/training/floors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace experiments::training {
namespace {

using Tokens = std::vector<std::int64_t>;

TEST(Floors, UniformIsTheLogarithm) {
  EXPECT_EQ(uniform_floor(1), 0);
  EXPECT_DOUBLE_EQ(uniform_floor(65), std::log(65.0));
}

TEST(Floors, UnigramByHand) {
  const Tokens counted = {0, 0, 0, 1}, measured = {0, 1, 2};
  // 3.1, 1.1 and 0.1 of 4 + 3 * 0.1
  const double want = -(std::log(3.1 / 4.3) + std::log(1.1 / 4.3) + std::log(0.1 / 4.3)) / 3;
  EXPECT_DOUBLE_EQ(unigram_floor(counted, measured, 3), want);
}

TEST(Floors, BigramByHand) {
  const Tokens counted = {0, 1, 0, 1, 0, 0}, measured = {0, 1, 1, 0, 2};
  // after 0: 1 twice, 0 once; after 1: 0 twice. Measured: 01, 11, 10, 02.
  const double want =
      -(std::log(2.1 / 3.3) + std::log(0.1 / 2.3) + std::log(2.1 / 2.3) + std::log(0.1 / 3.3)) / 4;
  EXPECT_DOUBLE_EQ(bigram_floor(counted, measured, 3), want);
}

TEST(Floors, NothingCountedIsUniform) {
  EXPECT_DOUBLE_EQ(unigram_floor({}, Tokens{1, 3}, 4), std::log(4.0));
  EXPECT_DOUBLE_EQ(bigram_floor({}, Tokens{1, 3}, 4), std::log(4.0));
}

TEST(Floors, AllThree) {
  const Tokens train = {0, 1, 2, 1, 0, 1}, validation = {1, 2, 1};
  const Floors all = floors(train, validation, 3);
  EXPECT_EQ(all.uniform, uniform_floor(3));
  EXPECT_EQ(all.unigram, unigram_floor(train, validation, 3));
  EXPECT_EQ(all.bigram, bigram_floor(train, validation, 3));
}

}  // namespace
}  // namespace experiments::training
