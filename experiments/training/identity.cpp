#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "autograd/machine/parallel.h"
#include "experiments/measure/values.h"
#include "experiments/registry.h"
#include "experiments/report/numbers.h"
#include "experiments/training/attention_runs.h"

namespace experiments::training {
namespace {

using autograd::DType;

constexpr Index kWave = 10;  // steps between two calls of progress

struct Variant {
  const char* name;
  Factors factors;
};

std::vector<Variant> variants_of(Rule rule, Index d_k) {
  const Factors right = equivalent(rule, d_k);
  std::vector<Variant> variants{{"rescaled", right}, {"plain", {}}};
  if (rule == Rule::adamw) {
    Factors naive = right;
    naive.eps = 1;
    variants.push_back({"naive_eps", naive});
  }
  return variants;
}

/// A setting with its variants in training.
struct Case {
  AttentionSetting setting;
  std::vector<Variant> variants;
  AttentionRuns runs;
  double early = 0;  // the rescaled run's outputs over the first kWave steps
};

Case make_case(const AttentionSetting& setting) {
  std::vector<Variant> variants = variants_of(setting.rule, setting.d_k);
  std::vector<Factors> factors;
  for (const Variant& v : variants) factors.push_back(v.factors);
  return {setting, std::move(variants), AttentionRuns(setting, factors)};
}

double larger(double a, double b) { return std::isnan(a) ? a : std::max(b, a); }

/// How far rounding alone may move the outputs apart in a few steps. Later there is no bound:
/// training keeps doubling small differences, and AdamW takes full steps from the gradient of the
/// key bias, which is 0 up to rounding.
double rounding_bound(DType dtype) { return 1e4 * measure::epsilon(dtype); }

/// `gradlab identity`: attention scaled by 1/sqrt(d) trains like unscaled attention whose query and
/// key projections start d^(1/4) times smaller, with their own rate, eps and decay.
class Identity : public Experiment {
 public:
  void add_options(Options& options) override;
  double bytes_needed(const Run& run) const override;
  Report run(const Run& run) override;

 private:
  std::vector<Case> cases(const Run& run) const;
  void train(std::vector<Case>& all, const Run& run) const;
  Index steps(const Run& run) const { return run.quick ? std::min<Index>(steps_, 50) : steps_; }
  std::vector<std::string> notes(const std::vector<Case>& all, const Run& run) const;

  std::vector<Index> dk_{16, 256};
  Index steps_ = 200, seq_len_ = 8;
  double learning_rate_ = 0.003;
};

void Identity::add_options(Options& options) {
  options.sizes("--dk", dk_, 1, 4096,
                "head sizes d, in channels; equal bit for bit only if d is a power of 16 (in f32 "
                "and f64, whatever --dtype is)");
  options.integer("--steps", steps_, 1, 100'000,
                  "training steps of each run; at most 50 with --quick");
  options.integer("--seq-len", seq_len_, 2, 512, "sequence length T");
  options.number("--learning-rate", learning_rate_, 1e-6, 0.1,
                 "learning rate of AdamW; SGD takes 10 times as much");
}

double Identity::bytes_needed(const Run&) const {
  double bytes = 0;
  for (const Index d_k : dk_) {
    const auto d = static_cast<double>(d_k), T = static_cast<double>(seq_len_);
    // For each run the weights with gradient and averages, q and k, scores, and their gradients.
    bytes += 10 * (8 + 4) * (4 * 2 * 17 * d + 2 * 4 * (2 * T * d + 2 * T * T));
  }
  return bytes;
}

std::vector<Case> Identity::cases(const Run& run) const {
  std::vector<Case> all;
  for (const Index d_k : dk_)
    for (const DType dtype : {DType::f32, DType::f64})
      for (const Rule rule : kRules)
        all.push_back(make_case({d_k, seq_len_, learning_rate_, rule, dtype, run.seed}));
  return all;
}

void Identity::train(std::vector<Case>& all, const Run& run) const {
  const Index steps = this->steps(run);
  for (Index done = 0; done < steps; done += kWave) {
    run.progress(static_cast<double>(done) / static_cast<double>(steps));
    // Each thread takes whole cases, as their arrays are too small to share.
    autograd::parallel_for(std::ssize(all), 1, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        Case& c = all[static_cast<std::size_t>(i)];
        c.runs.train(std::min(kWave, steps - done));
        if (done == 0) c.early = c.runs.gaps().front().outputs;
      }
    });
  }
}

