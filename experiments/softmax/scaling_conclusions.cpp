#include "experiments/softmax/scaling_conclusions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace experiments::softmax {
namespace {

enum class Trend { falls, holds, grows };

// Within 10 % is no change.
Trend trend(double from, double to) {
  if (to < 0.9 * from) return Trend::falls;
  return to > 1.1 * from ? Trend::grows : Trend::holds;
}

// A number in a sentence; `floor` marks one that lies somewhere below the value.
struct Number {
  Number(double v, bool at_floor = false) : value(v), floor(at_floor) {}
  std::string text() const { return floor ? "under " + num(value) : num(value); }
  double value;
  bool floor;
};

// "4.9" or "at least 4.9"
std::string ratio(const Number& large, const Number& small) {
  return (small.floor ? "at least " : "") + num(large.value / small.value);
}

// "falls 12-fold (0.12 to 0.01)", "stays (0.28 to 0.29)": along d_k.
std::string change(const Number& from, const Number& to) {
  const std::string numbers = fmt::format("({} to {})", from.text(), to.text());
  switch (trend(from.value, to.value)) {
    case Trend::holds: return "stays " + numbers;
    case Trend::falls:
      return to.value > 0 ? fmt::format("falls {}-fold {}", ratio(from, to), numbers)
                          : "vanishes " + numbers;
    case Trend::grows: break;
  }
  return from.value > 0 ? fmt::format("grows {}-fold {}", ratio(to, from), numbers)
                        : "grows " + numbers;
}

// "4.9 times larger", "720 times smaller", "about the same": a against b.
std::string times(const Number& a, const Number& b) {
  if (a.floor && b.floor) return "both lost in rounding";
  const Trend t = trend(b.value, a.value);
  if (t == Trend::holds) return "about the same";
  if (a.value <= 0 || b.value <= 0) return t == Trend::falls ? "nothing" : "something";
  return t == Trend::grows ? ratio(a, b) + " times larger" : ratio(b, a) + " times smaller";
}

// "0.075 against 0.304 (4.06 times smaller)"
std::string against(const Number& a, const Number& b) {
  return fmt::format("{} against {} ({})", a.text(), b.text(), times(a, b));
}

double tail_index(const measure::Summary& s) { return s.mean == 0 ? 0 : s.rms / s.mean; }

const Series* find(std::span<const Series> all, const char* scale) {
  for (const Series& series : all) {
    if (series[0].scale == scale) return &series;
  }
  return nullptr;
}

/// The scale that the sentences are about and, where there are two, the one it is compared with.
struct Pair {
  const Series* subject;
  const Series* other;
};

Pair choose(std::span<const Series> all) {
  const Series* subject = find(all, "none");
  if (!subject) subject = &all[0];
  const Series* other = find(all, "sqrt_dk");
  if (other == subject) other = nullptr;
  for (const Series& series : all) {
    if (!other && &series != subject) other = &series;
  }
  return {subject, other};
}

// The median gain, or the level of rounding where it lies below.
Number median_gain(const Cell& cell) {
  const double floor = rounding_floor(cell.setting.dtype);
  return {std::max(cell.gain.median, floor), !(cell.gain.median > floor)};
}

std::string judgement(const Cell& a, const Cell& b) {
  const double share = median_gain(a).value / median_gain(b).value;
  const auto under = [&](const char* text) { return fmt::format("{} under {}", text, a.scale); };
  if (a.dead_rows > 0.5 && b.dead_rows > 0.5) {
    return under("Most rows stop learning") + ", and under " + b.scale + " too";
  }
  if (a.dead_rows > 0.5) return under("Most rows stop learning");
  if (share < 0.1) return under("The typical row all but stops learning");
  if (share < 0.9) return under("The typical row learns less");
  if (share <= 1.1) return under("The typical row learns alike");
  if (std::abs(a.factor) < std::abs(b.factor)) return under("The typical row learns more");
  return fmt::format(
      "With T = {} the usual story turns around, and the typical row learns more under {}",
      a.setting.seq_len, a.scale);
}

// Along d_k, of one scale.
std::string gain_along(const Series& series) {
  return change(median_gain(series.front()), median_gain(series.back()));
}

std::string compared(const Cell& a, const Cell& b) {
  return fmt::format(
      "{}: at d_k = {} its median gain is {}, against {} under {} ({}), and {:.2g} % of its rows "
      "are dead, against {:.2g} %.",
      judgement(a, b), a.setting.d_k, median_gain(a).text(), median_gain(b).text(), b.scale,
      times(median_gain(a), median_gain(b)), 100 * a.dead_rows, 100 * b.dead_rows);
}

std::vector<std::string> median_sentences(const Pair& pair) {
  const Series& a = *pair.subject;
  const Cell& last = a.back();
  std::vector<std::string> sentences;
  if (pair.other) sentences.push_back(compared(last, pair.other->back()));
  if (a.size() > 1) {
    std::string along = fmt::format("From d_k = {} to {} the median gain under {} {}",
                                    a[0].setting.d_k, last.setting.d_k, last.scale, gain_along(a));
    if (pair.other)
      along += fmt::format("; under {} it {}", pair.other->back().scale, gain_along(*pair.other));
    sentences.push_back(along + ".");
  }
  if (sentences.empty())
    sentences.push_back(
        fmt::format("The median gain under {} is {}.", last.scale, median_gain(last).text()));
  return sentences;
}

// What the means add up to, given how the typical row and the sum of all rows moved.
std::string upshot(Trend median, Trend mean_dq, Trend tail, Trend step) {
  if (median == Trend::falls && mean_dq != Trend::falls) {
    if (tail != Trend::grows) return "fewer rows learn, yet no less is learnt in the mean";
    return step == Trend::grows ? "a few rows carry everything, and the gradient is rare, spiky "
                                  "and far too hot rather than "
                                  "simply starved"
                                : "a few rows carry everything, and the gradient is rare and spiky "
                                  "rather than simply starved";
  }
  if (median == Trend::falls) return "starved, in the mean as in the median";
  if (mean_dq == Trend::grows) {
    return step == Trend::grows ? "not starved but too hot" : "not starved at all";
  }
  return mean_dq == Trend::falls ? "weaker all over" : "nothing vanishes";
}

/// Two cells to compare: the first and the last size where there are several, else the two scales.
struct Ends {
  const Cell &from, &to;
  bool along;  // d_k
  std::string change_of(double x, double y) const {
    return along ? change(x, y) : "is " + against(y, x);
  }
  std::string where() const {
    return along ? fmt::format("from d_k = {} to {}", from.setting.d_k, to.setting.d_k)
                 : "against " + from.scale;
  }
};

std::optional<Ends> ends_of(const Pair& pair) {
  const bool along = pair.subject->size() > 1;
  if (!along && !pair.other) return std::nullopt;
  return Ends{along ? pair.subject->front() : pair.other->back(), pair.subject->back(), along};
}

std::string mean_sentence(const Ends& ends) {
  const auto& [from, to, along] = ends;
  const double tail_from = tail_index(from.dq), tail_to = tail_index(to.dq);
  return fmt::format(
      "The mean over all rows: under {}, {}, the gradient of q, |dQ|, {}, and its root mean square "
      "{}: {}.",
      to.scale, ends.where(), ends.change_of(from.dq.mean, to.dq.mean),
      ends.change_of(from.dq.rms, to.dq.rms),
      upshot(trend(median_gain(from).value, median_gain(to).value), trend(from.dq.mean, to.dq.mean),
             trend(tail_from, tail_to), trend(from.step.mean, to.step.mean)));
}

}  // namespace

