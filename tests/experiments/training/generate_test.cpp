#include "experiments/training/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace experiments::training {
namespace {

using Logits = std::vector<double>;

const Logits kLogits = {0.5, 2, -1, 2, 1};

TEST(DrawToken, AtTemperatureZeroTheFirstOfTheMostLikely) {
  for (const double u : {0.0, 0.5, 0.999999}) {
    EXPECT_EQ(draw_token(kLogits, {.temperature = 0}, u), 1);
    EXPECT_EQ(draw_token(kLogits, {.top_k = 1}, u), 1);
    EXPECT_EQ(draw_token(kLogits, {.top_p = 1e-9}, u), 1);
    EXPECT_EQ(draw_token(kLogits, {.top_p = 0}, u), 1);
  }
}

TEST(DrawToken, FrequenciesAreThoseOfSoftmax) {
  constexpr double kTemperature = 0.7;
  constexpr int kDraws = 100000;
  std::array<double, 5> count{};
  const autograd::Array u = autograd::uniform({kDraws}, 0, 1, nn::DType::f64, {7, 0});
  for (const double draw : u.read<double>()) {
    ++count[draw_token(kLogits, {.temperature = kTemperature}, draw)];
  }
  double total = 0;
  for (const double logit : kLogits) total += std::exp(logit / kTemperature);
  for (std::size_t i = 0; i < count.size(); ++i) {
    const double p = std::exp(kLogits[i] / kTemperature) / total;
    EXPECT_NEAR(count[i] / kDraws, p, 5 * std::sqrt(p * (1 - p) / kDraws)) << i;
  }
}

TEST(DrawToken, KeepsTheMostLikelyOnly) {
  for (double u = 0; u < 1; u += 1.0 / 64) {
    EXPECT_THAT(draw_token(kLogits, {.top_k = 3}, u), testing::AnyOf(1, 3, 4));
    EXPECT_THAT(draw_token(kLogits, {.top_p = 0.6}, u), testing::AnyOf(1, 3));
  }
  EXPECT_EQ(draw_token(kLogits, {.top_k = 3}, 0.999999), 4);
  EXPECT_EQ(draw_token(kLogits, {.top_k = 1000}, 0.999999), 2);
}

TEST(DrawToken, ExtremesOfTemperatureAreItsLimits) {
  const Logits far = {-1e308, 1e308, 1e308};
  for (const double u : {0.0, 0.3, 0.7, 0.999999}) {
    EXPECT_EQ(draw_token(Logits{1, 3, 2}, {.temperature = 1e-30}, u), 1);
    EXPECT_EQ(draw_token(far, {.temperature = 1e-30}, u), u < 0.5 ? 1 : 2);
    // All alike; equals count in the order of their logits: 1, 2, 0.
    EXPECT_EQ(draw_token(Logits{1, 3, 2}, {.temperature = 1e30}, u), (1 + int(3 * u)) % 3);
  }
}

TEST(DrawToken, RefusesWhatIsNotFinite) {
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    EXPECT_THROW(draw_token(Logits{0, bad}, {}, 0.5), autograd::NumericError);
  }
}

TEST(Generate, GoesOnFromTheLastBlockAndStopsWhenTold) {
  autograd::Generator generator(1);
  nn::GPT model({.block_size = 4, .vocab_size = 9, .n_layer = 1, .n_head = 1, .n_embd = 8},
                generator);
  const auto run = [&](std::vector<std::int64_t> prompt, nn::Index count, std::size_t most) {
    std::vector<std::int64_t> seen;
    generate(model, std::move(prompt), count, {}, {3, 0}, [&](std::int64_t token) {
      seen.push_back(token);
      return seen.size() < most;
    });
    return seen;
  };
  const auto whole = run({1, 2, 3}, 12, 99);
  EXPECT_EQ(whole.size(), 12u);
  EXPECT_EQ(run({1, 2, 3}, 12, 5), std::vector(whole.begin(), whole.begin() + 5));
  EXPECT_EQ(run({8, 8, 5, 4, 1, 2}, 12, 99), run({5, 4, 1, 2}, 12, 99));
  EXPECT_TRUE(run({1}, 0, 99).empty());
  EXPECT_TRUE(model.training());
}

TEST(Generate, WritesTheSameTokensWithoutACache) {
  for (const nn::DType dtype : {nn::DType::f32, nn::DType::f64}) {
    autograd::Generator generator(5);
    nn::GPT model(
        {.block_size = 16, .vocab_size = 9, .n_layer = 2, .n_head = 2, .n_embd = 8, .dtype = dtype},
        generator);
    for (nn::Tensor& p : model.parameters()) p.set_data((p.detach() * 4.0).data());
    for (const std::size_t prompt : {1, 5, 16, 30}) {
      for (const double temperature : {0.0, 1.0}) {
        const auto tokens = [&](Cached cached) {
          std::vector<std::int64_t> all(prompt, 3);
          const Sampling sampling{.temperature = temperature};
          const auto take = [&](std::int64_t token) {
            all.push_back(token);
            return true;
          };
          generate(model, all, 24, sampling, {7, prompt}, take, cached);
          return all;
        };
        EXPECT_EQ(tokens(Cached::yes), tokens(Cached::no)) << prompt;
      }
    }
  }
}

}  // namespace
}  // namespace experiments::training