Check check_of(const Case& c) {
  const AttentionSetting& s = c.setting;
  const Gap& gap = c.runs.gaps().front();
  const std::string what =
      fmt::format("d_k={} {} {}: ", s.d_k, autograd::name(s.dtype), name(s.rule));
  if (is_power_of_16(s.d_k)) {
    const double most = larger(gap.outputs, gap.weights);
    return {what + "rescaled = scaled", CheckKind::identity, most, 0, 0, most == 0};
  }
  const double bound = rounding_bound(s.dtype);
  return {what + fmt::format("outputs of {} steps", kWave),
          CheckKind::bound,
          c.early,
          0,
          bound,
          c.early <= bound};
}

/// The largest output difference of the variants of that name.
double most_of(const std::vector<Case>& all, std::string_view variant) {
  double most = 0;
  for (const Case& c : all)
    for (std::size_t i = 0; i < c.variants.size(); ++i)
      if (c.variants[i].name == variant) most = larger(c.runs.gaps()[i].outputs, most);
  return most;
}

std::string verdict(const std::vector<Case>& all) {
  std::size_t exact = 0, equal = 0;
  for (const Case& c : all) {
    const Gap& gap = c.runs.gaps().front();
    exact += is_power_of_16(c.setting.d_k);
    equal += gap.outputs == 0 && gap.weights == 0;
  }
  std::string text = fmt::format(
      "{} of {} rescaled runs equal the scaled one bit for bit, in every output and every weight "
      "of every step",
      equal, all.size());
  if (exact < all.size())
    text += fmt::format("; d_k is a power of 16 in {}, and elsewhere rounding differs", exact);
  return text + '.';
}

std::vector<std::string> Identity::notes(const std::vector<Case>& all, const Run& run) const {
  const auto shown = [](double difference) {
    return std::isnan(difference) ? std::string("infinity") : report::significant(difference, 2);
  };
  return {
      fmt::format("{} steps on B = 4 sequences of T = {}, C = 16, with fixed normal inputs and "
                  "targets, in f32 and f64 whatever --dtype is. momentum and adamw decay their "
                  "weights; sgd and momentum learn at {} times the rate of adamw, {}.",
                  steps(run), seq_len_, kSgdRate, report::significant(learning_rate_, 3)),
      "Each run has no scale and is compared with the one that has 1/sqrt(d). rescaled: W_q, W_k "
      "and their biases start at d^(-1/4) times the values of that one, with the rate times "
      "d^(-1/2) and the decay times d^(1/2) (SGD), or the rate times d^(-1/4), eps and decay times "
      "d^(1/4) (AdamW). naive_eps: the same, with eps left at 1e-8. plain: nothing is rescaled. dW "
      "is converted to the size of the scaled run.",
      verdict(all),
      fmt::format("The outputs of plain runs differ by up to {}, those of naive_eps by up to {}.",
                  shown(most_of(all, "plain")), shown(most_of(all, "naive_eps")))};
}

Report Identity::run(const Run& run) {
  Report report;
  report.columns = {{"d_k", "d_k"},
                    {"dtype", "dtype"},
                    {"optimizer", "optimizer"},
                    {"variant", "variant"},
                    {"output_difference", "max |dy|", 2},
                    {"weight_difference", "max |dW|", 2},
                    {"final_loss", "loss", 6},
                    {"scaled_loss", "scaled loss", 6}};
  std::vector<Case> all = cases(run);
  train(all, run);
  for (const Case& c : all) {
    for (std::size_t i = 0; i < c.variants.size(); ++i) {
      const Gap& gap = c.runs.gaps()[i];
      report.rows.push_back({std::int64_t{c.setting.d_k},
                             std::string(autograd::name(c.setting.dtype)), name(c.setting.rule),
                             c.variants[i].name, gap.outputs, gap.weights, gap.loss,
                             c.runs.scaled_loss()});
    }
    report.checks.push_back(check_of(c));
  }
  report.notes = notes(all, run);
  return report;
}

}  // namespace

std::unique_ptr<Experiment> make_identity() { return std::make_unique<Identity>(); }

}  // namespace experiments::training
