#include "experiments/attention/attention_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "autograd/ops.h"
#include "experiments/attention/draws.h"
#include "experiments/measure/values.h"

namespace experiments::attention {
namespace {

using autograd::Tensor;
using Row = std::span<const double>;

Row row_of(const std::vector<double>& all, Index row, Index width) {
  return Row(all).subspan(static_cast<std::size_t>(row * width), static_cast<std::size_t>(width));
}

/// Below the smallest normal float an error is no longer relative.
double ratio(double error, double size) {
  return error / std::max(size, double{std::numeric_limits<float>::min()});
}

/// |sum p - 1|, the largest.
double row_sum_error(const AttentionPass& pass) {
  double worst = 0;
  for (Index i = 0; i < pass.heads * pass.tokens; ++i) {
    double sum = 0;
    for (const double p : row_of(pass.weights, i, pass.tokens)) sum += p;
    worst = std::max(worst, std::abs(sum - 1));
  }
  return worst;
}

/// |s - a q.k| over a sum |q_c k_c|, the largest.
double score_error(const AttentionPass& pass) {
  double worst = 0;
  for (Index i = 0; i < pass.heads * pass.tokens; ++i) {
    const Row q = row_of(pass.q, i, pass.head_size);
    for (Index j = 0; j < pass.tokens; ++j) {
      const Row k = row_of(pass.k, i / pass.tokens * pass.tokens + j, pass.head_size);
      double sum = 0, size = 0;
      for (std::size_t c = 0; c < q.size(); ++c) {
        sum += q[c] * k[c];
        size += std::abs(q[c] * k[c]);
      }
      const double s = pass.scores[static_cast<std::size_t>(i * pass.tokens + j)];
      const double error = std::abs(s - pass.factor * sum);
      worst = std::max(worst, ratio(error, std::abs(pass.factor) * size));
    }
  }
  return worst;
}

/// For the rows of dS, over sum p |dP|: the largest |sum| and the largest |dS - p (dP - p.dP)|.
struct GradientErrors {
  double sum = 0, formula = 0;
};

GradientErrors gradient_errors(const AttentionPass& pass) {
  GradientErrors worst;
  for (Index i = 0; i < pass.heads * pass.tokens; ++i) {
    const Row p = row_of(pass.weights, i, pass.tokens);
    const Row ds = row_of(pass.d_scores, i, pass.tokens),
              dp = row_of(pass.d_weights, i, pass.tokens);
    double mean = 0, size = 0, sum = 0, formula = 0;
    for (std::size_t j = 0; j < p.size(); ++j) {
      mean += p[j] * dp[j];
      size += p[j] * std::abs(dp[j]);
      sum += ds[j];
    }
    for (std::size_t j = 0; j < p.size(); ++j)
      formula = std::max(formula, std::abs(ds[j] - p[j] * (dp[j] - mean)));
    worst.sum = std::max(worst.sum, ratio(std::abs(sum), size));
    worst.formula = std::max(worst.formula, ratio(formula, size));
  }
  return worst;
}

/// N of "row:N", which starts with `kind`.
std::optional<Index> number_after(std::string_view kind, std::string_view text) {
  if (text.substr(0, kind.size()) != kind) return std::nullopt;
  Index value = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data() + kind.size(), end, value);
  if (error != std::errc() || last != end || value < 0) return std::nullopt;
  return value;
}

/// Of the layer that a pass goes through: its weights drop out, its output does not.
void set_mode(nn::MultiHeadAttention& layer, double dropout) {
  layer.eval();
  if (dropout == 0) return;
  for (const nn::NamedModule& m : layer.named_modules())
    if (m.name == "attn_dropout") m.module->train();
}

void add_gradients(const nn::TracedAttention& trace, const Tensor& x, const Tensor& y,
                   AttentionPass& pass) {
  const auto read = [](const Tensor& t, std::vector<double>& out, const char* what) {
    out = measure::doubles(t.grad());
    measure::require_finite(out, what);
  };
  read(trace.scores, pass.d_scores, "attention: the gradients of the scores");
  read(trace.weights, pass.d_weights, "attention: the gradients of the weights");
  read(trace.kept, pass.d_kept, "attention: the gradients of the weights after dropout");
  read(trace.q, pass.d_q, "attention: the gradients of the queries");
  read(trace.k, pass.d_k, "attention: the gradients of the keys");
  read(trace.v, pass.d_v, "attention: the gradients of the values");
  read(trace.out, pass.d_heads_out, "attention: the gradients of the weighted values");
  read(x, pass.d_x, "attention: the gradients of the input");
  read(y, pass.d_out, "attention: the gradients of the output");
}

}  // namespace

