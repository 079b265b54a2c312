#include "experiments/softmax/lesson_claims_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/report/numbers.h"

namespace experiments::softmax {
namespace {

Claim parameters(const Findings& f) {
  return {.id = "parameters",
          .says = "exactly 4 C^2 = 2,359,296 parameters",
          .measured = fmt::format("{} counted in the module", report::grouped(f.module.parameters)),
          .quantity = "parameters of the module, no biases",
          .claimed = 2'359'296,
          .value = static_cast<double>(f.module.parameters),
          .error = 0,
          .samples = 1,
          .verdict = right_if(f.module.parameters == 2'359'296),
          .expected = Verdict::right};
}

Claim heads(const Findings& f) {
  return {.id = "heads",
          .says = "the parameter count does not depend on H",
          .measured = fmt::format(
              "{} count over all {} divisors of 768",
              f.module.distinct_counts == 1 ? "one" : fmt::format("{}", f.module.distinct_counts),
              f.module.head_counts),
          .quantity = "different parameter counts over the divisors of C",
          .claimed = 1,
          .value = static_cast<double>(f.module.distinct_counts),
          .error = 0,
          .samples = f.module.head_counts,
          .verdict = right_if(f.module.distinct_counts == 1),
          .expected = Verdict::right};
}

Claim share() {
  const Gpt2Count gpt2 = gpt2_count();
  const auto all = static_cast<double>(gpt2.attention_weights);
  const double share = all / static_cast<double>(gpt2.total());
  return {.id = "share",
          .says = "28.3 M over 12 blocks, roughly 23 % of the model",
          .measured = fmt::format("{} of {} (V C + T C + 12 (12 C^2 + 13 C) + 2 C = {} + {} + {} + "
                                  "{}): {}",
                                  report::grouped(gpt2.attention_weights),
                                  report::grouped(gpt2.total()), report::grouped(gpt2.tokens),
                                  report::grouped(gpt2.positions), report::grouped(gpt2.blocks),
                                  report::grouped(gpt2.final_norm), report::percent(share)),
          .quantity = "share of the attention's weights in GPT-2 small",
          .claimed = 0.23,
          .value = share,
          .error = 0,
          .samples = 1,
          .verdict = right_if(std::abs(all / 1e6 - 28.3) < 0.05 && std::abs(share - 0.23) < 0.005),
          .expected = Verdict::right};
}

// That GPT-2 has the biases is a documented fact; the published total is only reached with them.
Claim biases(const Findings& f) {
  const Gpt2Count gpt2 = gpt2_count();
  const bool with = gpt2.total() == kGpt2Published;
  const bool without = gpt2.total() - gpt2.attention_biases == kGpt2Published;
  return {.id = "biases",
          .says = "GPT-2 turns biases off in attention",
          .measured = fmt::format("its checkpoint has them (c_attn.bias, c_proj.bias): 4 C^2 + 4 C "
                                  "= {}, and its {} parameters only add up so",
                                  report::grouped(f.module.parameters_with_bias),
                                  report::grouped(kGpt2Published)),
          .quantity = "parameters of the module with biases",
          .claimed = 2'359'296,
          .value = static_cast<double>(f.module.parameters_with_bias),
          .error = 0,
          .samples = 1,
          .verdict = right_if(without && !with),
          .expected = Verdict::wrong};
}

Claim shape(const Findings& f) {
  const bool same = f.module.output == f.module.input;
  return {.id = "shape",
          .says = "attention preserves (B, T, C)",
          .measured = fmt::format("{} gives {}", f.module.input.str(), f.module.output.str()),
          .quantity = "1 if the shapes are the same",
          .claimed = 1,
          .value = same ? 1.0 : 0.0,
          .error = 0,
          .samples = 1,
          .verdict = right_if(same),
          .expected = Verdict::right};
}

Claim eval_twice(const Findings& f) {
  const ModuleFacts& m = f.module;
  const bool same = m.eval_difference == 0 && m.dropped_eval_difference == 0;
  return {.id = "eval_twice",
          .says = "the same input twice gives the same output in eval",
          .measured = fmt::format("difference {}; with dropout 0.1 {} in eval, {} in training",
                                  report::significant(m.eval_difference, 3),
                                  report::significant(m.dropped_eval_difference, 3),
                                  report::significant(m.dropped_train_difference, 3)),
          .quantity = "largest |y1 - y2| in eval",
          .claimed = 0,
          .value = std::max(m.eval_difference, m.dropped_eval_difference),
          .error = 0,
          .samples = 1,
          .verdict = right_if(same && m.dropped_train_difference > 0),
          .expected = Verdict::right};
}

Claim every_position(const Findings& f) {
  return {.id = "every_position",
          .says = "x changed at position 0: y changed at pos 5? True",
          .measured = fmt::format("{}, by {} at most", f.module.moved_as_printed ? "True" : "False",
                                  report::significant(f.module.moved, 3)),
          .quantity = "largest change of y at position 5",
          .claimed = kNone,
          .value = f.module.moved,
          .error = 0,
          .samples = 1,
          .verdict = right_if(f.module.moved_as_printed),
          .expected = Verdict::right};
}

Claim module_init(const Findings& f) {
  const bool never = f.unscaled.saturated_rows < 0.01 && f.scaled.saturated_rows < 0.01;
  return {.id = "module_init",
          .says = "(not said) the module never saturates as it starts, even without the scale",
          .measured = fmt::format(
              "std of the scores {} without ({} expected), {} with the scale; H {:.2f} "
              "and {:.2f} ln T; p_max > .9999 in {} of {} rows without",
              report::significant(f.unscaled.score_std, 3),
              report::significant(expected_initial_std(), 3),
              report::significant(f.scaled.score_std, 3), f.unscaled.entropy_norm,
              f.scaled.entropy_norm, report::percent(f.unscaled.saturated_rows), f.unscaled.rows),
          .quantity = "std of the module's unscaled scores at initialisation",
          .claimed = kNone,
          .value = f.unscaled.score_std,
          .error = kNone,
          .samples = f.unscaled.rows,
          .verdict = never ? Verdict::extra : Verdict::wrong,
          .expected = Verdict::extra};
}

}  // namespace

std::vector<Claim> module_claims(const Findings& f) {
  return {heads(f), biases(f),     parameters(f),     share(),
          shape(f), eval_twice(f), every_position(f), module_init(f)};
}

}  // namespace experiments::softmax
