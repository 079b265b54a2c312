#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <thread>

#include "autograd/machine/parallel.h"
#include "experiments/tools/bench_measure.h"
#include "experiments/tools/peak.h"
#include "experiments/tools/workloads.h"
#include "tests/experiments/run.h"

namespace experiments::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::vector<Workload> tiny_workloads(DType dtype) {
  std::vector<Workload> all{chain(50, dtype), mlp(3, 4, dtype), scaling_rows({2, 4}, 32, dtype)};
  for (const Product product : {Product::y, Product::dx, Product::dw}) {
    all.push_back(gemm({2, 3, 4}, product, dtype));
  }
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    for (const RowOp op : {RowOp::softmax, RowOp::layer_norm, RowOp::gelu}) {
      all.push_back(row_op(op, 3, 5, pass, dtype));
    }
    all.push_back(attention_layer({2, 3, 8, 2}, pass, dtype));
  }
  nn::GPTOptions config = nano_gpt(dtype);
  config.block_size = 4, config.n_layer = 1, config.n_embd = 8;
  all.push_back(gpt_step(config, 2));
  return all;
}

TEST(Bench, EveryWorkloadRunsTwiceAndLeavesNoGraph) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Workload& work : tiny_workloads(dtype)) {
      const std::int64_t before = autograd::live_nodes();
      {
        const std::function<void()> call = work.prepare();
        call();
        const std::int64_t after_one = autograd::live_nodes();
        call();
        EXPECT_EQ(autograd::live_nodes(), after_one) << work.name;
      }
      EXPECT_EQ(autograd::live_nodes(), before) << work.name;
      EXPECT_GT(work.flops, 0) << work.name;
      EXPECT_NE(work.shape, "") << work.name;
    }
  }
}

TEST(Bench, OperationsAreThoseCountedByHand) {
  const DType f32 = DType::f32;
  EXPECT_EQ(gemm({2, 3, 5}, Product::dw, f32).flops, 60);
  // qkv 3x(4x12), proj 4x4, then scores and values of two heads: (3x2)(2x3) and (3x3)(3x2).
  EXPECT_EQ(attention_layer({1, 3, 4, 2}, Pass::forward, f32).flops,
            2 * 3 * 4 * 12 + 2 * 3 * 4 * 4 + 2 * (2 * 3 * 2 * 3 + 2 * 3 * 3 * 2));
  EXPECT_EQ(attention_layer({1, 3, 4, 2}, Pass::backward, f32).flops,
            3 * attention_layer({1, 3, 4, 2}, Pass::forward, f32).flops);
  // Forward 16x16 and 16, their weights' gradients alike, and 16 for what is between them.
  EXPECT_EQ(mlp(16, 16, f32).flops, 2 * (256 + 16) * 2 + 2 * 16);
  // Per block qkv, proj, fc and proj; the head; scores and values; thrice for forward and backward.
  const double token =
      2.0 * 4 * (128 * 384 + 128 * 128 + 2 * 128 * 512) + 2.0 * 128 * 65 + 2.0 * 4 * (2 * 64 * 128);
  EXPECT_EQ(gpt_step(nano_gpt(f32), 12).flops, 3 * token * 12 * 64);
  EXPECT_NEAR(gpt_step(nano_gpt(f32), 12).flops, 4.0e9, 0.05e9);
}

TEST(Bench, NamesAreUniqueAndHeadlinesAlphabetical) {
  for (const auto& works : {headline_workloads(DType::f32), all_workloads(DType::f32)}) {
    std::set<std::string> names;
    for (const Workload& work : works) EXPECT_TRUE(names.insert(work.name).second) << work.name;
  }
  const std::vector<Workload> works = headline_workloads(DType::f32);
  EXPECT_TRUE(std::ranges::is_sorted(works, {}, &Workload::name));
}

TEST(Bench, CallsAreTimedInTurns) {
  std::string order;
  const auto pause = [&order](char who, int ms) {
    return [&order, who, ms] {
      order += who;
      std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    };
  };
  const std::vector<std::function<void()>> calls{pause('a', 12), pause('b', 22)};
  const std::vector<Timing> t = time_in_turns(calls, {.seconds = 0, .min_samples = 3});
  // Warm up and be sized; thrice: settle for 20 ms and be timed.
  EXPECT_TRUE(std::regex_match(order, std::regex("aabb(aa+bb){3}"))) << order;
  ASSERT_EQ(t.size(), 2u);
  for (const Timing& timing : t) {
    EXPECT_EQ(timing.samples, 3);
    EXPECT_GE(timing.median, timing.min);
  }
  EXPECT_GE(t[0].min, 12e-3);
  EXPECT_GE(t[1].min, 22e-3);
}

