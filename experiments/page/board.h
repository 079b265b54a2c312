#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/attention/attention_pass.h"

// One attention layer forwards and backwards, as the page shows it: the numbers of `gradlab
// attention`, and behind every number the sum that it is.

namespace experiments::page {

using autograd::Index;

struct BoardRequest {
  std::vector<std::string> words = {};  // the tokens; if empty, seq_len random ones
  Index seq_len = 8, n_embd = 64, n_head = 4;
  std::string init = "unit", scale = "sqrt_dk", loss = "random";
  std::uint64_t seed = 0;
  bool causal = false;
  double dropout = 0;
  autograd::DType dtype = autograd::DType::f64;
};

/// Of one query: entropy in nats over the keys it sees, |J| the Frobenius norm of softmax's
/// Jacobian, gain = |dS| / |dP - mean dP|, the norms of dS and dP.
struct RowFacts {
  double entropy, entropy_norm, p_max, jacobian, gain, d_scores, d_weights;
};

/// A number of a matrix and what it is computed from: the products left right, the largest first.
struct Explanation {
  struct Term {
    std::string label;
    double left, right, product;
  };
  std::string formula;
  double value = 0;   // as the engine gave it
  double factor = 1;  // of the sum
  double sum = 0;     // factor times the products, added in a plain loop
  std::vector<Term> terms = {};

  /// The sum of all but the first `shown` terms, without the factor.
  double rest(std::size_t shown) const;
};

/// Softmax of one row, step by step, over the keys that it sees.
struct SoftmaxSteps {
  double max = 0, sum = 0;   // sum of the exponentials
  std::vector<double> exps;  // exp(S - max)
};

/// A matrix by its name: x, q, k, v, scores, weights, kept, y, out, and d_ of each. Those with
/// heads are (H, rows, columns).
struct Matrix {
  std::string name;
  const std::vector<double>* values;
  bool has_heads;
  Index rows, columns;
};

class Board {
 public:
  /// ValueError and its kin as the layer throws.
  explicit Board(const BoardRequest& request);

  const attention::AttentionPass& pass() const { return pass_; }
  std::vector<Matrix> matrices() const;
  /// (H, T), query by query.
  std::vector<RowFacts> rows() const;
  SoftmaxSteps softmax_steps(Index head, Index row) const;
  std::vector<report::Check> checks() const { return attention::checks_of(pass_, request_.dtype); }
  /// ValueError unless there is such a number.
  Explanation explain(std::string_view matrix, Index head, Index row, Index column) const;

 private:
  Index seen(Index query) const { return request_.causal ? query + 1 : pass_.tokens; }
  RowFacts facts_of(Index head, Index query) const;
  void explain_forward(std::string_view name, Index head, Index i, Index j, Explanation& e) const;
  void explain_backward(std::string_view name, Index head, Index i, Index j, Explanation& e) const;
  void explain_projection(Index which, Index head, Index i, Index j, Explanation& e) const;
  void explain_input_gradient(Index i, Index j, Explanation& e) const;

  BoardRequest request_;
  attention::AttentionPass pass_;
};

}  // namespace experiments::page
