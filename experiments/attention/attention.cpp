#include <fmt/format.h>

#include <algorithm>

#include "experiments/attention/attention_step.h"
#include "experiments/attention/draws.h"
#include "experiments/attention/tokens.h"
#include "experiments/cli/values.h"
#include "experiments/registry.h"
#include "experiments/report/numbers.h"
#include "experiments/report/text.h"

namespace experiments::attention {
namespace {

constexpr Index kTokens = 8, kQuickTokens = 4;  // of random input, unless asked for

class Attention : public Experiment {
 public:
  void add_options(Options& options) override;
  void validate(const Run& run) override;
  double bytes_needed(const Run& run) const override {
    return layer_.bytes(run.dtype, static_cast<Index>(tokens_.size()));
  }
  Report run(const Run& run) override;

 private:
  void fill_rows(const AttentionPass& pass, Report& report) const;
  std::string loss_words() const;
  std::vector<std::string> notes(const AttentionPass& pass, const Run& run) const;

  LayerOptions layer_;
  std::string text_, row_text_, loss_text_ = "random";
  std::optional<Index> seq_len_, head_;
  bool step_ = false, backward_ = false, causal_ = false;
  double dropout_ = 0;

  Loss loss_;
  std::vector<std::string> tokens_;
  Index row_ = -1;
};

void Attention::add_options(Options& options) {
  options.text("--text", text_,
               fmt::format("words to use as tokens, at most {}; without it, the input is random",
                           kMaxTokens));
  options.integer("--seq-len", seq_len_, 1, kMaxTokens,
                  fmt::format("number of random tokens, not with --text [{}; {} with --quick]",
                              kTokens, kQuickTokens));
  layer_.add_to(options, "--n-head,--heads");
  options.toggle("--step", step_, "show each step from Q K^T to the weighted values, for one head");
  options.text("--row", row_text_, "query to explain, from 0: which keys it looks at, and why",
               "N");
  options.integer("--head", head_, 0, 65535, "head that --step and --row show, from 0 [0]");
  options.toggle("--causal", causal_, "let a query see only the keys up to its own position");
  options.number("--dropout", dropout_, 0, 1, "probability of dropping a weight, as in training");
  options.toggle("--backward", backward_, "show the gradients of weights and scores too");
  options.text("--loss", loss_text_,
               "what --backward takes the gradients of: random, a sum of the outputs with random "
               "factors; row:N, those of position N alone; class:N, the cross-entropy of the "
               "outputs against channel N",
               "LOSS");
}

void Attention::validate(const Run& run) {
  layer_.config(run.dtype);
  if (seq_len_ && !text_.empty())
    throw UsageError(fmt::format(
        "--seq-len {} cannot be combined with --text, whose words are the tokens", *seq_len_));
  const Index length = seq_len_.value_or(run.quick ? kQuickTokens : kTokens);
  tokens_ = text_.empty() ? numbered_tokens(length) : split_words("--text", text_);
  if (head_ && !step_ && row_text_.empty())
    throw UsageError(fmt::format("--head {} needs --step or --row, which show one head", *head_));
  if (head_ && *head_ >= layer_.n_head)
    throw UsageError(
        fmt::format("--head: expected less than --n-head {}, got {}", layer_.n_head, *head_));
  const auto last = static_cast<Index>(tokens_.size()) - 1;
  try {
    loss_ = Loss::parse(loss_text_);
  } catch (const autograd::ValueError& error) {
    throw UsageError(std::string("--") + error.what());
  }
  if (loss_.kind != Loss::Kind::random && !backward_)
    throw UsageError(fmt::format("--loss {} needs --backward, which takes gradients", loss_text_));
  const Index losses = loss_.kind == Loss::Kind::row ? last + 1 : layer_.n_embd;
  if (loss_.kind != Loss::Kind::random && loss_.at >= losses)
    throw UsageError(fmt::format("--loss: expected N in [0, {}], got {}", losses - 1, loss_text_));
  if (!row_text_.empty()) row_ = cli::parse_integer("--row", row_text_, 0, last);
}

void Attention::fill_rows(const AttentionPass& pass, Report& report) const {
  report.columns = {{"head", ""},      {"query", ""}, {"key", ""},   {"query_token", ""},
                    {"key_token", ""}, {"score", ""}, {"weight", ""}};
  if (backward_) report.columns.insert(report.columns.end(), {{"d_score", ""}, {"d_weight", ""}});
  const Index T = pass.tokens;
  for (Index n = 0; n < pass.heads * T * T; ++n) {
    const std::int64_t query = n / T % T, key = n % T;
    std::vector<Value> row{std::int64_t{n / T / T}, query,        key,
                           tokens_[query],          tokens_[key], pass.scores[n],
                           pass.weights[n]};
    if (backward_) row.insert(row.end(), {pass.d_scores[n], pass.d_weights[n]});
    report.rows.push_back(std::move(row));
  }
}

std::string Attention::loss_words() const {
  switch (loss_.kind) {
    case Loss::Kind::row:
      return fmt::format(
          "The loss is sum(y * g) over position {} alone, with y the layer's output and g ~ N(0,1) "
          "fixed by the seed.",
          loss_.at);
    case Loss::Kind::label:
      return fmt::format(
          "The loss is the mean cross-entropy of the layer's outputs, taken as logits, against "
          "channel {}.",
          loss_.at);
    default:
      return "The loss is sum(y * g), with y the layer's output and g ~ N(0,1) fixed by the seed.";
  }
}

std::vector<std::string> Attention::notes(const AttentionPass& pass, const Run& run) const {
  std::vector<std::string> lines{fmt::format(
      "{}, C = {} channels, H = {} heads of D = {}, weights {}, scale {} = {}.",
      text_.empty() ? "x ~ N(0,1)" : "Each word is a vector N(0,1) plus N(0,1/4) for its position",
      layer_.n_embd, pass.heads, pass.head_size, layer_.init,
      layer_.config(autograd::DType::f64).scale.name(), report::significant(pass.factor, 3))};
  if (pass.tokens > 1) {
    lines.push_back(
        "entropy: mean entropy of a row over ln T; 1 is uniform attention, 0 a single key.");
  }
  const auto top = std::ranges::max_element(pass.weights) - pass.weights.begin();
  const Index T = pass.tokens, head = top / T / T;
  lines.push_back(fmt::format("The largest weight: {} looks at {} in head {} with {}.",
                              title(top / T % T, tokens_, run), title(top % T, tokens_, run), head,
                              report::significant(pass.weights[top], 3)));
  if (backward_) lines.push_back(loss_words());
  if (causal_) lines.push_back("Causal: a query sees no key after its own position.");
  if (dropout_ > 0)
    lines.push_back(fmt::format(
        "Dropout: a weight is 0 with probability {0} where it meets the values, or else "
        "divided by 1 - {0}; the maps show the weights before that.",
        dropout_));
  if (pass.heads > kMaxMaps)
    lines.push_back(
        fmt::format("{} of {} heads are drawn; csv and json have them all.", kMaxMaps, pass.heads));
  if (row_ < 0 && !step_)
    lines.push_back(fmt::format(
        "Next: --row {} --head {} shows why, --step how it is computed, --backward the gradients.",
        top / T % T, head));
  return lines;
}

Report Attention::run(const Run& run) {
  nn::MultiHeadAttentionOptions config = layer_.config(run.dtype);
  config.causal = causal_ ? nn::Causal::yes : nn::Causal::no;
  config.dropout = dropout_;
  const auto T = static_cast<Index>(tokens_.size());
  const autograd::Tensor x = text_.empty()
                                 ? normals({T, layer_.n_embd}, run, key_of(run.seed, Draw::input))
                                 : embedded(tokens_, layer_.n_embd, run);
  const AttentionPass pass =
      pass_of(config, x, backward_ ? Gradients::yes : Gradients::no, run, loss_);
  View view{.pass = pass,
            .tokens = tokens_,
            .run = run,
            .scale = config.scale.name(),
            .causal = causal_,
            .head = head_.value_or(0),
            .row = row_};
  Report report;
  fill_rows(pass, report);
  report.checks = checks_of(pass, run.dtype);
  report.figure = map_figure(view);
  if (row_ >= 0) report.figure += '\n' + row_figure(view);
  if (step_) {
    view.row = std::max<Index>(row_, 0);
    report.figure += '\n' + step_figure(view);
  }
  report.notes = notes(pass, run);
  return report;
}

}  // namespace

std::unique_ptr<Experiment> make_attention() { return std::make_unique<Attention>(); }

}  // namespace experiments::attention
