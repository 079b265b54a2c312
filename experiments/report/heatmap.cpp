#include "experiments/report/heatmap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "experiments/report/numbers.h"
#include "experiments/report/text.h"

namespace experiments::report {
namespace {

constexpr std::size_t kMapGap = 3;       // between maps
constexpr std::size_t kRowLabel = 10;    // columns at most
constexpr std::size_t kColumnLabel = 6;  // lines at most

/// Where everything goes.
struct Layout {
  std::vector<std::string> row_labels;                  // padded, with what marks the row
  std::vector<std::vector<std::string>> column_labels;  // the characters of each, downwards
  std::size_t label_width = 0, label_height = 0;
  std::size_t cell_width = 2;
  std::size_t frame = 0;  // columns at each side of a map: in characters its edge would not show
  std::size_t map_width = 0;  // with title and caption
  std::size_t maps_a_strip = 1;
};

void lay_row_labels(const Heatmaps& maps, const Canvas& canvas, Layout& layout) {
  std::vector<std::string> labels;
  std::size_t width = 0;
  for (const std::string& text : maps.row_labels) {
    labels.push_back(printable(text));
    width = std::max(width, std::min(kRowLabel, display_width(labels.back())));
  }
  for (Index i = 0; i < static_cast<Index>(labels.size()); ++i) {
    const char* mark = maps.marked < 0 ? "" : i == maps.marked ? "> " : "  ";
    layout.row_labels.push_back(mark + fitted(labels[i], width, canvas.unicode ? "…" : "~") + ' ');
  }
  layout.label_width = labels.empty() ? 0 : display_width(layout.row_labels[0]);
}

void lay_column_labels(const Heatmaps& maps, const Canvas& canvas, Layout& layout) {
  for (const std::string& text : maps.column_labels) {
    std::vector<std::string> pieces = clusters(printable(text));
    if (pieces.size() > kColumnLabel) {
      pieces.resize(kColumnLabel);
      pieces.back() = canvas.unicode ? "…" : "~";
    }
    for (std::string& piece : pieces)
      if (display_width(piece) > layout.cell_width) piece = "?";
    layout.label_height = std::max(layout.label_height, pieces.size());
    layout.column_labels.push_back(std::move(pieces));
  }
}

Layout layout_of(const Heatmaps& maps, const Canvas& canvas) {
  Layout layout;
  lay_row_labels(maps, canvas, layout);
  layout.frame = canvas.color ? 0 : 1;
  const auto columns = static_cast<std::size_t>(maps.columns);
  if (layout.label_width + 2 * (columns + layout.frame) > canvas.width) layout.cell_width = 1;
  lay_column_labels(maps, canvas, layout);
  layout.map_width = layout.cell_width * columns + 2 * layout.frame;
  for (const Heatmap& map : maps.maps)
    layout.map_width = std::max({layout.map_width, layout.frame + display_width(map.title),
                                 layout.frame + display_width(map.caption)});
  const std::size_t room = canvas.width - std::min(canvas.width, layout.label_width);
  const std::size_t fit = std::max<std::size_t>((room + kMapGap) / (layout.map_width + kMapGap), 1);
  const std::size_t strips = (maps.maps.size() + fit - 1) / fit;
  layout.maps_a_strip = strips > 0 ? (maps.maps.size() + strips - 1) / strips : 1;
  return layout;
}

int level_of(double share) { return std::min(static_cast<int>(std::abs(share) * 10), 9); }

/// A cell in characters.
std::string glyphs(Hues hues, double share, std::size_t width) {
  const int level = level_of(share);
  if (hues == Hues::sequential) return std::string(width, kRamp[level]);
  if (width == 1)
    return {level == 0 ? '.' : static_cast<char>((share < 0 ? 'a' : '1') + level - 1)};
  if (level == 0) return "  ";
  return {share < 0 ? '-' : '+', kRamp[level]};
}

std::string cells(const Heatmaps& maps, const double* row, std::size_t width, bool color) {
  std::string out, last;
  for (Index j = 0; j < maps.columns; ++j) {
    const double share = maps.high > 0 ? row[j] / maps.high : 0;
    const bool finite = std::isfinite(share);
    if (!color) {
      out += finite ? glyphs(maps.hues, share, width) : std::string(width, '?');
      continue;
    }
    const std::string paint = finite ? background(color_of(maps.hues, share)) : kPlain;
    if (paint != last) out += paint;
    out += std::string(width, finite ? ' ' : '?');
    last = paint;
  }
  return color ? out + kPlain : '|' + out + '|';
}

/// One line of column labels: the piece of each label that belongs on it.
std::string heading(const Layout& layout, std::size_t line) {
  std::string out(layout.frame, ' ');
  for (const std::vector<std::string>& pieces : layout.column_labels) {
    const std::size_t above = layout.label_height - pieces.size();
    out += fitted(line < above ? "" : pieces[line - above], layout.cell_width, "");
  }
  return out;
}

/// The lines of one map and how wide each is on a terminal.
struct Line {
  std::string text;
  std::size_t width;
};

std::vector<Line> lines_of(const Heatmaps& maps, const Heatmap& map, const Layout& layout,
                           const Canvas& canvas) {
  const std::string indent(layout.frame, ' ');
  const std::size_t width = layout.cell_width * static_cast<std::size_t>(maps.columns);
  std::vector<Line> lines{{indent + map.title, layout.frame + display_width(map.title)}};
  for (std::size_t i = 0; i < layout.label_height; ++i)
    lines.push_back({heading(layout, i), layout.frame + width});
  for (Index i = 0; i < maps.rows; ++i)
    lines.push_back(
        {cells(maps, map.values.data() + i * maps.columns, layout.cell_width, canvas.color),
         2 * layout.frame + width});
  lines.push_back({indent + map.caption, layout.frame + display_width(map.caption)});
  return lines;
}

std::string strip(const Heatmaps& maps, std::size_t first, std::size_t last, const Layout& layout,
                  const Canvas& canvas) {
  const std::size_t top = 1 + layout.label_height,
                    bottom = top + static_cast<std::size_t>(maps.rows);
  std::vector<Line> whole;
  for (std::size_t i = 0; i <= bottom; ++i) {
    const bool labelled = i >= top && i < bottom && !layout.row_labels.empty();
    whole.push_back(
        {labelled ? layout.row_labels[i - top] : std::string(layout.label_width, ' '), 0});
  }
  for (std::size_t m = first; m < last; ++m) {
    const std::vector<Line> lines = lines_of(maps, maps.maps[m], layout, canvas);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      whole[i].text += lines[i].text;
      if (m + 1 < last)
        whole[i].text += std::string(layout.map_width + kMapGap - lines[i].width, ' ');
    }
  }
  std::string out;
  for (Line& line : whole) {
    line.text.erase(line.text.find_last_not_of(' ') + 1);
    const bool below = &line == &whole.back() && line.text.empty();
    const bool above = &line == &whole.front() && line.text.empty();
    if (!below && !above) out += line.text + '\n';
  }
  return out;
}

}  // namespace

