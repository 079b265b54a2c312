#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "experiments/attention/attention_pass.h"
#include "experiments/attention/draws.h"
#include "experiments/attention/head_counts.h"
#include "experiments/attention/tokens.h"
#include "experiments/measure/values.h"
#include "experiments/registry.h"
#include "experiments/report/numbers.h"

namespace experiments::attention {
namespace {

constexpr double kMostParameters = 1 << 24;  // of a layer that is made and counted
constexpr Index kMaxMaps = 16;               // that are drawn

/// One way to split the channels.
struct Split {
  Index heads;
  std::int64_t parameters;  // counted in a layer, if one was made
  Flops flops;
  double distance = 0, entropy = 0;  // of a layer's maps
  std::vector<double> weights = {};  // (H, T, T), of the split that is drawn
};

class Heads : public Experiment {
 public:
  Heads() {
    layer_.n_embd = 768;
    layer_.n_head = 12;
  }
  void add_options(Options& options) override;
  void validate(const Run& run) override { layer_.config(run.dtype); }
  double bytes_needed(const Run& run) const override;
  Report run(const Run& run) override;

 private:
  bool made() const {
    const auto c = static_cast<double>(layer_.n_embd);
    return 4 * c * c <= kMostParameters;
  }
  nn::MultiHeadAttentionOptions config(Index heads, const Run& run) const;
  /// 4 C^2, and 4 C more with biases.
  std::int64_t formula() const {
    const std::int64_t C = layer_.n_embd;
    return 4 * C * C + (bias_ ? 4 * C : 0);
  }
  /// q, k and v of one layer, (1, T, C) whatever the shape: every split cuts the same numbers.
  struct Projected {
    autograd::Tensor q, k, v;
  };
  Projected projected(const Run& run) const;
  Split split(Index heads, const Projected& all, const Run& run) const;
  std::vector<Check> checks() const;
  std::string figure(const Run& run) const;
  std::vector<std::string> notes(const Run& run) const;

  LayerOptions layer_;
  Index seq_len_ = 1024, map_len_ = 8;
  bool bias_ = false;