std::vector<std::string> conclusions(std::span<const Series> all) {
  const Pair pair = choose(all);
  std::vector<std::string> sentences = median_sentences(pair);
  if (const auto ends = ends_of(pair)) sentences.push_back(mean_sentence(*ends));
  return sentences;
}

std::vector<std::string> finer_points(std::span<const Series> all) {
  const Pair pair = choose(all);
  std::vector<std::string> sentences;
  if (pair.other) {
    const Cell &a = pair.subject->back(), &b = pair.other->back();
    sentences.push_back(
        fmt::format("At d_k = {} the mean |J| under {} is {}, against {} under {} ({}).",
                    a.setting.d_k, a.scale, num(a.jacobian.mean), num(b.jacobian.mean), b.scale,
                    times(a.jacobian.mean, b.jacobian.mean)));
  }
  if (const auto ends = ends_of(pair)) {
    const auto& [from, to, along] = *ends;
    sentences.push_back(fmt::format(
        "Under {}, {}, the tail index RMS/mean of |dQ| {}, the mean |dS| {}, and the change of the "
        "logits by one step on q at rate 1 {}.",
        to.scale, ends->where(), ends->change_of(tail_index(from.dq), tail_index(to.dq)),
        ends->change_of(from.ds.mean, to.ds.mean), ends->change_of(from.step.mean, to.step.mean)));
  }
  return sentences;
}

}  // namespace experiments::softmax
