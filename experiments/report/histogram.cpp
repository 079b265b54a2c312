#include "experiments/report/histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "experiments/report/bar.h"
#include "experiments/report/numbers.h"
#include "experiments/report/text.h"

namespace experiments::report {
namespace {

// bar() cut into its columns, with a stroke at one of them.
std::string crossed(double share, double at, std::size_t width, Glyphs glyphs) {
  std::vector<std::string> columns(width, " ");
  const std::string drawn = bar(share, width, glyphs);
  std::string_view rest = drawn;
  for (std::size_t i = 0; i < width && !rest.empty(); ++i) {
    columns[i] = std::string(rest.substr(0, utf8_length(rest)));
    rest.remove_prefix(columns[i].size());
  }
  const auto stroke = static_cast<std::size_t>(at * static_cast<double>(width));
  columns[std::min(stroke, width - 1)] = glyphs == Glyphs::unicode ? "│" : "|";
  return join(columns, "");
}

}  // namespace

std::vector<std::string> histogram(std::span<const Bar> bars, std::size_t width, Glyphs glyphs) {
  double largest = 0;
  std::size_t label = 0;
  for (const Bar& b : bars) {
    largest = std::max({largest, b.value, b.curve});
    label = std::max(label, display_width(b.label));
  }
  if (largest == 0) largest = 1;
  std::vector<std::string> lines;
  for (const Bar& b : bars) {
    lines.push_back(fmt::format("  {:>{}}  {}  {:>8}{:>10}", b.label, label,
                                crossed(b.value / largest, b.curve / largest, width, glyphs),
                                significant(100 * b.value, 3), significant(100 * b.curve, 3)));
  }
  return lines;
}

}  // namespace experiments::report