std::string draw(const Heatmaps& maps, const Canvas& canvas) {
  for (const Heatmap& map : maps.maps)
    if (static_cast<Index>(map.values.size()) != maps.rows * maps.columns)
      throw std::logic_error(fmt::format("heatmap: {} values for {} x {} cells", map.values.size(),
                                         maps.rows, maps.columns));
  const Layout layout = layout_of(maps, canvas);
  std::string out;
  for (std::size_t i = 0; i < maps.maps.size(); i += layout.maps_a_strip) {
    const std::size_t last = std::min(i + layout.maps_a_strip, maps.maps.size());
    out += (i > 0 ? "\n" : "") + strip(maps, i, last, layout, canvas);
  }
  return out;
}

std::string legend(const Heatmaps& maps, const Canvas& canvas) {
  constexpr int kCells = 24;
  const bool diverging = maps.hues == Hues::diverging;
  const std::size_t width = layout_of(maps, canvas).cell_width;
  std::string scale;
  if (canvas.color) {
    for (int i = 0; i < kCells; ++i) {
      const double share = static_cast<double>(i) / (kCells - 1);
      scale += background(color_of(maps.hues, diverging ? 2 * share - 1 : share)) + ' ';
    }
    scale += kPlain;
  } else {
    for (int level = diverging ? -9 : 0; level <= 9; ++level) {
      const bool blanks = diverging && width == 2 && level > -9;
      scale += (blanks ? " " : "") +
               glyphs(maps.hues, (level + (level < 0 ? -.5 : .5)) / 10, diverging ? width : 1);
    }
    scale = '|' + scale + '|';
  }
  const std::string low = diverging ? significant(-maps.high, 3) : "0";
  return fmt::format("{} {} {}\n", low, scale, significant(maps.high, 3));
}

}  // namespace experiments::report