  std::vector<Split> splits_;
};

void Heads::add_options(Options& options) {
  layer_.add_to(options);
  options.integer("--seq-len", seq_len_, 1, 1'000'000, "sequence length T for the FLOPs");
  options.integer("--map-len", map_len_, 2, 32, "sequence length of the attention maps");
  options.toggle("--bias", bias_, "add biases as in GPT-2: 4 C more parameters");
}

double Heads::bytes_needed(const Run& run) const {
  LayerOptions most = layer_;
  most.n_head = layer_.n_embd;  // as many maps as there can be
  return made() ? most.bytes(run.dtype, map_len_) : 0;
}

nn::MultiHeadAttentionOptions Heads::config(Index heads, const Run& run) const {
  nn::MultiHeadAttentionOptions config = layer_.config(run.dtype);
  config.n_head = heads;
  config.bias = bias_ ? nn::Bias::yes : nn::Bias::no;
  return config;
}

Heads::Projected Heads::projected(const Run& run) const {
  nn::Generator generator(run.seed);
  nn::MultiHeadAttention layer(config(layer_.n_head, run), generator);
  layer.eval();
  const autograd::NoGrad no_grad;
  const nn::AttentionTrace trace;
  layer(normals({1, map_len_, layer_.n_embd}, run, key_of(run.seed, Draw::input)));
  const nn::TracedAttention& seen = trace[0];
  return {seen.q.transpose(1, 2), seen.k.transpose(1, 2), seen.v.transpose(1, 2)};
}

Split Heads::split(Index heads, const Projected& all, const Run& run) const {
  Split split{
      .heads = heads, .parameters = formula(), .flops = flops_of(seq_len_, layer_.n_embd, heads)};
  if (!made()) return split;
  nn::MultiHeadAttentionOptions cheap = config(heads, run);
  cheap.init = nn::Init::torch;  // the quickest to draw, as this layer is only counted
  nn::Generator generator(run.seed);
  split.parameters = nn::MultiHeadAttention(cheap, generator).parameter_count();
  const auto cut = [&](const autograd::Tensor& t) {  // (1, H, T, D)
    return t.reshape({1, map_len_, heads, layer_.n_embd / heads}).transpose(1, 2);
  };
  const nn::AttentionTrace trace;
  nn::attention(cut(all.q), cut(all.k), cut(all.v), {.scale = cheap.scale});
  std::vector<double> weights = measure::doubles(trace[0].weights);
  measure::require_finite(weights, "heads: the attention weights");
  split.distance = map_distance(weights, heads, map_len_);
  split.entropy = normalised_entropy(weights, map_len_) / static_cast<double>(heads);
  if (heads == layer_.n_head) split.weights = std::move(weights);
  return split;
}

std::vector<Check> Heads::checks() const {
  const auto same = [](const char* name, std::int64_t low, std::int64_t high,
                       std::int64_t formula) {
    const std::int64_t worst = std::abs(low - formula) > std::abs(high - formula) ? low : high;
    return Check{
        name, CheckKind::identity, static_cast<double>(worst), static_cast<double>(formula),
        0,    worst == formula};
  };
  const std::int64_t C = layer_.n_embd, T = seq_len_;
  const auto [few, many] = std::ranges::minmax(splits_, {}, &Split::parameters);
  const auto [less, more] =
      std::ranges::minmax(splits_, {}, [](const Split& s) { return s.flops.products; });
  std::vector<Check> checks;
  if (made())
    checks.push_back(same(
        bias_ ? "parameters of every split = 4 C^2 + 4 C" : "parameters of every split = 4 C^2",
        few.parameters, many.parameters, formula()));
  checks.push_back(same("FLOPs of Q K^T and P V of every split = 4 T^2 C", less.flops.products,
                        more.flops.products, 4 * T * T * C));
  return checks;
}

std::string Heads::figure(const Run& run) const {
  const auto chosen = std::ranges::find(splits_, layer_.n_head, &Split::heads);
  if (chosen->weights.empty()) return "";
  report::Heatmaps maps{.rows = map_len_, .columns = map_len_};
  const Index shown = std::min(layer_.n_head, kMaxMaps), cells = map_len_ * map_len_;
  for (Index h = 0; h < shown; ++h) {
    const auto begin = chosen->weights.begin() + h * cells;
    maps.maps.push_back({fmt::format("head {}", h), {begin, begin + cells}, ""});
    maps.high = std::max(h > 0 ? maps.high : 0, measure::largest(maps.maps.back().values));
  }
  maps.row_labels = numbered_tokens(map_len_);
  const std::string which = shown < layer_.n_head
                                ? fmt::format("the first {} of {} heads", shown, layer_.n_head)
                                : fmt::format("{} heads", shown);
  const report::Canvas canvas = run.canvas();
  return fmt::format("One map for each head: {} on the same {} positions\n{}\n{}", which, map_len_,
                     draw(maps, canvas), report::legend(maps, canvas));
}

std::vector<std::string> Heads::notes(const Run& run) const {
  const Split& most = splits_.back();
  const Split& chosen = *std::ranges::find(splits_, layer_.n_head, &Split::heads);
  const auto share = [](const Split& split) {
    const Flops& f = split.flops;
    return report::percent(static_cast<double>(f.softmax) /
                           static_cast<double>(f.projections + f.products));
  };
  std::vector<std::string> lines{
      fmt::format(
          "FLOPs of one layer on T = {} positions, counting a multiply-add as two: projections "
          "8 T C^2, Q K^T and P V 4 T^2 C, softmax 6 H T^2 (scale, maximum, difference, exp, "
          "sum and quotient of each score).",
          seq_len_),
      fmt::format(
          "H heads have the parameters and the matrix products of one: only the softmax, and "
          "the H T^2 scores it reads, grow with H: {} of the products at H = {}, {} at "
          "H = {}.",
          share(chosen), chosen.heads, share(most), most.heads)};
  if (!made()) {
    lines.push_back(
        "The layer is too large to build here: its parameters come from the formula, and it has no "
        "maps.");
    return lines;
  }
  lines.push_back(
      fmt::format("Every split cuts the same weights ({}) differently. apart: total variation "
                  "between the maps of two heads, averaged over rows and pairs of heads; 0 is "
                  "equal, 1 is no key in common. entropy: mean entropy of a row over ln T; 1 is "
                  "uniform attention. Both are measured on {} positions x ~ N(0,1).",
                  layer_.init, map_len_));
  if (chosen.heads > 1)
    lines.push_back(
        fmt::format("So the same budget buys {} different maps: two heads put {} of "
                    "their attention on different keys.",
                    chosen.heads, report::percent(chosen.distance)));
  if (run.quick)
    lines.push_back("--quick: only one head, --n-head heads, and one head per channel.");
  return lines;
}

Report Heads::run(const Run& run) {
  std::vector<Index> counts = divisors(layer_.n_embd);
  if (run.quick)
    std::erase_if(counts,
                  [this](Index h) { return h != 1 && h != layer_.n_head && h != layer_.n_embd; });
  splits_.clear();
  const Projected all = made() ? projected(run) : Projected{};
  Report report;
  report.columns = {{"heads", "H"},
                    {"head_size", "D"},
                    {"parameters", "parameters"},
                    {"counted", ""},
                    {"flops_projections", "projections"},
                    {"flops_products", "QK^T, PV"},
                    {"flops_softmax", "softmax"},
                    {"flops", "FLOPs"}};
  if (made())
    report.columns.insert(report.columns.end(),
                          {{"map_distance", "apart"}, {"entropy_norm", "entropy"}});
  for (const Index heads : counts) {
    run.progress(static_cast<double>(splits_.size()) / static_cast<double>(counts.size()));
    splits_.push_back(split(heads, all, run));
    const Split& s = splits_.back();
    report.rows.push_back({std::int64_t{heads}, std::int64_t{layer_.n_embd / heads}, s.parameters,
                           made(), s.flops.projections, s.flops.products, s.flops.softmax,
                           s.flops.total()});
    if (made()) report.rows.back().insert(report.rows.back().end(), {s.distance, s.entropy});
  }
  report.checks = checks();
  report.figure = figure(run);
  report.notes = notes(run);
  return report;
}

}  // namespace

std::unique_ptr<Experiment> make_heads() { return std::make_unique<Heads>(); }

}  // namespace experiments::attention
