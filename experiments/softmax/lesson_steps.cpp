#include "experiments/softmax/lesson_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/array/matmul.h"
#include "autograd/array/softmax.h"
#include "autograd/ops.h"
#include "experiments/report/numbers.h"
#include "experiments/softmax/naive.h"

namespace experiments::softmax {
namespace {

using autograd::Array;
using autograd::Tensor;
using Lines = std::vector<std::string>;
constexpr auto kT = static_cast<std::size_t>(kTokens);

std::span<const double> row(const Array& matrix, std::size_t i) {
  const std::size_t width = matrix.read<double>().size() / kT;
  return matrix.read<double>().subspan(i * width, width);
}

std::string cells(std::span<const double> values, const char* form) {
  std::string out;
  for (const double v : values) out += fmt::format(fmt::runtime(form), v);
  return out;
}

double largest_gap(const Array& a, const Array& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.read<double>().size(); ++i) {
    largest = std::max(largest, std::abs(a.read<double>()[i] - b.read<double>()[i]));
  }
  return largest;
}

// What the first run at D = 64 prints under one scale.
struct Printed {
  double low, high, naive, ours, slope;  // slope: of the winner of row 0, by backward
};
Printed first_run(const Setting& setting, const nn::Scale& scale) {
  const Array scores =
      printed_scores(draw_trials(setting, 0, 1), scale).reshape({kTokens, kTokens});
  const auto [low, high] = std::ranges::minmax(scores.read<double>());
  Tensor s(scores);
  s.requires_grad_();
  const Tensor weights = autograd::softmax(s, /*dim=*/-1);
  const std::span<const double> p = row(weights.data(), 0);
  const Index top = std::ranges::max_element(p) - p.begin();
  weights.select(0, 0).select(0, top).backward();
  return {low, high, printed_entropy(row(naive_softmax(scores), 0)),
          row_stats(row(scores, 0), p).entropy, s.grad().at({0, top})};
}

std::string runs_line(const char* what, const CodeRuns& runs) {
  const measure::Summary entropy = measure::summarize(runs.entropy);
  return fmt::format("  {:24}{:>8}{:>8.3g}{:>8.3g}{:>9.3f}{:>9.4f}{:>8.3f}{:>9}{:>8}", what,
                     report::significant(runs.score_std(), 3), measure::mean(runs.score_min),
                     measure::mean(runs.score_max), entropy.mean, entropy.median,
                     measure::mean(runs.p_max),
                     report::percent(share_above(runs.p_max, 0.9999, kTokens).mean),
                     report::percent(runs.nan_share()));
}

const char* holds(bool so) { return so ? "holds" : "FAILS"; }

}  // namespace

Lines step_one(std::uint64_t seed) {
  const Setting setting{
      .d_k = 8, .seq_len = kTokens, .trials = 1, .init = nn::Init::lesson, .seed = seed};
  const Trials trials = draw_trials(setting, 0, 1);
  const Array scores = printed_scores(trials, nn::Scale::sqrt_dk()).reshape({kTokens, kTokens});
  const Array naive = naive_softmax(scores), ours = autograd::softmax(scores, /*axis=*/1);
  const Array out = matmul(naive, trials.v.data().reshape({kTokens, setting.d_k}));
  Lines lines{fmt::format("Step 1: naked attention, T = 4, D = 8; x, W_q, W_k, W_v ~ N(0,1), f64"),
              "  scores = Q @ K.T / sqrt(D)              weights = exp(scores) / "
              "exp(scores).sum(-1)"};
  for (std::size_t i = 0; i < kT; ++i) {
    lines.push_back(fmt::format("  {}    {}", cells(row(scores, i), "{:9.3f}"),
                                cells(row(naive, i), "{:9.4f}")));
  }
  lines.push_back(fmt::format("  out = weights @ V, row 0:{}", cells(row(out, 0), " {:.2f}")));
  lines.push_back(fmt::format(
      "  ours subtracts each row's largest score before exp: the weights differ by at most {}",
      report::significant(largest_gap(naive, ours), 2)));
  return lines;
}

Lines step_two(const Findings& f) {
  const Printed none = first_run(f.setting, nn::Scale::none()),
                scaled = first_run(f.setting, nn::Scale::sqrt_dk());
  const auto number = [](double x) { return report::significant(x, 3); };
  const auto both = [&](const char* what, double a, double b) {
    return fmt::format("  {:52}{:>16}{:>20}", what, number(a), number(b));
  };
  const auto range = [&](const Printed& p) {
    return fmt::format("{} {}", report::significant(p.low, 4), report::significant(p.high, 4));
  };
  return {
      fmt::format("Step 2: the same with D = 64"),
      fmt::format("  {:52}{:>16}{:>20}", "the first run", "Q @ K.T", "Q @ K.T / sqrt(D)"),
      fmt::format("  {:52}{:>16}{:>20}", "score range:", range(none), range(scaled)),
      both("entropy of row 0: (as printed, 1e-10 inside the log)", none.naive, scaled.naive),
      both("entropy of row 0, ours (ln T = 1.39)", none.ours, scaled.ours),
      both("d weight / d score of row 0's winner, by backward", none.slope, scaled.slope),
      fmt::format("  {:24}{:>8}{:>8}{:>8}{:>18}{:>8}{:>9}{:>8}",
                  fmt::format("over {} runs", f.setting.trials), "std", "min", "max",
                  "H mean   median", "p_max", "> .9999", "nan"),
      runs_line("as printed, Q K^T", f.printed[0]),
      runs_line("as printed, / sqrt(D)", f.printed[1]),
      runs_line("Q, K ~ N(0,1), Q K^T", f.unit[0]),
      runs_line("Q, K ~ N(0,1), / sqrt(D)", f.unit[1]),
  };
}

Lines step_three(const Findings& f, autograd::DType dtype) {
  const ModuleFacts& m = f.module;
  const auto line = [](const std::string& printed, const char* check, bool so) {
    return fmt::format("  {:48}{}: {}", printed, check, holds(so));
  };
  return {
      fmt::format("Step 3: MultiHeadAttention, C = 768, H = 12, x ~ N(0,1), {} (--dtype)",
                  autograd::name(dtype)),
      line("output shape: " + m.output.str(), "assert y.shape == x.shape", m.output == m.input),
      line("attention params: " + report::grouped(m.parameters), "assert n_params == 4 * C ** 2",
           m.parameters == 4 * 768 * 768),
      line(fmt::format("y1 - y2 at most {} in eval", report::significant(m.eval_difference, 2)),
           "assert allclose(y1, y2)", m.eval_difference == 0),
      line(fmt::format("y changed at pos 5? {}", m.moved_as_printed ? "True" : "False"),
           "every position sees every other", m.moved_as_printed),
  };
}

}  // namespace experiments::softmax
