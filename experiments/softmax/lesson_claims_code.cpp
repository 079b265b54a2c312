#include "experiments/softmax/lesson_claims_code.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "experiments/report/numbers.h"

namespace experiments::softmax {
namespace {

// An extreme score that the lesson names: true if 95 % of the runs are about it.
Claim score_claim(const char* id, const char* which, double claimed, const Findings& f,
                  std::vector<double> CodeRuns::*scores) {
  std::vector<double> values = f.printed[0].*scores;
  const measure::Estimate estimate = measure::grouped_mean(values, 1);
  const double low = measure::quantile(values, 0.025), high = measure::quantile(values, 0.975);
  return {.id = id,
          .says = fmt::format("at D = 64 the {} score is about {:+g}", which, claimed),
          .measured = fmt::format("{:.0f} on average, 95 % of the runs in {:.0f} to {:.0f}; {:.0f} "
                                  "once divided by sqrt(D)",
                                  estimate.mean, low, high, measure::mean(f.printed[1].*scores)),
          .quantity = fmt::format("mean {} score of a run", which),
          .claimed = claimed,
          .value = estimate.mean,
          .error = estimate.error,
          .samples = estimate.groups,
          .verdict = right_if(low <= claimed && claimed <= high),
          .expected = Verdict::wrong};
}

Claim naive_exp(const Findings& f) {
  const double share = f.printed[0].nan_share();
  const auto n = static_cast<double>(f.setting.trials);
  return {.id = "naive_exp",
          .says = "a numerical bug hides in the np.exp calls",
          .measured =
              fmt::format("exp overflows beyond 709.78: {} of the runs at D = 64 print nan as the "
                          "entropy of row 0",
                          report::percent(share)),
          .quantity = "share of runs that print nan for row 0",
          .claimed = kNone,
          .value = share,
          .error = std::sqrt(share * (1 - share) / n),
          .samples = f.setting.trials,
          .verdict = right_if(share > 0),
          .expected = Verdict::right};
}

Claim saturation(const Findings& f) {
  const measure::Estimate share = share_above(f.printed[0].p_max, 0.9999, kTokens);
  return {.id = "saturation",
          .says = "each row puts 99.99 % of its mass on one position",
          .measured = fmt::format("{} of the rows do", report::percent(share.mean)),
          .quantity = "share of rows with p_max > .9999",
          .claimed = 1,
          .value = share.mean,
          .error = share.error,
          .samples = f.setting.rows(),
          .verdict = right_if(share.mean >= 0.95),
          .expected = Verdict::right};
}

Claim gradients(const Findings& f) {
  const std::vector<double>& winner = f.printed[0].winner;
  const measure::Estimate alive = share_above(winner, 1e-4, kTokens);
  const double vanished = 1 - alive.mean;
  return {.id = "gradients",
          .says = "gradients are zero everywhere except at the winning cell",
          .measured = fmt::format("there too: the winner's p (1 - p) is below 1e-4 in {} of the "
                                  "rows, its median {}",
                                  report::percent(vanished),
                                  report::significant(measure::summarize(winner).median, 3)),
          .quantity = "share of rows whose winner has p (1 - p) < 1e-4",
          .claimed = 0,
          .value = vanished,
          .error = alive.error,
          .samples = f.setting.rows(),
          .verdict = right_if(vanished < 0.5),
          .expected = Verdict::wrong};
}

Claim variance(const Findings& f) {
  const measure::Estimate measured = measure::grouped_mean(f.unit[0].score_square, 1);
  const auto D = static_cast<double>(f.setting.d_k);
  return {.id = "variance",
          .says = "Var(q.k) = D for entries of mean 0 and variance 1",
          .measured =
              fmt::format("{:.1f} +- {:.1f} at D = 64; the code's W ~ N(0,1) makes Q and K "
                          "of variance D: Var(q.k) = {:.0f}, about D^3",
                          measured.mean, measured.error, measure::mean(f.printed[0].score_square)),
          .quantity = "Var(q.k) of q, k ~ N(0,1)",
          .claimed = D,
          .value = measured.mean,
          .error = measured.error,
          .samples = measured.groups,
          .verdict = right_if(std::abs(measured.mean - D) <= measure::tolerance(measured, 1)),
          .expected = Verdict::right};
}

Claim unit_variance(const Findings& f) {
  const double printed = f.printed[1].score_std(), unit = f.unit[1].score_std();
  const bool code = std::abs(printed - 1) < 0.1, ideal = std::abs(unit - 1) < 0.1;
  const measure::Estimate square = measure::grouped_mean(f.printed[1].score_square, 1);
  return {.id = "unit_variance",
          .says = "dividing by sqrt(D) brings the scores to unit variance",
          .measured = fmt::format("std {} for Q, K ~ N(0,1), but {} for the code as printed",
                                  report::significant(unit, 3), report::significant(printed, 3)),
          .quantity = "std of the scaled scores of the code as printed",
          .claimed = 1,
          .value = printed,
          .error = square.error / (2 * printed),
          .samples = square.groups,
          .verdict = code && ideal   ? Verdict::right
                     : code || ideal ? Verdict::partly
                                     : Verdict::wrong,
          .expected = Verdict::partly};
}

Claim entropy(const Findings& f) {
  const measure::Estimate printed = measure::grouped_mean(f.printed[1].entropy, kTokens);
  const double limit = std::log(static_cast<double>(kTokens)),
               unit = measure::mean(f.unit[1].entropy);
  return {.id = "entropy",
          .says = "one division brings the entropy back near ln T = 1.39",
          .measured = fmt::format("{} for the code as printed; {} = {:.2f} ln T for Q, K ~ N(0,1)",
                                  report::significant(printed.mean, 3),
                                  report::significant(unit, 4), unit / limit),
          .quantity = "mean entropy of a row under the scale, nats",
          .claimed = limit,
          .value = printed.mean,
          .error = printed.error,
          .samples = f.setting.rows(),
          .verdict = right_if(std::abs(printed.mean - limit) <= 0.1 * limit),
          .expected = Verdict::wrong};
}

}  // namespace

std::vector<Claim> code_claims(const Findings& f) {
  return {naive_exp(f),
          score_claim("score_min", "smallest", -150, f, &CodeRuns::score_min),
          score_claim("score_max", "largest", 200, f, &CodeRuns::score_max),
          saturation(f),
          gradients(f),
          variance(f),
          unit_variance(f),
          entropy(f)};
}

}  // namespace experiments::softmax
