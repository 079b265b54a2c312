#include "experiments/attention/attention_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/measure/values.h"
#include "experiments/report/numbers.h"
#include "experiments/report/table.h"
#include "experiments/report/text.h"

namespace experiments::attention {
namespace {

constexpr Index kKeysShown = 16;   // of the row
constexpr Index kMaxChannels = 8;  // of the values, in numbers
constexpr Index kMaxColumns = 32;  // and in the map

/// Numbers of the head and its row that the steps print.
struct Steps {
  const View& view;
  std::vector<double> raw;               // (T, T): q.k
  std::span<const double> scaled, p, v;  // (T, T), (T, T), (T, D)
  std::vector<double> out;               // (T, D)
  std::vector<Index> keys = {};          // of the row that are shown
};

Steps steps_of(const View& view) {
  const AttentionPass& pass = view.pass;
  const Index T = pass.tokens, D = pass.head_size;
  Steps steps{.view = view,
              .raw = std::vector<double>(static_cast<std::size_t>(T * T)),
              .scaled = pass.head(pass.scores, view.head),
              .p = pass.head(pass.weights, view.head),
              .v = pass.head(pass.v, view.head),
              .out = std::vector<double>(static_cast<std::size_t>(T * D))};
  const auto q = pass.head(pass.q, view.head), k = pass.head(pass.k, view.head);
  const auto kept = pass.head(pass.kept, view.head);
  for (Index i = 0; i < T; ++i)
    for (Index j = 0; j < T; ++j)
      for (Index c = 0; c < D; ++c) {
        steps.raw[i * T + j] += q[i * D + c] * k[j * D + c];
        steps.out[i * D + c] += kept[i * T + j] * steps.v[j * D + c];
      }
  for (Index j = 0; j < T; ++j) steps.keys.push_back(j);
  std::ranges::stable_sort(steps.keys, [&](Index a, Index b) {
    return steps.p[view.row * T + a] > steps.p[view.row * T + b];
  });
  if (T > kKeysShown) steps.keys.resize(kKeysShown);
  std::ranges::sort(steps.keys);
  return steps;
}

/// "-9.1 to 8.7, std 3.9".
std::string range_of(std::span<const double> values) {
  double mean = 0, square = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  for (const double v : values) square += (v - mean) * (v - mean);
  const auto [low, high] = std::ranges::minmax(values);
  return fmt::format(
      "{} to {}, std {}", report::significant(low, 3), report::significant(high, 3),
      report::significant(std::sqrt(square / static_cast<double>(values.size())), 3));
}

enum class Over { keys, channels };

std::string drawn(const Steps& steps, std::vector<double> values, Index columns, report::Hues hues,
                  Over over = Over::keys) {
  const View& view = steps.view;
  report::Heatmaps maps{.rows = view.pass.tokens, .columns = columns};
  maps.row_labels = view.tokens;
  if (over == Over::keys) maps.column_labels = view.tokens;
  maps.hues = hues;
  maps.high = measure::largest(values);
  maps.marked = view.row;
  maps.maps.push_back({"", std::move(values), ""});
  return draw(maps, view.run.canvas()) + '\n' + report::legend(maps, view.run.canvas());
}

/// How the row goes from products to weights.
std::string row_table(const Steps& steps) {
  const Index T = steps.view.pass.tokens, i = steps.view.row;
  const auto scaled = steps.scaled.subspan(i * T, T);
  const Index seen = steps.view.causal ? i + 1 : T;
  const double top = std::ranges::max(scaled.first(seen));
  double sum = 0;
  for (const double s : scaled.first(seen)) sum += std::exp(s - top);
  Report table;
  table.columns = {{"", "key"},  {"", "q.k"},          {"", "scaled"},
                   {"", "mask"}, {"", "exp(s - max)"}, {"", "weight"}};
  for (const Index j : steps.keys)
    table.rows.push_back({steps.view.title(j), steps.raw[i * T + j], scaled[j],
                          std::string(j < seen ? "seen" : "hidden"),
                          j < seen ? std::exp(scaled[j] - top) : 0, steps.p[i * T + j]});
  return fmt::format("{}exp(s - max) sums to {} over the row\n",
                     report::to_table(table, {.color = steps.view.run.color}),
                     report::significant(sum, 3));
}

/// The row's weights times the values, channel by channel.
std::string value_table(const Steps& steps) {
  const Index T = steps.view.pass.tokens, D = steps.view.pass.head_size, i = steps.view.row;
  const Index channels = std::min(D, kMaxChannels);
  Report table;
  table.columns = {{"", "key"}, {"", "weight"}};
  for (Index c = 0; c < channels; ++c) table.columns.push_back({"", fmt::format("v[{}]", c)});
  const auto kept = steps.view.pass.head(steps.view.pass.kept, steps.view.head);
  for (const Index j : steps.keys) {
    std::vector<Value> row{steps.view.title(j), kept[i * T + j]};
    for (Index c = 0; c < channels; ++c) row.emplace_back(steps.v[j * D + c]);
    table.rows.push_back(std::move(row));
  }
  std::vector<Value> sum{std::string("y, the sum"), std::string("")};
  for (Index c = 0; c < channels; ++c) sum.emplace_back(steps.out[i * D + c]);
  table.rows.push_back(std::move(sum));
  return report::to_table(table, {.color = steps.view.run.color});
}

std::string value_map(const Steps& steps) {
  const Index T = steps.view.pass.tokens, D = steps.view.pass.head_size;
  const Index columns = std::min(D, kMaxColumns);
  std::vector<double> values;
  for (Index i = 0; i < T; ++i)
    values.insert(values.end(), steps.out.begin() + i * D, steps.out.begin() + i * D + columns);
  return drawn(steps, std::move(values), columns, report::Hues::diverging, Over::channels);
}

}  // namespace

std::string step_figure(const View& view) {
  const AttentionPass& pass = view.pass;
  const Steps steps = steps_of(view);
  const Index T = pass.tokens, D = pass.head_size;
  const std::string few =
      T > kKeysShown ? fmt::format(", its {} largest weights", kKeysShown) : std::string();
  std::string out =
      fmt::format("Step by step: head {}, row {}\n\n", view.head, view.title(view.row));
  out += fmt::format("1. Q K^T: every query times every key, sums of {} products: {}\n", D,
                     range_of(steps.raw));
  out += drawn(steps, steps.raw, T, report::Hues::diverging);
  out += fmt::format("\n2. Scale: times {} ({}): {}\n", report::significant(pass.factor, 3),
                     view.scale, range_of(steps.scaled));
  out += view.causal
             ? "\n3. Causal mask: position i sees the keys up to i, and none of j > i\n"
             : "\n3. No mask: every position sees every other (a causal mask would hide j > i)\n";
  out += "\n4. Softmax of each row: its weights, which sum to 1\n";
  out += drawn(steps, {steps.p.begin(), steps.p.end()}, T, report::Hues::sequential);
  out += fmt::format("\nRow {}{}\n{}", view.title(view.row), few, row_table(steps));
  out += fmt::format("\n5. Weighted values: y = sum of weight times v, {} of {} channels\n{}",
                     std::min(D, kMaxChannels), D, value_table(steps));
  out += fmt::format("\nY of every row, {} of {} channels\n{}", std::min(D, kMaxColumns), D,
                     value_map(steps));
  return out;
}

}  // namespace experiments::attention
