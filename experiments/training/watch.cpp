#include "experiments/training/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "autograd/graph/anomaly.h"
#include "nn/eval_mode.h"

namespace experiments::training {
namespace {

using autograd::Generator;
using nn::Tensor;

/// Takes the gradients of a model away while it lives, and then restores them and its random
/// state.
class Untouched {
 public:
  explicit Untouched(nn::Module& model) {
    for (Tensor& p : model.parameters()) {
      grads_.emplace_back(p, p.grad());
      p.zero_grad();
    }
    remember(autograd::default_generator());
    for (const nn::NamedModule& m : model.named_modules()) {
      if (auto* dropout = dynamic_cast<nn::Dropout*>(m.module)) remember(dropout->generator());
    }
  }
  ~Untouched() {
    for (auto& [p, grad] : grads_) {
      p.zero_grad();
      if (grad.defined()) p.set_grad(grad);
    }
    for (const auto& [generator, state] : generators_) generator->set_state(state);
  }
  Untouched(const Untouched&) = delete;
  Untouched& operator=(const Untouched&) = delete;

 private:
  void remember(Generator& generator) { generators_.emplace_back(&generator, generator.state()); }

  std::vector<std::pair<Tensor, Tensor>> grads_;
  std::vector<std::pair<Generator*, Generator::State>> generators_;
};

double worst(const LayerStats& heads) {
  double most = 0;
  for (const HeadStats& head : heads) most = std::max(most, head.max_logit);
  return most;
}

std::string drawn(const LayerStats& heads, double HeadStats::*value,
                  std::pair<double, double> range, report::Glyphs glyphs) {
  std::vector<double> values;
  for (const HeadStats& head : heads) values.push_back(head.*value);
  return report::sparkline(values, range.first, range.second, glyphs);
}

}  // namespace

std::vector<LayerStats> watch_layers(nn::GPT& model, const Tensor& tokens) {
  const nn::AttentionTrace trace;
  {
    const nn::EvalMode eval(model);
    (void)model(tokens);
  }
  std::vector<LayerStats> layers;
  for (const nn::TracedAttention& layer : trace.calls()) {
    const double scale = model.options().scale.factor(layer.q.size(-1));
    layers.push_back(head_stats(layer.q, layer.k, scale, model.options().causal));
  }
  return layers;
}

std::vector<std::string> diagnose(const nn::Module& model, const autograd::GradientFlow& flow) {
  std::vector<std::string> lines;
  for (const nn::NamedParameter& p : model.named_parameters()) {
    if (!p.tensor.requires_grad()) continue;  // frozen
    if (const auto cut = flow.cut_of(p.tensor)) lines.push_back(p.name + ": " + describe(*cut));
  }
  return lines;
}

std::vector<std::string> diagnose(nn::Module& model, const std::function<Tensor()>& loss) {
  const Untouched untouched(model);
  const autograd::GradientFlow flow;
  const Tensor value = loss();
  if (value.requires_grad()) value.backward();
  return diagnose(model, flow);
}

std::string explain_nonfinite(const nn::Module& model, const std::function<void()>& pass) {
  for (const nn::NamedParameter& p : model.named_parameters()) {
    const autograd::Range range = autograd::range_of(p.tensor.data());
    if (range.finite()) continue;
    return fmt::format("{}: the parameter itself is not finite: {}", p.name,
                       autograd::describe(p.tensor.shape(), range));
  }
  try {
    const autograd::AnomalyGuard guard;
    pass();
  } catch (const autograd::NumericError& error) {
    return error.what();
  }
  return "could not be repeated: run again, no op of the batch made a NaN or an infinity from "
         "finite values";
}

std::vector<StatsRow> rows_of(const std::vector<LayerStats>& layers) {
  std::vector<StatsRow> rows;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (std::size_t h = 0; h < layers[i].size(); ++h) {
      const HeadStats& s = layers[i][h];
      rows.push_back({fmt::format("h.{}.attn.{}", i, h),
                      {{"rows", static_cast<double>(s.rows)},
                       {"logit_std", s.logit_std},
                       {"max_logit", s.max_logit},
                       {"entropy", s.entropy},
                       {"p_max", s.p_max},
                       {"dead_rows", s.dead_rows},
                       {"gain", s.gain}},
                      name(s.level)});
    }
  }
  return rows;
}

std::vector<StatsRow> rows_of(const std::vector<ParameterStats>& parameters) {
  std::vector<StatsRow> rows;
  for (const ParameterStats& p : parameters) {
    rows.push_back({p.name,
                    {{"grad_norm", p.grad_norm.value_or(std::numeric_limits<double>::quiet_NaN())},
                     {"norm", p.norm},
                     {"update_ratio", p.update_ratio}},
                    ""});
  }
  return rows;
}

std::vector<std::string> watch_lines(const std::vector<LayerStats>& layers, report::Glyphs glyphs) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LayerStats& heads = layers[i];
    const double most = worst(heads);
    std::string line = fmt::format("h.{:<2} entropy {}  gain {}  |logit| {} at most {:.3g}", i,
                                   drawn(heads, &HeadStats::entropy, {1e-2, 1}, glyphs),
                                   drawn(heads, &HeadStats::gain, {1e-3, 1}, glyphs),
                                   drawn(heads, &HeadStats::max_logit, {0.1, 1e4}, glyphs), most);
    if (level_of(most) != LogitLevel::fine) line += fmt::format("  {}", name(level_of(most)));
    lines.push_back(line);
  }
  return lines;
}

}  // namespace experiments::training