TEST(Bench, AYardstickStandsBeforeAndAfterEachSample) {
  using Clock = std::chrono::steady_clock;
  std::string order;
  std::vector<double> took;
  double pause = 4e-3;  // each time longer
  const auto sleeper = [&](char who) -> std::function<void()> {
    return [&order, &took, &pause, who] {
      order += who;
      const auto start = Clock::now();
      std::this_thread::sleep_for(std::chrono::duration<double>(pause));
      pause *= 1.5;
      took.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    };
  };
  const Ratio ratio = time_beside(sleeper('y'), sleeper('c'), {.seconds = 0, .min_samples = 1});
  ASSERT_EQ(order, "ccycy");  // called twice to warm up and to be sized
  EXPECT_EQ(ratio.call.samples, 1);
  EXPECT_NEAR(ratio.call.median, took[3], 0.02 * took[3]);
  const double want = 2 * took[3] / (took[2] + took[4]);
  EXPECT_NEAR(ratio.median, want, 0.02 * want);
}

TEST(Bench, ShortCallsShareASample) {
  std::ptrdiff_t called = 0;
  const Timing timing = time_of([&called] { ++called; }, {.seconds = 0, .min_samples = 3});
  EXPECT_EQ(timing.samples, 3);
  EXPECT_GT(called, 1000);
  EXPECT_LT(timing.median, 1e-5);
}

TEST(Bench, TheChainsOfThePeakConvergeToOneOnEveryThread) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    // Twelve chains that begin on both sides of 1, and a sum of them.
    EXPECT_NEAR(fma_burst(dtype, 100, 1), 12, 1e-4);
    EXPECT_NEAR(fma_burst(dtype, 100, 3), 12, 1e-4);
  }
  EXPECT_EQ(fma_flops(DType::f64, 10), fma_bits() / 64 * 12 * 10 * 2);
  EXPECT_EQ(fma_flops(DType::f32, 10), 2 * fma_flops(DType::f64, 10));
}

TEST(Bench, ReportsRatesAndSharesThatFollowFromTheTimes) {
  const int before = autograd::num_threads();
  const test::Outcome outcome = test::in_process(
      {"bench", "--only", "mlp,gemm", "--quick", "--threads", "2", "--format", "json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json rows = json::parse(outcome.out).at("rows");
  ASSERT_EQ(rows.size(), 6u);
  double peak = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const json& row = rows[i];
    EXPECT_EQ(row.at("name"), (std::vector{"peak", "gemm", "mlp"})[i % 3]);
    EXPECT_EQ(row.at("threads"), i < 3 ? 1 : 2);
    const double median = row.at("median_ms"), min = row.at("min_ms"), gflop = row.at("gflop");
    if (i % 3 == 0) peak = gflop / min * 1e3;
    const double share = row.at("share_of_peak");
    EXPECT_GT(min, 0);
    EXPECT_GE(median, min);
    EXPECT_NEAR(row.at("gflops").get<double>(), gflop / median * 1e3, 1e-9 * peak);
    if (i % 3 == 0) {
      EXPECT_NEAR(share, min / median, 1e-9);
    }
    EXPECT_GT(share, 0);
    EXPECT_LT(share, 10);  // something else may slow the burst down, and the work less
    EXPECT_TRUE(row.at("tokens_per_s").is_null());
  }
  EXPECT_EQ(autograd::num_threads(), 2);  // what --threads says, after one and two
  autograd::set_num_threads(before);
}

TEST(Bench, RefusesAnUnknownNameWithTheNearest) {
  const test::Outcome outcome = test::in_process({"bench", "--only", "gemm,gtp_step"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "error: --only: unknown name 'gtp_step'; did you mean 'gpt_step'?\n");
}

TEST(Bench, SaysThatItsNumbersAreTimings) {
  const test::Outcome outcome = test::in_process({"bench", "--help"});
  EXPECT_THAT(outcome.out, HasSubstr("differ from run to run"));
}

}  // namespace
}  // namespace experiments::tools
