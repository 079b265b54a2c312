#include "experiments/attention/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/attention/layer.h"
#include "experiments/measure/values.h"

namespace experiments::attention {
namespace {

using testing::ElementsAre;

TEST(Tokens, AreTheWords) {
  EXPECT_THAT(split_words("--text", "  the cat\tsat\n"), ElementsAre("the", "cat", "sat"));
  EXPECT_THAT(split_words("--text", "中文 été"), ElementsAre("中文", "été"));
  EXPECT_THAT(numbered_tokens(2), ElementsAre("t0", "t1"));
}

/// Under one seed a word has one vector, wherever it stands; positions add a smaller one.
TEST(Tokens, TheSameWordHasTheSameVector) {
  const experiments::Run run;
  const Index C = 512;
  const std::vector<double> x = measure::doubles(embedded({"the", "cat", "the"}, C, run));
  const std::vector<double> other = measure::doubles(embedded({"the"}, C, run));
  const auto distance = [C](const double* a, const double* b) {
    double square = 0;
    for (Index c = 0; c < C; ++c) square += (a[c] - b[c]) * (a[c] - b[c]);
    return square / static_cast<double>(C);
  };
  EXPECT_EQ(distance(x.data(), other.data()), 0);
  EXPECT_NEAR(distance(x.data(), x.data() + 2 * C), 0.5, 0.15);  // two positions of 1/4
  EXPECT_NEAR(distance(x.data(), x.data() + C), 2.5, 0.6);       // and two words of 1
  const experiments::Run another{.seed = 1};
  EXPECT_NEAR(distance(x.data(), measure::doubles(embedded({"the"}, C, another)).data()), 2.5, 0.6);
}

}  // namespace
}  // namespace experiments::attention
