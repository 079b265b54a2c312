#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "autograd/machine/parallel.h"
#include "experiments/registry.h"
#include "experiments/report/numbers.h"
#include "experiments/tools/bench_measure.h"
#include "experiments/tools/peak.h"
#include "experiments/tools/workloads.h"

namespace experiments::tools {
namespace {

constexpr const char* kPeak = "peak";

constexpr const char* kNotes[] = {
    "Timings differ from run to run. GFLOP/s are from the median time. of peak: what share a "
    "sample reaches of the bursts of multiply-adds right before and after it on as many threads, "
    "median over samples (for the bursts themselves: best time over median time).",
    "Operations counted: 2 m n k per matrix product, and nothing else where there is one; in gelu, "
    "layer_norm and softmax every operation on an element, with exp and erf as one.",
    "attention, gelu, layer_norm, mlp and softmax: forward and backward; gpt_step: forward, "
    "backward, clipping, AdamW.",
};

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Workload& workload : headline_workloads(DType::f32)) all.push_back(workload.name);
  all.insert(std::ranges::lower_bound(all, kPeak), kPeak);
  return all;
}

std::vector<Column> columns() {
  return {{"name", "name"},
          {"shape", "shape"},
          {"threads", "threads"},
          {"median_ms", "median ms"},
          {"min_ms", "min ms"},
          {"samples", ""},
          {"gflop", ""},
          {"gflops", "GFLOP/s"},
          {"share_of_peak", "of peak"},
          {"tokens_per_s", ""}};
}

/// `gradlab bench`: times the pieces of work that training and the experiments are made of.
class Bench : public Experiment {
 public:
  void add_options(Options& options) override {
    options.choices("--only", only_, names(), "what to time besides the peak");
  }
  DType default_dtype() const override { return DType::f32; }
  Report run(const Run& run) override;

 private:
  void time_all(std::vector<Workload> works, const Run& run, Report& report) const;

  std::vector<std::string> only_ = names();
};

Patience patience(const Run& run) {
  return run.quick ? Patience{.seconds = 0.05, .min_samples = 3} : Patience{};
}

std::vector<Value> row_of(const Workload& work, int threads, const Timing& timing, double share) {
  const double tokens = work.tokens > 0 ? static_cast<double>(work.tokens) / timing.median : NAN;
  return {work.name,
          work.shape,
          std::int64_t{threads},
          timing.median * 1e3,
          timing.min * 1e3,
          std::int64_t{timing.samples},
          work.flops / 1e9,
          work.flops / timing.median / 1e9,
          share,
          tokens};
}

/// The peak: bursts of a millisecond or two, so that waking threads costs next to nothing.
Workload burst(DType dtype, int threads) {
  constexpr Index kRounds = 1'000'000;
  return {.name = kPeak,
          .shape = fmt::format("{} bits at once", fma_bits()),
          .flops = threads * fma_flops(dtype, kRounds),
          .prepare = [=]() -> std::function<void()> {
            return [=] { fma_burst(dtype, kRounds, threads); };
          }};
}

void Bench::time_all(std::vector<Workload> works, const Run& run, Report& report) const {
  const std::set<int> counts{1, run.threads};  // in this order, so that --threads stays set
  const auto all = static_cast<double>(counts.size() * (works.size() + 1));
  for (const int threads : counts) {
    autograd::set_num_threads(threads);
    const auto progress = [&] { run.progress(static_cast<double>(report.rows.size()) / all); };
    progress();
    const Workload peak = burst(run.dtype, threads);
    const std::function<void()> reach = peak.prepare();
    const Timing best = time_of(reach, patience(run));
    report.rows.push_back(row_of(peak, threads, best, best.min / best.median));
    for (const Workload& work : works) {
      progress();
      const Ratio took = time_beside(reach, work.prepare(), patience(run));
      const Timing& timing = took.call;
      report.rows.push_back(row_of(work, threads, timing, work.flops / peak.flops / took.median));
      if (work.tokens == 0) continue;
      const double rate = static_cast<double>(work.tokens) / timing.median;
      report.notes.push_back(fmt::format("{}: {} tokens/s with {} thread{}.", work.name,
                                         report::grouped(std::llround(rate)), threads,
                                         threads == 1 ? "" : "s"));
    }
  }
}

Report Bench::run(const Run& run) {
  std::vector<Workload> works = headline_workloads(run.dtype);
  std::erase_if(works, [this](const Workload& w) { return !std::ranges::count(only_, w.name); });
  Report report;
  report.columns = columns();
  time_all(std::move(works), run, report);
  for (const char* line : kNotes) report.notes.emplace_back(line);
  return report;
}

}  // namespace

std::unique_ptr<Experiment> make_bench() { return std::make_unique<Bench>(); }

}  // namespace experiments::tools
