#include "nn/options.h"

#include <cmath>

#include "nn/attention.h"
#include "tests/nn/check.h"

namespace nn {
namespace {

using autograd::ValueError;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(MultiHeadAttentionOptions, DefaultsAreGpt2Small) {
  const MultiHeadAttentionOptions config;
  EXPECT_EQ(config.n_embd, 768);
  EXPECT_EQ(config.n_head, 12);
  EXPECT_EQ(config.head_size(), 64);
  EXPECT_EQ(config.dropout, 0.0);
  EXPECT_EQ(config.bias, Bias::yes);
  EXPECT_EQ(config.scale, Scale::sqrt_dk());
  EXPECT_EQ(&checked(config), &config);
}

TEST(MultiHeadAttentionOptions, HeadsThatDoNotFitAreNamedWithTheWidth) {
  const std::pair<Index, Index> wrong[] = {{768, 5}, {64, 5}, {4, 8},  {64, 0},
                                           {0, 1},   {0, 0},  {-4, 2}, {4, -2}};
  for (const auto& [n_embd, n_head] : wrong) {
    const MultiHeadAttentionOptions config{.n_embd = n_embd, .n_head = n_head};
    EXPECT_THAT(
        [&config] { MultiHeadAttention module(config); },
        ThrowsMessage<ValueError>(AllOf(HasSubstr(fmt::format("n_head {}", config.n_head)),
                                        HasSubstr(fmt::format("n_embd {}", config.n_embd)))));
  }
}

TEST(MultiHeadAttentionOptions, DropoutIsAProbability) {
  for (const double p : {-0.1, 1.1, std::nan(""), -HUGE_VAL, HUGE_VAL}) {
    EXPECT_THAT(
        [p] { checked(MultiHeadAttentionOptions{.dropout = p}); },
        ThrowsMessage<ValueError>(AllOf(HasSubstr("[0, 1]"), HasSubstr(fmt::format("{}", p)))));
  }
  for (const double p : {0.0, 0.5, 1.0})
    EXPECT_NO_THROW(checked(MultiHeadAttentionOptions{.dropout = p}));
}

}  // namespace
}  // namespace nn
