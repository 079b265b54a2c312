#include "experiments/page/board.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/attention/draws.h"
#include "experiments/attention/tokens.h"
#include "experiments/measure/values.h"
#include "experiments/softmax/scaling_rows.h"

namespace experiments::page {
namespace {

using attention::AttentionPass;

AttentionPass run_pass(const BoardRequest& request) {
  nn::MultiHeadAttentionOptions options{.n_embd = request.n_embd,
                                        .n_head = request.n_head,
                                        .bias = nn::Bias::no,
                                        .dtype = request.dtype};
  options.init = nn::parse_init(request.init);
  options.scale = nn::Scale::parse(request.scale);
  options.causal = request.causal ? nn::Causal::yes : nn::Causal::no;
  options.dropout = request.dropout;
  Run run;
  run.seed = request.seed;
  run.dtype = request.dtype;
  const autograd::Tensor x =
      request.words.empty()
          ? attention::normals({request.seq_len, request.n_embd}, run,
                               attention::key_of(run.seed, attention::Draw::input))
          : attention::embedded(request.words, request.n_embd, run);
  return attention::pass_of(options, x, attention::Gradients::yes, run,
                            attention::Loss::parse(request.loss));
}

/// Where the numbers of one head begin, seen as a matrix of some width.
struct Part {
  const double* data;
  Index width;
  double operator()(Index i, Index j) const { return data[i * width + j]; }
};

Part part(const std::vector<double>& all, Index head, Index rows, Index width) {
  return {all.data() + head * rows * width, width};
}

void add(Explanation& e, std::string label, double left, double right) {
  e.terms.push_back({std::move(label), left, right, left * right});
}

void finish(Explanation& e) {
  double sum = 0;
  for (const Explanation::Term& t : e.terms) sum += t.product;
  e.sum = e.factor * sum;
  std::stable_sort(e.terms.begin(), e.terms.end(), [](const auto& a, const auto& b) {
    return std::abs(a.product) > std::abs(b.product);
  });
}

std::string numbered(const char* what, Index i) { return fmt::format("{} {}", what, i); }

}  // namespace

double Explanation::rest(std::size_t shown) const {
  double sum = 0;
  for (std::size_t i = shown; i < terms.size(); ++i) sum += terms[i].product;
  return sum;
}

Board::Board(const BoardRequest& request) : request_(request), pass_(run_pass(request)) {}

std::vector<Matrix> Board::matrices() const {
  const AttentionPass& p = pass_;
  const Index T = p.tokens, D = p.head_size, C = p.heads * D;
  return {{"x", &p.x, false, T, C},
          {"q", &p.q, true, T, D},
          {"k", &p.k, true, T, D},
          {"v", &p.v, true, T, D},
          {"scores", &p.scores, true, T, T},
          {"weights", &p.weights, true, T, T},
          {"kept", &p.kept, true, T, T},
          {"y", &p.heads_out, true, T, D},
          {"out", &p.out, false, T, C},
          {"d_x", &p.d_x, false, T, C},
          {"d_q", &p.d_q, true, T, D},
          {"d_k", &p.d_k, true, T, D},
          {"d_v", &p.d_v, true, T, D},
          {"d_scores", &p.d_scores, true, T, T},
          {"d_weights", &p.d_weights, true, T, T},
          {"d_kept", &p.d_kept, true, T, T},
          {"d_y", &p.d_heads_out, true, T, D},
          {"d_out", &p.d_out, false, T, C}};
}

RowFacts Board::facts_of(Index head, Index query) const {
  const Index T = pass_.tokens;
  const auto row = [&](const std::vector<double>& all) {
    return std::span<const double>(part(all, head, T, T).data + query * T,
                                   static_cast<std::size_t>(seen(query)));
  };
  const auto s = row(pass_.scores), p = row(pass_.weights), ds = row(pass_.d_scores),
             dp = row(pass_.d_weights);
  const softmax::RowStats stats = softmax::row_stats(s, p);
  const double most = std::log(static_cast<double>(seen(query)));
  return {.entropy = stats.entropy,
          .entropy_norm = most == 0 ? 0 : stats.entropy / most,
          .p_max = stats.p_max,
          .jacobian = stats.jacobian,
          .gain = softmax::gain(ds, dp),
          .d_scores = measure::norm(ds),
          .d_weights = measure::norm(dp)};
}

std::vector<RowFacts> Board::rows() const {
  std::vector<RowFacts> all;
  for (Index h = 0; h < pass_.heads; ++h)
    for (Index i = 0; i < pass_.tokens; ++i) all.push_back(facts_of(h, i));
  return all;
}

Explanation Board::explain(std::string_view matrix, Index head, Index row, Index column) const {
  for (const Matrix& m : matrices()) {
    if (m.name != matrix) continue;
    const bool inside = row >= 0 && row < m.rows && column >= 0 && column < m.columns;
    if (!inside || head < 0 || head >= pass_.heads)
      autograd::fail<autograd::ValueError>("{}: head {}, row {}, column {} is not in ({}, {}, {})",
                                           matrix, head, row, column, pass_.heads, m.rows,
                                           m.columns);
    Explanation e;
    e.value = part(*m.values, m.has_heads ? head : 0, m.rows, m.columns)(row, column);
    if (matrix.substr(0, 2) == "d_") explain_backward(matrix.substr(2), head, row, column, e);
    else explain_forward(matrix, head, row, column, e);
    finish(e);
    return e;
  }
  autograd::fail<autograd::ValueError>("there is no matrix '{}'", matrix);
}

SoftmaxSteps Board::softmax_steps(Index head, Index row) const {
  const Part s = part(pass_.scores, head, pass_.tokens, pass_.tokens);
  SoftmaxSteps steps{.max = s(row, 0)};
  for (Index n = 0; n < seen(row); ++n) steps.max = std::max(steps.max, s(row, n));
  for (Index n = 0; n < seen(row); ++n) steps.exps.push_back(std::exp(s(row, n) - steps.max));
  for (const double e : steps.exps) steps.sum += e;
  return steps;
}

/// Channel j of head `head` of the queries, keys or values (which = 0, 1, 2).
void Board::explain_projection(Index which, Index head, Index i, Index j, Explanation& e) const {
  const Index D = pass_.head_size, C = pass_.heads * D;
  const Part x = part(pass_.x, 0, pass_.tokens, C), w = part(pass_.qkv_weight, 0, 3 * C, C);
  for (Index m = 0; m < C; ++m)
    add(e, numbered("channel", m), x(i, m), w(which * C + head * D + j, m));
}

void Board::explain_forward(std::string_view name, Index head, Index i, Index j,
                            Explanation& e) const {
  const AttentionPass& p = pass_;
  const Index T = p.tokens, D = p.head_size, C = p.heads * D;
  const Part q = part(p.q, head, T, D), k = part(p.k, head, T, D), v = part(p.v, head, T, D);
  const Part w = part(p.weights, head, T, T);
  const Part kept = part(p.kept, head, T, T);
  if (name == "x") {
    e.formula = request_.words.empty()
                    ? "X is drawn from N(0,1)"
                    : "X is the word's vector N(0,1) plus its position's N(0,1/4)";
    add(e, "drawn", e.value, 1);
  } else if (name == "q" || name == "k" || name == "v") {
    const Index which = name == "q" ? 0 : name == "k" ? 1 : 2;
    const char* const formulas[] = {"Q = X Wq\u1d40, over the channels of X",
                                    "K = X Wk\u1d40, over the channels of X",
                                    "V = X Wv\u1d40, over the channels of X"};
    e.formula = formulas[which];
    explain_projection(which, head, i, j, e);
  } else if (name == "scores") {
    e.formula = "S = a Q K\u1d40: a times the sum of q_c k_c";
    e.factor = p.factor;
    for (Index c = 0; c < D; ++c) add(e, numbered("channel", c), q(i, c), k(j, c));
  } else if (name == "weights") {
    e.formula = "P = exp(S - max) / sum of exp(S - max) over the row";
    const SoftmaxSteps steps = softmax_steps(head, i);
    if (j < seen(i))
      add(e, numbered("exp(S - max) and 1 / sum, key", j), steps.exps[j], 1 / steps.sum);
  } else if (name == "kept") {
    e.formula = "P after dropout: 0, or P / (1 - p)";
    const double keep = kept(i, j) == 0 ? 0 : 1 / (1 - request_.dropout);
    add(e, "weight, kept or not", w(i, j), keep);
  } else if (name == "y") {
    e.formula = "Y = P V: the values, weighted";
    for (Index n = 0; n < T; ++n) add(e, numbered("key", n), kept(i, n), v(n, j));
  } else {
    e.formula = "Out = Y Wo\u1d40, over the channels of all heads";
    const Part o = part(p.proj_weight, 0, C, C);
    for (Index m = 0; m < C; ++m)
      add(e, numbered("channel", m), part(p.heads_out, m / D, T, D)(i, m % D), o(j, m));
  }
}

/// Over the channels of queries, keys and values of all heads.
void Board::explain_input_gradient(Index i, Index j, Explanation& e) const {
  const Index T = pass_.tokens, D = pass_.head_size, C = pass_.heads * D;
  const Part w = part(pass_.qkv_weight, 0, 3 * C, C);
  const std::vector<double>* gradients[] = {&pass_.d_q, &pass_.d_k, &pass_.d_v};
  const char* const names[] = {"dQ, channel", "dK, channel", "dV, channel"};
  for (Index which = 0; which < 3; ++which)
    for (Index m = 0; m < C; ++m)
      add(e, numbered(names[which], m), part(*gradients[which], m / D, T, D)(i, m % D),
          w(which * C + m, j));
}

void Board::explain_backward(std::string_view name, Index head, Index i, Index j,
                             Explanation& e) const {
  const AttentionPass& p = pass_;
  const Index T = p.tokens, D = p.head_size, C = p.heads * D;
  const Part q = part(p.q, head, T, D), k = part(p.k, head, T, D), v = part(p.v, head, T, D);
  const Part w = part(p.weights, head, T, T), kept = part(p.kept, head, T, T);
  const Part ds = part(p.d_scores, head, T, T), dp = part(p.d_weights, head, T, T);
  const Part dy = part(p.d_heads_out, head, T, D);
  if (name == "out") {
    e.formula = "dOut: the loss's own derivative (" + request_.loss + ")";
    add(e, "given by the loss", e.value, 1);
  } else if (name == "y") {
    e.formula = "dY = dOut Wo, over the channels of the output";
    const Part d_out = part(p.d_out, 0, T, C), o = part(p.proj_weight, 0, C, C);
    for (Index m = 0; m < C; ++m) add(e, numbered("channel", m), d_out(i, m), o(m, head * D + j));
  } else if (name == "v") {
    e.formula = "dV = P\u1d40 dY, over the queries";
    for (Index n = 0; n < T; ++n) add(e, numbered("query", n), kept(n, i), dy(n, j));
  } else if (name == "kept" || (name == "weights" && request_.dropout == 0)) {
    e.formula = "dP = dY V\u1d40, over the channels";
    for (Index c = 0; c < D; ++c) add(e, numbered("channel", c), dy(i, c), v(j, c));
  } else if (name == "weights") {
    e.formula = "dP: through dropout, 0 or / (1 - p)";
    const double keep =
        dp(i, j) == 0 ? 0 : 1 / (1 - request_.dropout);  // a masked P is 0 either way
    add(e, "gradient after dropout", part(p.d_kept, head, T, T)(i, j), keep);
  } else if (name == "scores") {
    e.formula = "dS = P (dP - P\u00b7dP): P times dP, less the row's mean of dP under P";
    e.factor = w(i, j);
    add(e, "dP itself", dp(i, j), 1);
    for (Index n = 0; n < T; ++n) add(e, numbered("- P dP, key", n), -w(i, n), dp(i, n));
  } else if (name == "q") {
    e.formula = "dQ = a dS K, over the keys";
    e.factor = p.factor;
    for (Index n = 0; n < T; ++n) add(e, numbered("key", n), ds(i, n), k(n, j));
  } else if (name == "k") {
    e.formula = "dK = a dS\u1d40 Q, over the queries";
    e.factor = p.factor;
    for (Index n = 0; n < T; ++n) add(e, numbered("query", n), ds(n, i), q(n, j));
  } else {
    e.formula = "dX = dQ Wq + dK Wk + dV Wv, over the channels of all heads";
    explain_input_gradient(i, j, e);
  }
}

}  // namespace experiments::page
