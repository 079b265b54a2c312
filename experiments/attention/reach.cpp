#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/attention/draws.h"
#include "experiments/attention/reach_moves.h"
#include "experiments/measure/values.h"
#include "experiments/registry.h"
#include "experiments/report/bar.h"
#include "experiments/report/numbers.h"
#include "experiments/report/text.h"

namespace experiments::attention {
namespace {

constexpr std::size_t kBarWidth = 60;

class Reach : public Experiment {
 public:
  void add_options(Options& options) override;
  void validate(const Run& run) override;
  double bytes_needed(const Run& run) const override { return layer_.bytes(run.dtype, seq_len_); }
  Report run(const Run& run) override;

 private:
  void fill_rows(const Moves& moves, Report& report) const;
  std::vector<Check> checks(const Moves& moves, const Run& run) const;
  std::string figure(const Moves& moves, const Run& run) const;
  std::vector<std::string> notes(const Moves& moves, const Run& run) const;

  LayerOptions layer_;
  Index seq_len_ = 8, position_ = 0;
  double delta_ = 1;
};

void Reach::add_options(Options& options) {
  options.integer("--position", position_, 0, 4095, "input position that moves, from 0");
  options.number("--delta", delta_, 1e-6, 1e6,
                 "number added to each of its channels, which are N(0,1)");
  options.integer("--seq-len", seq_len_, 1, 4096, "sequence length T");
  layer_.add_to(options);
}

void Reach::validate(const Run& run) {
  layer_.config(run.dtype);
  if (position_ >= seq_len_)
    throw UsageError(
        fmt::format("--position: expected less than --seq-len {}, got {}", seq_len_, position_));
  if (run.dtype == autograd::DType::f32 && delta_ < 1e-3)  // f32 rounds it away
    throw UsageError(
        fmt::format("--delta: expected at least 0.001 with --dtype f32, got {}", delta_));
}

void Reach::fill_rows(const Moves& moves, Report& report) const {
  report.columns = {{"position", "position"}, {"weight", "weight"},
                    {"moved", "|dy|"},        {"relative", "|dy| / |y|"},
                    {"slope", "slope"},       {"slope_gradient", "by gradient"}};
  for (Index t = 0; t < seq_len_; ++t)
    report.rows.push_back({std::int64_t{t}, moves.weight[t], moves.moved[t],
                           moves.moved[t] / moves.size[t], moves.slope[t], moves.gradient[t]});
}

std::vector<Check> Reach::checks(const Moves& moves, const Run& run) const {
  // What rounding alone could move: a few units in the last place of |y_t|. An output moves in
  // proportion to the weight of the position, which is 0 where softmax is saturated.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double least = kInfinity, slopes = 0, probes = 0, size = 0;
  const double rounding = 8 * measure::epsilon(run.dtype);
  const double seen = 1000 * rounding / std::min(delta_, 1.0);
  for (Index t = 0; t < seq_len_; ++t) {
    if (moves.weight[t] > seen) least = std::min(least, moves.moved[t] / moves.size[t]);
    slopes = std::max(slopes, std::abs(moves.slope[t] - moves.gradient[t]));
    size += moves.slope[t] * moves.slope[t];
  }
  // w . e of an error e has the standard deviation |e|.
  for (std::size_t i = 0; i < moves.probed.size(); ++i)
    probes = std::max(probes, std::abs(moves.probed[i] - moves.probed_gradient[i]));
  const double norm = size > 0 ? std::sqrt(size) : 1;
  const double allowed = moves.slope_error / norm;
  std::vector<Check> checks;
  if (least < kInfinity) {
    checks.push_back({"the output that moves least moves, |dy| / |y|", CheckKind::bound, least, 0,
                      rounding, least > rounding});
  }
  checks.push_back({"slopes: difference = gradient, relative", CheckKind::identity, slopes / norm,
                    0, allowed, slopes / norm <= allowed});
  checks.push_back({"w . dy of random w: the same", CheckKind::identity, probes / norm, 0,
                    4 * allowed, probes / norm <= 4 * allowed});
  return checks;
}

std::string Reach::figure(const Moves& moves, const Run& run) const {
  const double most = measure::largest(moves.moved);
  std::string out = fmt::format("How far each output moves when input {} does, |dy|\n", position_);
  constexpr Index kMost = 64;
  for (Index t = 0; t < std::min(seq_len_, kMost); ++t)
    out += fmt::format("{}y{:<4} {} {}\n", t == position_ ? '>' : ' ', t,
                       report::bar(most > 0 ? moves.moved[t] / most : 0, kBarWidth, run.glyphs()),
                       report::significant(moves.moved[t], 3));
  if (seq_len_ > kMost) out += fmt::format("and {} others\n", seq_len_ - kMost);
  return out;
}

std::vector<std::string> Reach::notes(const Moves& moves, const Run& run) const {
  const std::size_t count = moves.moved.size();
  std::size_t moved = 0;
  for (std::size_t t = 0; t < count; ++t)
    moved += moves.moved[t] > 8 * measure::epsilon(run.dtype) * moves.size[t];
  std::vector<std::string> lines{
      fmt::format("x ~ N(0,1), C = {} channels, H = {} heads, weights {}; {} is added to every "
                  "channel of position {}. weight: the attention that an output pays to that "
                  "position, mean over heads. slope: |dy / d delta| at delta = 0, by a central "
                  "difference with step {} and by one backward pass per output.",
                  layer_.n_embd, layer_.n_head, layer_.init, report::significant(delta_, 3),
                  position_, small_step(run.dtype))};
  if (moved == count) {
    lines.push_back(fmt::format(
        "All {} outputs moved: without a mask every position sees every other.{}", count,
        position_ > 0 ? " A causal mask would leave the outputs before that position unchanged."
                      : ""));
    if (position_ == 0)
      lines.push_back("Next: gradlab reach --position 5 moves the outputs before it as well.");
  } else {
    lines.push_back(fmt::format(
        "{} of {} outputs moved: the softmax of the others is saturated, and their weight for "
        "position {} is 0 to within rounding. --init unit or a smaller --scale brings them back.",
        moved, count, position_));
  }
  return lines;
}

Report Reach::run(const Run& run) {
  nn::Generator generator(run.seed);
  nn::MultiHeadAttention layer(layer_.config(run.dtype), generator);
  layer.eval();
  const autograd::Tensor x = normals({seq_len_, layer_.n_embd}, run, key_of(run.seed, Draw::input));
  const Moves moves = moves_of(layer, x, {position_, delta_}, run.quick ? 2 : 8, run);
  Report report;
  fill_rows(moves, report);
  report.checks = checks(moves, run);
  report.figure = figure(moves, run);
  report.notes = notes(moves, run);
  return report;
}

}  // namespace

std::unique_ptr<Experiment> make_reach() { return std::make_unique<Reach>(); }

}  // namespace experiments::attention
