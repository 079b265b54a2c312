#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "autograd/graph/flow.h"
#include "experiments/report/sparkline.h"
#include "experiments/training/head_stats.h"
#include "experiments/training/parameter_watch.h"
#include "nn/gpt.h"

// Instruments that say why a model does or does not learn. None of them changes what training
// computes, by a bit.

namespace experiments::training {

/// The heads of one attention layer.
using LayerStats = std::vector<HeadStats>;

/// All layers on `tokens` (B, T; a few sequences), forward only, in evaluation mode and without a
/// graph; every module gets its own mode back.
std::vector<LayerStats> watch_layers(nn::GPT& model, const nn::Tensor& tokens);

/// A line for each parameter that got no gradient, or one of zeros, in the passes that `flow` saw:
/// "h.1.mlp.fc.weight: no gradient; cut at detach of (2, 8, 16) in GPT.h.1.mlp".
std::vector<std::string> diagnose(const nn::Module& model, const autograd::GradientFlow& flow);
/// The same of one pass of its own, forward and backward. Gradients of the model and the state of
/// its dropout's and the default generator are as before.
std::vector<std::string> diagnose(nn::Module& model, const std::function<nn::Tensor()>& loss);

/// Why a batch gave a loss or gradients that are not finite: the first parameter that is not, or
/// what the anomaly guard says of pass(), forward and backward of the same batch with the same
/// random state, or that it found nothing. What else pass() throws is passed on.
std::string explain_nonfinite(const nn::Module& model, const std::function<void()>& pass);

/// One line of a log, ready for JSON.
struct StatsRow {
  std::string name;                                    // "h.0.attn.3", "h.0.mlp.fc.weight"
  std::vector<std::pair<std::string, double>> values;  // NaN: unknown
  std::string level;                                   // of a head: fine | warn | alarm
};
std::vector<StatsRow> rows_of(const std::vector<LayerStats>& layers);
std::vector<StatsRow> rows_of(const std::vector<ParameterStats>& parameters);

/// A line per layer for a terminal, a character per head: entropy from 0.01 to 1, gain from 0.001
/// to 1 and the largest |logit| from 0.1 to 1e4, on fixed logarithmic scales.
std::vector<std::string> watch_lines(const std::vector<LayerStats>& layers, report::Glyphs glyphs);

}  // namespace experiments::training
