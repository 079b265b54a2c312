#include "experiments/training/recall_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/report/numbers.h"
#include "experiments/report/text.h"

namespace experiments::training {
namespace {

/// The runs of one d_k and one scale, which differ in their seeds.
struct Group {
  Index d_k;
  nn::Scale scale;
  std::vector<const RecallRun*> runs = {};

  double steps() const { return median_steps(runs); }
  double mean(double HeadStats::*value, const RecallCheck& (*which)(const RecallRun&)) const {
    double sum = 0;
    for (const RecallRun* run : runs) sum += which(*run).head.*value;
    return sum / static_cast<double>(runs.size());
  }
};

const RecallCheck& first(const RecallRun& run) { return run.checks().front(); }
const RecallCheck& last(const RecallRun& run) { return run.checks().back(); }

std::vector<Group> groups_of(std::span<const RecallRun> runs) {
  std::vector<Group> groups;
  for (const RecallRun& run : runs) {
    const RecallOptions& s = run.options();
    auto group = std::ranges::find_if(
        groups, [&s](const Group& g) { return g.d_k == s.d_k && g.scale == s.scale; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{s.d_k, s.scale});
    group->runs.push_back(&run);
  }
  return groups;
}

std::string steps_text(const Group& group, double best) {
  const auto learnt = std::ranges::count_if(group.runs, &RecallRun::learnt);
  const std::string name = group.scale.name(),
                    share = fmt::format("{} of {} runs", learnt, group.runs.size());
  const double steps = group.steps();
  if (std::isinf(steps)) return fmt::format("{} learns in {}", name, share);
  std::string text = fmt::format("{} takes {} steps", name, report::significant(steps, 2));
  if (steps > best)
    text += fmt::format(" ({} times as many)", report::significant(steps / best, 2));
  if (learnt < std::ssize(group.runs)) text += fmt::format(", and learns in {}", share);
  return text;
}

/// "d_k = 64: sqrt_dk takes 50 steps; none takes 235 steps (4.7 times as many)", the fastest first.
std::string line_of(Index d_k, std::vector<Group> groups) {
  std::ranges::stable_sort(groups, {}, &Group::steps);
  std::vector<std::string> parts;
  for (const Group& g : groups) parts.push_back(steps_text(g, groups.front().steps()));
  return fmt::format("d_k = {}: {}.", d_k, report::join(parts, "; "));
}

std::string course(const Group& g) {
  return fmt::format("{} the gain goes from {} to {} and the share of dead rows from {} to {}",
                     g.scale.name(), report::significant(g.mean(&HeadStats::gain, first), 2),
                     report::significant(g.mean(&HeadStats::gain, last), 2),
                     report::percent(g.mean(&HeadStats::dead_rows, first)),
                     report::percent(g.mean(&HeadStats::dead_rows, last)));
}

/// none against sqrt_dk over all d_k; "" without both.
std::string contest(const std::vector<Group>& groups) {
  Index slower = 0, faster = 0, sizes = 0;
  const Group *none = nullptr, *scaled = nullptr;  // of the largest d_k
  for (const Group& a : groups) {
    for (const Group& b : groups) {
      if (a.d_k != b.d_k || a.scale != nn::Scale::none() || b.scale != nn::Scale::sqrt_dk())
        continue;
      ++sizes;
      slower += a.steps() > b.steps();
      faster += a.steps() < b.steps();
      if (!none || a.d_k > none->d_k) none = &a, scaled = &b;
    }
  }
  if (!none) return "";
  return fmt::format(
      "none is slower than sqrt_dk at {} of {} sizes and faster at {}. At d_k = {}, from the first "
      "check to the last, under {}; under {}.",
      slower, sizes, faster, none->d_k, course(*none), course(*scaled));
}

}  // namespace

double median_steps(std::span<const RecallRun* const> runs) {
  std::vector<double> steps;
  for (const RecallRun* run : runs)
    steps.push_back(run->learnt() ? static_cast<double>(run->checks().back().step)
                                  : std::numeric_limits<double>::infinity());
  std::ranges::sort(steps);
  return steps.at(steps.size() / 2);
}

std::vector<std::string> recall_words(std::span<const RecallRun> runs) {
  const RecallOptions& s = runs.front().options();
  std::vector<std::string> lines{fmt::format(
      "{} pairs of {} keys and {} values, then the key to look up; one head, C = {}, W ~ N(0, "
      "1/fan_in), AdamW at {} under every scale, batches of {}. steps: until {} of {} fresh "
      "examples are right, checked every {} steps; nan: not within {}. accuracy: on {} other "
      "examples. H, gain and dead rows: of the queries that are scored, at step 0, halfway and at "
      "the end. With several seeds, the lines below give the median.",
      s.pairs, s.symbols, s.symbols, s.width, report::significant(s.learning_rate, 2), s.batch_size,
      report::percent(kLearnt), kCheckBatch, kCheckEvery, s.max_iters,
      report::grouped(kFinalBatch))};
  const std::vector<Group> groups = groups_of(runs);
  std::vector<Index> sizes;
  for (const Group& g : groups)
    if (std::ranges::count(sizes, g.d_k) == 0) sizes.push_back(g.d_k);
  for (const Index d_k : sizes) {
    std::vector<Group> here;
    std::ranges::copy_if(groups, std::back_inserter(here),
                         [d_k](const Group& g) { return g.d_k == d_k; });
    lines.push_back(line_of(d_k, std::move(here)));
  }
  if (std::string text = contest(groups); !text.empty()) lines.push_back(std::move(text));
  return lines;
}

}  // namespace experiments::training
