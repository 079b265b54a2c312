#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "autograd/machine/parallel.h"
#include "experiments/registry.h"
#include "experiments/report/sparkline.h"
#include "experiments/training/recall_run.h"
#include "experiments/training/recall_words.h"

namespace experiments::training {
namespace {

/// `gradlab recall`: how many steps one attention head takes to learn associative recall.
class Recall : public Experiment {
 public:
  void add_options(Options& options) override;
  autograd::DType default_dtype() const override { return autograd::DType::f32; }
  void validate(const Run& run) override;
  double bytes_needed(const Run& run) const override;
  Report run(const Run& run) override;

 private:
  std::vector<RecallRun> runs(const Run& run) const;
  Index seeds(const Run& run) const { return run.quick ? 1 : seeds_; }
  Index max_iters(const Run& run) const {
    return run.quick ? std::min<Index>(setting_.max_iters, 100) : setting_.max_iters;
  }

  std::vector<Index> dk_{16, 64, 256};
  std::vector<nn::Scale> scales_{nn::Scale::none(), nn::Scale::sqrt_dk(), nn::Scale::dk()};
  Index seeds_ = 3;
  RecallOptions setting_;
};

void Recall::add_options(Options& options) {
  options.sizes("--dk", dk_, 1, 4096, "head sizes d, in channels");
  options.scales("--scale", scales_, "factors of the scores");
  options.integer("--seeds", seeds_, 1, 100, "runs of each size and scale; 1 with --quick");
  options.integer("--max-iters", setting_.max_iters, 1, 1'000'000,
                  "maximum number of training steps; at most 100 with --quick");
  options.integer("--pairs", setting_.pairs, 1, 256,
                  "pairs of a key and a value, before the key to look up");
  options.integer("--symbols", setting_.symbols, 2, 1000,
                  "number of different keys, and of values; at least --pairs");
  options.integer("--n-embd", setting_.width, 1, 4096, "channels of the model, whatever --dk is");
  options.integer("--batch-size", setting_.batch_size, 1, 4096, "sequences per training step");
  options.number("--learning-rate", setting_.learning_rate, 1e-6, 1,
                 "learning rate of AdamW, the same in all runs");
}

void Recall::validate(const Run&) {
  if (setting_.pairs > setting_.symbols)
    throw UsageError(
        fmt::format("--pairs: expected at most --symbols {}, as no key repeats, got {}",
                    setting_.symbols, setting_.pairs));
}

double Recall::bytes_needed(const Run& run) const {
  const auto C = static_cast<double>(setting_.width), S = static_cast<double>(setting_.symbols),
             P = static_cast<double>(setting_.pairs) + 1;
  const double B = static_cast<double>(std::max(setting_.batch_size, kFinalBatch));
  double weights = 0, widest = 0;
  for (const Index d_k : dk_) {
    const auto d = static_cast<double>(d_k);
    weights += 4 * C * (4 * S + P + 2 * C + 2 * d);  // with gradients and both averages
    widest = std::max(widest, d);
  }
  const double runs = static_cast<double>(scales_.size() * static_cast<std::size_t>(seeds(run)));
  const double pass = 2 * B * (P * (8 * C + 2 * widest) + 6 * S);
  return static_cast<double>(autograd::item_size(run.dtype)) *
         (runs * weights + run.threads * pass);
}

std::vector<RecallRun> Recall::runs(const Run& run) const {
  std::vector<RecallRun> all;
  for (Index i = 0; i < seeds(run); ++i) {
    for (const Index d_k : dk_) {
      for (const nn::Scale& scale : scales_) {
        RecallOptions s = setting_;
        s.d_k = d_k;
        s.scale = scale;
        s.seed = run.seed + static_cast<std::uint64_t>(i);
        s.dtype = run.dtype;
        s.max_iters = max_iters(run);
        all.emplace_back(s);
      }
    }
  }
  return all;
}

/// All runs up to one check at a time: each trains on one thread, and its results do not depend on
/// which.
void train(std::vector<RecallRun>& runs, const Run& run) {
  std::vector<RecallRun*> left;
  for (RecallRun& r : runs) left.push_back(&r);
  while (!left.empty()) {
    autograd::parallel_for(std::ssize(left), 1, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) left[static_cast<std::size_t>(i)]->advance();
    });
    std::erase_if(left, [](const RecallRun* r) { return r->done(); });
    double share = 1;
    for (const RecallRun* r : left)
      share = std::min(share, static_cast<double>(r->checks().back().step) /
                                  static_cast<double>(r->options().max_iters));
    run.progress(share);
  }
}

std::vector<Column> columns() {
  return {{"d_k", "d_k"},
          {"scale", "scale"},
          {"seed", "seed"},
          {"steps_to_95", "steps", 1},
          {"final_accuracy", "accuracy"},
          {"entropy_start", ""},
          {"entropy_middle", ""},
          {"entropy_end", "H/ln T", 2},
          {"gain_start", "gain 0", 2},
          {"gain_middle", "mid", 2},
          {"gain_end", "end", 2},
          {"dead_rows_start", "dead 0", 2},
          {"dead_rows_middle", "mid", 2},
          {"dead_rows_end", "end", 2}};
}

Value seed_cell(std::uint64_t seed) {
  if (!std::in_range<std::int64_t>(seed)) return std::to_string(seed);
  return static_cast<std::int64_t>(seed);
}

std::vector<Value> row_of(const RecallRun& run) {
  const RecallOptions& s = run.options();
  const std::vector<RecallCheck>& checks = run.checks();
  const HeadStats &first = checks.front().head, &middle = checks[checks.size() / 2].head,
                  &last = checks.back().head;
  const double steps = run.learnt() ? static_cast<double>(checks.back().step)
                                    : std::numeric_limits<double>::quiet_NaN();
  return {std::int64_t{s.d_k},  s.scale.name(), seed_cell(s.seed), steps,
          run.final_accuracy(), first.entropy,  middle.entropy,    last.entropy,
          first.gain,           middle.gain,    last.gain,         first.dead_rows,
          middle.dead_rows,     last.dead_rows};
}

/// The gain over the training of the runs of one seed, one line each.
std::string figure(const std::vector<RecallRun>& runs, const Run& run) {
  constexpr std::size_t kMost = 50;
  constexpr double kLow = 1e-5, kHigh = 0.3;
  std::string out = fmt::format(
      "Mean gain from a run's first check to its last, seed {}, {} to {} "
      "on a logarithmic scale\n",
      run.seed, kLow, kHigh);
  for (const RecallRun& r : runs) {
    if (r.options().seed != run.seed) continue;
    const std::size_t count = r.checks().size(), shown = std::min(count, kMost);
    std::vector<double> gains;
    for (std::size_t i = 0; i < shown; ++i)
      gains.push_back(r.checks()[shown < 2 ? 0 : i * (count - 1) / (shown - 1)].head.gain);
    out += fmt::format("{:>4} {:<8} {:<{}}  {} steps\n", r.options().d_k, r.options().scale.name(),
                       report::sparkline(gains, kLow, kHigh, run.glyphs()), kMost,
                       r.checks().back().step);
  }
  return out;
}

Report Recall::run(const Run& run) {
  std::vector<RecallRun> all = runs(run);
  train(all, run);
  Report report;
  report.columns = columns();
  for (const RecallRun& r : all) report.rows.push_back(row_of(r));
  report.figure = figure(all, run);
  report.notes = recall_words(all);
  return report;
}

}  // namespace

std::unique_ptr<Experiment> make_recall() { return std::make_unique<Recall>(); }

}  // namespace experiments::training
