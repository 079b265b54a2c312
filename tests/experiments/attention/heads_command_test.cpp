#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/attention/head_counts.h"
#include "tests/experiments/run.h"

namespace experiments::attention {
namespace {

using nlohmann::json;
using test::in_process;
using test::Outcome;
using test::Words;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(HeadsCommand, DivisorsInOrder) {
  EXPECT_THAT(divisors(12), ElementsAre(1, 2, 3, 4, 6, 12));
  EXPECT_THAT(divisors(1), ElementsAre(1));
  EXPECT_EQ(divisors(768).size(), 18u);
}

TEST(HeadsCommand, FlopsOfGpt2Small) {
  const Flops flops = flops_of(1024, 768, 12);
  EXPECT_EQ(flops.projections, 8 * 1024L * 768 * 768);
  EXPECT_EQ(flops.products, 4 * 1024L * 1024 * 768);
  EXPECT_EQ(flops.softmax, 6 * 12 * 1024L * 1024);
  EXPECT_EQ(flops.total(), 8128561152);
  EXPECT_EQ(flops_of(1024, 768, 768).products, flops.products);
}

TEST(HeadsCommand, MapDistanceIsTheTotalVariation) {
  EXPECT_EQ(map_distance(std::vector<double>{1, 0, 0, 1}, 1, 2), 0);
  EXPECT_EQ(map_distance(std::vector<double>{1, 0, 0, 1, 1, 0, 0, 1}, 2, 2), 0);
  EXPECT_EQ(map_distance(std::vector<double>{1, 0, 0, 1, 0, 1, 1, 0}, 2, 2), 1);
  // The definition, pair by pair.
  const Index H = 5, T = 3;
  std::vector<double> p;
  for (Index i = 0; i < H * T * T; ++i) p.push_back(std::fmod(0.37 * static_cast<double>(i), 1.0));
  double sum = 0;
  for (Index a = 0; a < H; ++a)
    for (Index b = 0; b < a; ++b)
      for (Index c = 0; c < T * T; ++c) sum += std::abs(p[a * T * T + c] - p[b * T * T + c]) / 2;
  EXPECT_NEAR(map_distance(p, H, T), sum / 10 / 3, 1e-14);
}

json rows_of(Words words) {
  words.insert(words.begin(), "heads");
  words.insert(words.end(), {"--format", "json"});
  const Outcome outcome = in_process(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return json::parse(outcome.out)["rows"];
}

TEST(HeadsCommand, CountsEverySplitInALayer) {
  const json rows = rows_of({"--n-embd", "24", "--seq-len", "10"});
  ASSERT_EQ(rows.size(), 8u);
  for (const json& row : rows) {
    EXPECT_EQ(row["heads"].get<Index>() * row["head_size"].get<Index>(), 24);
    EXPECT_EQ(row["parameters"], 4 * 24 * 24);
    EXPECT_EQ(row["counted"], true);
    EXPECT_EQ(row["flops_softmax"], row["heads"].get<Index>() * 600);
    const bool one = row["heads"] == 1;
    EXPECT_EQ(row["map_distance"].get<double>() > 0.1, !one);
    EXPECT_LT(row["map_distance"], 1);
  }
  EXPECT_EQ(rows_of({"--n-embd", "24", "--bias"})[0]["parameters"], 4 * 24 * 24 + 4 * 24);
}

TEST(HeadsCommand, OfTheLessonInAShortRun) {
  const Outcome outcome = in_process({"heads", "--quick", "--wide"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("2359296 vs 2359296"));
  EXPECT_THAT(outcome.out, HasSubstr("head 11"));
  EXPECT_THAT(outcome.out, HasSubstr("\n 12   64 "));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\n 16   48 ")));
}

TEST(HeadsCommand, ALayerTooLargeIsCountedByItsFormula) {
  const json rows = rows_of({"--n-embd", "12288", "--n-head", "96"});
  EXPECT_EQ(rows[0]["parameters"], 603979776);
  EXPECT_EQ(rows[0]["counted"], false);
  EXPECT_FALSE(rows[0].contains("map_distance"));
}

TEST(HeadsCommand, RefusesHeadsThatDoNotDivide) {
  const Outcome outcome = in_process({"heads", "--n-head", "5"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err, "error: --n-head 5 does not divide --n-embd 768\n");
}

TEST(HeadsCommand, TheSameSeedGivesTheSameBytes) {
  const auto out = [](const char* threads, const char* dtype) {
    return in_process({"heads", "--n-embd", "48", "--threads", threads, "--dtype", dtype}).out;
  };
  for (const char* dtype : {"f32", "f64"}) {
    EXPECT_THAT(out("1", dtype), HasSubstr("head 11"));
    EXPECT_EQ(out("1", dtype), out("3", dtype));
  }
}

}  // namespace
}  // namespace experiments::attention
