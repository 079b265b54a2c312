#include "experiments/attention/attention_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "experiments/attention/tokens.h"
#include "experiments/measure/values.h"
#include "experiments/report/bar.h"
#include "experiments/report/numbers.h"
#include "experiments/report/table.h"
#include "experiments/report/text.h"

namespace experiments::attention {
namespace {

constexpr Index kMaxKeys = 20;        // of a row
constexpr std::size_t kProducts = 3;  // of a score that are shown one by one
constexpr std::size_t kBar = 16;

/// The maps of the first heads, empty.
report::Heatmaps maps_of(const View& view, report::Hues hues, const std::vector<double>& all) {
  const Index T = view.pass.tokens;
  report::Heatmaps maps{.rows = T, .columns = T};
  maps.row_labels = maps.column_labels = view.tokens;
  maps.hues = hues;
  maps.high = measure::largest(all);
  maps.marked = view.row;
  for (Index h = 0; h < std::min(view.pass.heads, kMaxMaps); ++h) {
    const std::span<const double> one = view.pass.head(all, h);
    maps.maps.push_back({fmt::format("head {}", h), {one.begin(), one.end()}, ""});
  }
  return maps;
}

std::string with_legend(const char* title, const report::Heatmaps& maps, const Run& run) {
  const report::Canvas canvas = run.canvas();
  return fmt::format("{}\n{}\n{}", title, draw(maps, canvas), report::legend(maps, canvas));
}

/// Positions of `values`, the largest first.
std::vector<std::size_t> by_size(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](auto a, auto b) { return values[a] > values[b]; });
  return order;
}

std::span<const double> line_of(std::span<const double> matrix, Index row, Index width) {
  return matrix.subspan(static_cast<std::size_t>(row * width), static_cast<std::size_t>(width));
}

/// "+0.61 c5 +0.33 c11 -0.20 c2 +0.50 from 13 others": products that sum to the score.
std::string products(const View& view, std::size_t key) {
  const AttentionPass& pass = view.pass;
  const auto q = line_of(pass.head(pass.q, view.head), view.row, pass.head_size);
  const auto k = line_of(pass.head(pass.k, view.head), static_cast<Index>(key), pass.head_size);
  std::vector<double> product, size;
  for (std::size_t c = 0; c < q.size(); ++c) {
    product.push_back(pass.factor * q[c] * k[c]);
    size.push_back(std::abs(product.back()));
  }
  std::string out;
  const std::vector<std::size_t> order = by_size(size);
  for (std::size_t i = 0; i < std::min(kProducts, order.size()); ++i) {
    const double term = product[order[i]];
    out += report::fitted(
        fmt::format("{}{} c{}", term < 0 ? "" : "+", report::significant(term, 2), order[i]), 12);
  }
  if (order.size() <= kProducts) return out;
  double rest = 0;
  for (std::size_t i = kProducts; i < order.size(); ++i) rest += product[order[i]];
  return out + fmt::format("{}{} from {} others", rest < 0 ? "" : "+", report::significant(rest, 2),
                           order.size() - kProducts);
}

/// "head 1: 5 mat 0.31, 1 cat 0.22, 0 the 0.18".
std::string favourites(const View& view, Index h) {
  const auto weights = line_of(view.pass.head(view.pass.weights, h), view.row, view.pass.tokens);
  std::vector<std::string> parts;
  for (const std::size_t key : by_size(weights)) {
    if (parts.size() == 4) break;
    parts.push_back(fmt::format("{} {:.2f}", view.title(static_cast<Index>(key)), weights[key]));
  }
  return fmt::format("head {}: {}\n", h, report::join(parts, ", "));
}

}  // namespace

std::string View::title(Index query) const { return attention::title(query, tokens, run); }

std::string map_figure(const View& view) {
  const AttentionPass& pass = view.pass;
  report::Heatmaps maps = maps_of(view, report::Hues::sequential, pass.weights);
  for (Index h = 0; h < static_cast<Index>(maps.maps.size()); ++h) {
    const double entropy = normalised_entropy(pass.head(pass.weights, h), pass.tokens);
    maps.maps[static_cast<std::size_t>(h)].caption =
        fmt::format("entropy {}", report::significant(entropy, 2));
  }
  std::string out = with_legend(
      "Attention weights: each row is a query, its columns the keys it looks at", maps, view.run);
  if (pass.d_scores.empty()) return out;
  out += '\n' + with_legend("Gradient of the weights, dP = dY V^T",
                            maps_of(view, report::Hues::diverging, pass.d_weights), view.run);
  out += '\n' + with_legend("Gradient of the scores, dS = P (dP - P.dP): each row sums to 0",
                            maps_of(view, report::Hues::diverging, pass.d_scores), view.run);
  return out;
}

std::string row_figure(const View& view) {
  const AttentionPass& pass = view.pass;
  const auto weights = line_of(pass.head(pass.weights, view.head), view.row, pass.tokens);
  const auto scores = line_of(pass.head(pass.scores, view.head), view.row, pass.tokens);
  Report table;
  table.columns = {{"key", "key"},
                   {"", "weight"},
                   {"", "    "},
                   {"", "score"},
                   {"", "the products a q_c k_c that add up to it"}};
  const std::vector<std::size_t> order = by_size(weights);
  double rest = 1;
  for (std::size_t i = 0; i < std::min<std::size_t>(order.size(), kMaxKeys); ++i) {
    const std::size_t j = order[i];
    rest -= weights[j];
    table.rows.push_back({view.title(static_cast<Index>(j)), weights[j],
                          report::bar(weights[j] / weights[order[0]], kBar, view.run.glyphs()),
                          scores[j], products(view, j)});
  }
  std::string out = fmt::format("Where {} looks in head {}\n{}", view.title(view.row), view.head,
                                report::to_table(table, {.color = view.run.color}));
  if (static_cast<Index>(order.size()) > kMaxKeys)
    out += fmt::format("and {} others with {} in total\n",
                       static_cast<Index>(order.size()) - kMaxKeys, report::significant(rest, 3));
  for (Index h = 0; h < std::min(pass.heads, kMaxMaps); ++h)
    if (h != view.head) out += (h == (view.head == 0 ? 1 : 0) ? "\n" : "") + favourites(view, h);
  return out;
}

}  // namespace experiments::attention
