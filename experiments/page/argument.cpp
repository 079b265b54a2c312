#include "experiments/page/argument.h"

#include <algorithm>
#include <cmath>

#include "experiments/measure/theory.h"
#include "experiments/measure/values.h"
#include "nn/attention.h"

namespace experiments::page {
namespace {

using softmax::Setting;

constexpr Index kReferenceRows = 8192;  // at most, as in `gradlab scaling`

Setting setting_of(const ArgumentRequest& request) {
  Setting setting{.d_k = request.d_k,
                  .seq_len = request.seq_len,
                  .init = nn::parse_init(request.init),
                  .seed = request.seed};
  const Index queries = setting.queries();
  setting.trials = (request.rows + queries - 1) / queries;
  return setting;
}

Theory theory_of(Index T, double sigma) {
  return {.entropy_small = measure::small_sigma_entropy(T, sigma),
          .jacobian_small = measure::small_sigma_jacobian(T),
          .entropy_large = measure::large_sigma_entropy(T, sigma),
          .jacobian_large = measure::large_sigma_jacobian(T, sigma),
          .median_large = measure::large_sigma_jacobian_median(T, sigma)};
}

void append(const std::vector<softmax::CellCheck>& from, std::vector<report::Check>& to) {
  for (const softmax::CellCheck& c : from) to.push_back(c.check);
}

}  // namespace

std::vector<Measured> measure_argument(const ArgumentRequest& request) {
  const Setting setting = setting_of(request);
  std::vector<nn::Scale> scales;
  std::vector<double> factors;
  for (const std::string& text : request.scales) {
    scales.push_back(nn::Scale::parse(text));
    factors.push_back(scales.back().factor(setting.d_k));
  }
  const auto samples =
      softmax::run_trials(setting, scales, softmax::chunk_of(setting), [](double) {});
  std::vector<softmax::Reference> references;
  if (setting.init == nn::Init::unit && setting.trials >= softmax::kFewestTrials)
    references = softmax::run_reference(
        {setting.d_k, setting.seq_len, std::min(setting.rows(), kReferenceRows), setting.seed},
        factors);
  const Index tests =
      softmax::tests_of(setting, static_cast<std::size_t>(request.sizes), scales.size());
  std::vector<Measured> all;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const softmax::Cell cell = softmax::make_cell(setting, scales[i], samples[i]);
    Measured m{.cell = cell, .theory = theory_of(setting.seq_len, cell.sigma()), .checks = {}};
    append(softmax::variance_checks(cell, samples[i], tests), m.checks);
    append(
        softmax::checks_of(cell, samples[i], references.empty() ? nullptr : &references[i], tests),
        m.checks);
    all.push_back(std::move(m));
  }
  return all;
}

Scores scores_of(const ArgumentRequest& request, const std::string& scale, Index trials) {
  Setting setting = setting_of(request);
  setting.trials = std::min(trials, setting.trials);
  const nn::Scale factor = nn::Scale::parse(scale);
  const softmax::Trials draws = softmax::draw_trials(setting, 0, setting.trials);
  const nn::AttentionTrace trace;
  nn::attention(draws.q, draws.k, draws.v, {.scale = factor});
  const std::vector<double> weights = measure::doubles(trace[0].weights);
  return {.sigma = std::abs(factor.factor(setting.d_k)) *
                   std::sqrt(softmax::expected_score_square(setting)),
          .values = measure::doubles(trace[0].scores),
          .first_weights = {weights.begin(), weights.begin() + setting.seq_len}};
}

}  // namespace experiments::page
