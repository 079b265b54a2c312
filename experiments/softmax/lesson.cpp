#include "experiments/softmax/lesson.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/registry.h"
#include "experiments/report/text.h"
#include "experiments/softmax/lesson_steps.h"

namespace experiments::softmax {
namespace {

/// `gradlab lesson`: the lesson's three steps, and its claims against what they measure.
class Lesson : public Experiment {
 public:
  void add_options(Options& options) override {
    options.integer("--runs", runs_, 100, 10'000'000,
                    "runs of the code of step 2, each with its own x and W; a tenth with --quick");
  }

  double bytes_needed(const Run&) const override {
    // Four sets of 4 values per run and 12 per row; some modules of 2.4 million parameters.
    return static_cast<double>(runs_) * 8 * 4 * (4 + 3 * kTokens) + 200e6;
  }

  Report run(const Run& run) override {
    return report_of(findings_of(run, run.quick ? std::max<Index>(runs_ / 10, 100) : runs_), run);
  }

 private:
  Index runs_ = 4000;
};

}  // namespace

Findings findings_of(const Run& run, Index runs) {
  const Setting setting{.d_k = kHeadSize,
                        .seq_len = kTokens,
                        .trials = runs,
                        .init = nn::Init::lesson,
                        .seed = run.seed};
  Setting unit = setting;
  unit.init = nn::Init::unit;
  const nn::Scale scales[] = {nn::Scale::none(), nn::Scale::sqrt_dk()};
  Findings f;
  f.setting = setting;
  f.printed = run_code(setting, scales, [&](double part) { run.progress(0.8 * part); });
  f.unit = run_code(unit, scales, [&](double part) { run.progress(0.8 + 0.05 * part); });
  f.module = run_module(run.seed, run.dtype);
  run.progress(0.95);
  f.unscaled = run_initial(run.seed, run.dtype, nn::Scale::none());
  f.scaled = run_initial(run.seed, run.dtype, nn::Scale::sqrt_dk());
  return f;
}

Report report_of(const Findings& findings, const Run& run) {
  const std::vector<Claim> claims = judged(findings);
  Report report;
  report.columns = claim_columns();
  std::vector<std::string> unexpected;
  for (const Claim& claim : claims) {
    report.rows.push_back(claim_row(claim));
    if (claim.verdict != claim.expected) unexpected.push_back(claim.id);
  }
  for (const auto& lines : {step_one(run.seed), step_two(findings), step_three(findings, run.dtype),
                            claim_lines(claims)}) {
    if (!report.notes.empty()) report.notes.push_back("");
    report.notes.insert(report.notes.end(), lines.begin(), lines.end());
  }
  report.failed = !unexpected.empty();
  report.failure = fmt::format("{} of {} verdicts contradict theory: {}", unexpected.size(),
                               claims.size(), report::join(unexpected, ", "));
  return report;
}

std::unique_ptr<Experiment> make_lesson() { return std::make_unique<Lesson>(); }

}  // namespace experiments::softmax
