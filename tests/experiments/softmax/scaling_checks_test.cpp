#include "experiments/softmax/scaling_checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "experiments/measure/theory.h"

namespace experiments::softmax {
namespace {

using nn::Scale;

// A size that was run, with what is needed to check it.
struct Case {
  explicit Case(const Scale& s, Setting of = {.d_k = 64, .seq_len = 16, .trials = 250})
      : setting(of), scale(s) {
    const std::vector<Scale> scales{scale};
    samples.push_back(run_trials(setting, scales, chunk_of(setting), [](double) {})[0]);
    const std::vector<double> factors{scale.factor(setting.d_k)};
    reference = run_reference({setting.d_k, setting.seq_len, 4000, 1}, factors)[0];
  }
  std::vector<CellCheck> checks() const {
    return checks_of(make_cell(setting, scale, samples[0]), samples[0], &reference, 11);
  }
  // Names of the relations that do not hold.
  std::vector<std::string> failures() const {
    std::vector<std::string> names;
    for (const CellCheck& c : checks()) {
      if (!c.check.ok) names.push_back(c.check.name);
    }
    return names;
  }
  Setting setting;
  Scale scale;
  std::vector<Samples> samples;
  Reference reference;
};

using Names = std::vector<std::string>;

TEST(Checks, HoldOnWhatWasMeasured) {
  for (const Scale& scale : {Scale::none(), Scale::sqrt_dk(), Scale::number(-0.5)}) {
    EXPECT_EQ(Case(scale).failures(), Names{}) << scale.name();
  }
}

TEST(Checks, OfEveryKindAreMade) {
  const auto checks = Case(Scale::none()).checks();
  for (const report::CheckKind kind :
       {report::CheckKind::identity, report::CheckKind::bound, report::CheckKind::reference,
        report::CheckKind::asymptote}) {
    EXPECT_TRUE(std::ranges::any_of(checks, [&](auto& c) { return c.check.kind == kind; }));
  }
}

// Each check must notice its quantity being wrong.
TEST(Checks, FailOnWhatIsWrong) {
  Case c(Scale::none());
  for (double& x : c.samples[0].trace) x *= 1.3;
  EXPECT_EQ(c.failures(), (Names{"E[tr J] = E[x.p]/sigma", "E[tr J] <= m_T E[1/|q|]/a"}));
  c = Case(Scale::sqrt_dk());
  for (double& x : c.samples[0].trace) x *= 1.05;  // far below the bound here
  EXPECT_EQ(c.failures(), Names{"E[tr J] = E[x.p]/sigma"});
  c = Case(Scale::none());
  for (double& x : c.samples[0].jacobian) x *= 1.2;
  EXPECT_EQ(c.failures(), Names{"mean |J|"});
  for (double& x : c.samples[0].entropy) x *= 0.8;
  EXPECT_EQ(c.failures(), (Names{"mean |J|", "mean H"}));
  c = Case(Scale::none());
  for (double& x : c.samples[0].p_max) x *= 0.95;
  EXPECT_EQ(c.failures(), Names{"mean p_max"});
}

TEST(Checks, OfTheVarianceNoticeAWrongScale) {
  Case c(Scale::sqrt_dk());
  const Cell cell = make_cell(c.setting, c.scale, c.samples[0]);
  const auto good = variance_checks(cell, c.samples[0], 1);
  ASSERT_EQ(good.size(), 1u);
  EXPECT_TRUE(good[0].check.ok);
  EXPECT_EQ(good[0].check.predicted, 64);
  EXPECT_EQ(good[0].scale, "");
  Cell wrong = cell;
  wrong.factor = 1.1 / 8;
  EXPECT_FALSE(variance_checks(wrong, c.samples[0], 1)[0].check.ok);
}

TEST(Checks, NeedTrialsForTheirErrors) {
  const Case few(Scale::none(), {.d_k = 64, .seq_len = 16, .trials = kFewestTrials - 1});
  for (const CellCheck& c : few.checks()) EXPECT_EQ(c.check.kind, report::CheckKind::asymptote);
  EXPECT_TRUE(variance_checks(make_cell(few.setting, few.scale, few.samples[0]), few.samples[0], 1)
                  .empty());
}

TEST(Checks, LeaveOutWhatDoesNotHold) {
  const auto has = [](const Case& c, report::CheckKind kind) {
    return std::ranges::any_of(c.checks(), [&](auto& x) { return x.check.kind == kind; });
  };
  // E[1/|q|] is infinite for d = 1; the identity still holds there.
  const Case one(Scale::none(), {.d_k = 1, .seq_len = 4, .trials = 200});
  EXPECT_FALSE(has(one, report::CheckKind::bound));
  EXPECT_TRUE(has(one, report::CheckKind::identity));
  EXPECT_EQ(one.failures(), Names{});
  // x W has dependent scores.
  const Case lesson(Scale::none(),
                    {.d_k = 8, .seq_len = 4, .trials = 50, .init = nn::Init::lesson});
  EXPECT_TRUE(lesson.checks().empty());
  EXPECT_TRUE(variance_checks(make_cell(lesson.setting, lesson.scale, lesson.samples[0]),
                              lesson.samples[0], 1)
                  .empty());  // 50 trials of 8 channels tell too little of so long a tail
  const Case zero(Scale::number(0));
  EXPECT_FALSE(has(zero, report::CheckKind::identity));
}

CellCheck made_up(Index d_k, const char* scale, double measured, bool ok,
                  report::CheckKind kind = report::CheckKind::identity) {
  return {d_k, scale, {"x", kind, measured, 0, 1, ok}};
}

TEST(Condensed, ShowsTheWorstOfEachRelation) {
  const std::vector<CellCheck> all{made_up(4, "none", 0.5, true),
                                   made_up(8, "none", -0.9, true),
                                   made_up(16, "none", 0.1, true),
                                   made_up(4, "dk", 0.2, true),
                                   made_up(4, "none", -5, true, report::CheckKind::bound),
                                   made_up(8, "none", 0.3, true, report::CheckKind::bound),
                                   made_up(4, "none", 9, true, report::CheckKind::asymptote),
                                   made_up(8, "none", 1, true, report::CheckKind::asymptote)};
  std::vector<std::string> names;
  for (const report::Check& c : condensed(all)) names.push_back(c.name);
  EXPECT_EQ(names, (Names{"d_k=8 none: x", "d_k=4 dk: x", "d_k=8 none: x", "d_k=8 none: x"}));
}

TEST(Condensed, HidesNoFailure) {
  const auto shown = condensed({made_up(4, "none", 2, false), made_up(8, "none", 0.9, true),
                                made_up(16, "none", -3, false)});
  ASSERT_EQ(shown.size(), 2u);
  EXPECT_EQ(shown[0].name, "d_k=4 none: x");
  EXPECT_EQ(shown[1].name, "d_k=16 none: x");
  EXPECT_FALSE(shown[0].ok || shown[1].ok);
}

// With d = 65536 |q| is 256 within a percent, so factor * 256 is the standard deviation of the
// scores.
TEST(Reference, AgreesWithTheClosedForms) {
  const std::vector<double> factors{1.0 / 256, 8.0 / 256, 64.0 / 256, -8.0 / 256, 0};
  const auto at = run_reference({65536, 4, 40000, 5}, factors);
  EXPECT_NEAR(at[0].entropy.mean, 1.114, 0.01);
  EXPECT_NEAR(at[0].jacobian.mean, 0.402, 0.004);
  EXPECT_NEAR(at[1].entropy.mean, 0.217, 0.008);
  EXPECT_NEAR(at[1].jacobian.mean, 0.117, 0.004);
  EXPECT_NEAR(at[2].jacobian.mean / measure::large_sigma_jacobian(4, 64), 1, 0.08);
  EXPECT_NEAR(at[2].entropy.mean / measure::large_sigma_entropy(4, 64), 1, 0.08);
  EXPECT_NEAR((1 - at[2].p_max.mean) / measure::large_sigma_lost_mass(4, 64), 1, 0.08);
  EXPECT_NEAR(at[3].p_max.mean, at[1].p_max.mean, 5 * at[1].p_max.error);  // the sign is no matter
  EXPECT_NEAR(at[4].entropy.mean, std::log(4.0), 1e-9);
}

// E|q|^2 = d, through ln 2 - E[H] = a^2 |q|^2 / 4 for small a.
TEST(Reference, DrawsQueriesOfTheRightLength) {
  const std::vector<double> factors{0.02};
  for (const Index d : {1, 2, 3, 5, 16}) {
    const Reference at = run_reference({d, 2, 40000, 3}, factors)[0];
    const double square = (std::log(2.0) - at.entropy.mean) * 4 / (0.02 * 0.02);
    EXPECT_NEAR(square / static_cast<double>(d), 1, 0.05) << d;
  }
}

TEST(Reference, FollowsItsSeed) {
  const std::vector<double> factors{1};
  const auto mean = [&](std::uint64_t seed, Index d) {
    return run_reference({d, 16, 100, seed}, factors)[0].entropy.mean;
  };
  EXPECT_EQ(mean(1, 4), mean(1, 4));
  EXPECT_NE(mean(1, 4), mean(2, 4));
  EXPECT_NE(mean(1, 4), mean(1, 5));
}

}  // namespace
}  // namespace experiments::softmax
