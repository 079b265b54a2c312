#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "experiments/measure/statistics.h"
#include "tests/experiments/run.h"

// A command of one's own, as the README says: a class derived from Experiment, and a line that
// names it.

namespace experiments {
namespace {

using autograd::DType;
using autograd::Tensor;
using test::Outcome;
using testing::HasSubstr;

/// Random directions in d dimensions are nearly at right angles: E[cos^2] = 1 / d, since the d
/// squares of a unit vector's coordinates are alike and sum to one.
class Cosine : public Experiment {
 public:
  void add_options(Options& options) override {
    options.sizes("--dim", dims_, 1, 4096, "dimensions d");
    options.integer("--pairs", pairs_, 100, 1'000'000, "pairs of vectors for each d");
  }
  double bytes_needed(const Run&) const override {
    return 8.0 * 4 * static_cast<double>(pairs_ * *std::ranges::max_element(dims_));
  }
  Report run(const Run& run) override {
    Report report;
    report.columns = {{"dim", "d"}, {"cos2", "mean cos^2"}, {"cos2_error", "+-", 2}};
    autograd::Generator generator(run.seed);
    for (const Index d : dims_) {
      const Tensor q = randn({pairs_, d}, run.dtype, generator);
      const Tensor k = randn({pairs_, d}, run.dtype, generator);
      const Tensor cos2 = (q * k).sum(1).square() / (q.square().sum(1) * k.square().sum(1));
      const Tensor wide = cos2.to(DType::f64);
      const auto e = measure::grouped_mean(wide.data().read<double>(), 1);
      report.rows.push_back({std::int64_t{d}, e.mean, e.error});
      const double expected = 1 / static_cast<double>(d);
      const double allowed = measure::tolerance(e, std::ssize(dims_)) + 1e-6;  // d = 1 has no error
      report.checks.push_back({fmt::format("d={}: E[cos^2] = 1/d", d), CheckKind::identity, e.mean,
                               expected, allowed, std::abs(e.mean - expected) <= allowed});
    }
    return report;
  }

 private:
  std::vector<Index> dims_{1, 4, 64};
  Index pairs_ = 2000;
};

std::unique_ptr<Experiment> make_cosine() { return std::make_unique<Cosine>(); }

constexpr Entry kEntries[] = {
    {"cosine", "shows how near to right angles random directions are", "gradlab cosine --dim 4,64",
     make_cosine},
};

Outcome program(const test::Words& words) { return test::in_process(words, kEntries); }

TEST(OwnExperiment, RunsAndIsHeldToTheory) {
  const Outcome table = program({"cosine"});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("mean cos^2"));
  const Outcome json = program({"cosine", "--dim", "16", "--format", "json"});
  EXPECT_EQ(json.code, 0) << json.err;
  EXPECT_THAT(json.out, HasSubstr("d=16: E[cos^2] = 1/d"));
  EXPECT_THAT(json.out, HasSubstr("0.0625"));
}

TEST(OwnExperiment, HasWhatEveryCommandHas) {
  const auto csv = [](test::Words more) {
    more.insert(more.begin(), {"cosine", "--dim", "2,8", "--format", "csv"});
    const Outcome outcome = program(more);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  EXPECT_TRUE(csv({}).starts_with("dim,cos2,cos2_error\n2,0."));
  EXPECT_EQ(csv({"--threads", "1"}), csv({"--threads", "3"}));
  EXPECT_NE(csv({"--seed", "1"}), csv({}));
  EXPECT_NE(csv({"--dtype", "f32"}), csv({}));
  const test::Folder folder;
  test::put(folder / "run.toml", "[cosine]\npairs = 300\n");
  EXPECT_EQ(csv({"--config", folder / "run.toml"}), csv({"--pairs", "300"}));
  EXPECT_THAT(program({"cosine", "--help"}).out, HasSubstr("--pairs N"));
  EXPECT_THAT(program({"--help"}).out, HasSubstr("shows how near to right angles"));
  EXPECT_THAT(program({"completion", "bash"}).out, HasSubstr("--pairs"));
}

TEST(OwnExperiment, HasItsMistakesNamed) {
  const Outcome typo = program({"cosine", "--pairs", "many"});
  EXPECT_EQ(typo.code, 2);
  EXPECT_EQ(typo.err, "error: --pairs: expected a whole number in [100, 1000000], got 'many'\n");
  const Outcome huge = program({"cosine", "--dim", "4096", "--pairs", "1000000"});
  EXPECT_EQ(huge.code, 2) << huge.err;
  EXPECT_TRUE(test::is_one_error_line(huge.err)) << huge.err;
}

}  // namespace
}  // namespace experiments