Loss Loss::parse(std::string_view text) {
  if (text == "random") return {};
  if (const auto at = number_after("row:", text)) return {Kind::row, *at};
  if (const auto at = number_after("class:", text)) return {Kind::label, *at};
  autograd::fail<autograd::ValueError>("loss: expected random, row:N or class:N, got '{}'", text);
}

std::string Loss::name() const {
  if (kind == Kind::random) return "random";
  return fmt::format("{}:{}", kind == Kind::row ? "row" : "class", at);
}

Tensor Loss::of(const Tensor& y, const Run& run) const {
  const Index T = y.size(1), C = y.size(2), count = kind == Kind::row ? T : C;
  if (kind != Kind::random && at >= count)
    autograd::fail<autograd::ValueError>("loss: expected {}:N with N in [0, {}], got {}",
                                         kind == Kind::row ? "row" : "class", count - 1, name());
  if (kind == Kind::label)
    return cross_entropy(y.reshape({T, C}),
                         autograd::from_values(std::vector<std::int64_t>(T, at)));
  const Tensor g = normals(y.shape(), run, key_of(run.seed, Draw::cotangent));
  if (kind == Kind::row) return (y.narrow(1, at, 1) * g.narrow(1, at, 1)).sum();
  return (y * g).sum();
}

AttentionPass pass_of(const nn::MultiHeadAttentionOptions& config, const Tensor& x,
                      Gradients gradients, const Run& run, const Loss& loss) {
  nn::Generator generator(run.seed);
  nn::MultiHeadAttention layer(config, generator);
  set_mode(layer, config.dropout);
  Tensor input(x.data());
  if (gradients == Gradients::yes) input.requires_grad_();
  const nn::AttentionTrace traces;
  Tensor y = layer(input.unsqueeze(0));
  const nn::TracedAttention& trace = traces[0];
  AttentionPass pass{.heads = config.n_head,
                     .tokens = x.size(0),
                     .head_size = config.head_size(),
                     .factor = config.scale.factor(config.head_size()),
                     .q = measure::doubles(trace.q),
                     .k = measure::doubles(trace.k),
                     .v = measure::doubles(trace.v),
                     .scores = measure::doubles(trace.scores),
                     .weights = measure::doubles(trace.weights),
                     .kept = measure::doubles(trace.kept),
                     .heads_out = measure::doubles(trace.out),
                     .x = measure::doubles(x),
                     .out = measure::doubles(y),
                     .qkv_weight = measure::doubles(layer.parameter("qkv.weight")),
                     .proj_weight = measure::doubles(layer.parameter("proj.weight"))};
  measure::require_finite(pass.scores, "attention: the scores");
  measure::require_finite(pass.weights, "attention: the weights");
  if (gradients == Gradients::yes) {
    y.retain_grad();
    loss.of(y, run).backward();
    add_gradients(trace, input, y, pass);
  }
  return pass;
}

std::vector<Check> checks_of(const AttentionPass& pass, autograd::DType dtype) {
  const double row = 4 * static_cast<double>(pass.tokens + 4) * measure::epsilon(dtype);
  const double dot = static_cast<double>(pass.head_size + 4) * measure::epsilon(dtype);
  std::vector<Check> checks;
  const auto add = [&](const char* name, double error, double allowed) {
    checks.push_back({name, CheckKind::identity, error, 0, allowed, error <= allowed});
  };
  add("each row of the weights sums to 1", row_sum_error(pass), row);
  add("scores = a q.k in plain loops, relative", score_error(pass), dot);
  if (!pass.d_scores.empty()) {
    const GradientErrors errors = gradient_errors(pass);
    add("each row of dS sums to 0, relative", errors.sum, row);
    add("dS = P (dP - P.dP) in plain loops, relative", errors.formula, row);
  }
  return checks;
}

double normalised_entropy(std::span<const double> weights, Index tokens) {
  if (tokens < 2) return 0;
  double sum = 0;
  for (const double p : weights)
    if (p > 0) sum -= p * std::log(p);
  const auto t = static_cast<double>(tokens);
  return sum / (t * std::log(t));
}

}  // namespace experiments::attention
