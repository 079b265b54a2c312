#include "experiments/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/report/numbers.h"
#include "experiments/report/text.h"

namespace experiments::report {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kGap = 2;

/// A column as text, padded when it is put on a line.
struct Strip {
  std::string heading;
  std::vector<std::string> cells;
  std::size_t width = 0;
  bool left = false;     // words; numbers stand at the right
  bool repeats = false;  // names the row, and so begins every part of a table cut in parts
};

std::string padded(const std::string& text, std::size_t width, bool left) {
  const std::string blanks(width - std::min(width, display_width(text)), ' ');
  return left ? text + blanks : blanks + text;
}

std::string cell(const Value& value, int digits) {
  if (const auto* text = std::get_if<std::string>(&value)) return printable(*text);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "yes" : "NO";
  return significant(std::get<double>(value), digits);
}

Strip strip(const Report& report, std::size_t column) {
  Strip out;
  out.heading = report.columns[column].heading;
  out.width = display_width(out.heading);
  out.left = !report.rows.empty();
  for (const std::vector<Value>& row : report.rows) {
    out.cells.push_back(cell(row[column], report.columns[column].digits));
    out.width = std::max(out.width, display_width(out.cells.back()));
    out.left = out.left && std::holds_alternative<std::string>(row[column]);
  }
  return out;
}

bool is_real(const Report& report, std::size_t column) {
  return std::any_of(report.rows.begin(), report.rows.end(), [column](const auto& row) {
    return std::holds_alternative<double>(row[column]);
  });
}

std::vector<Strip> strips(const Report& report, bool wide) {
  std::vector<Strip> out;
  bool names_row = true;
  for (std::size_t i = 0; i < report.columns.size(); ++i) {
    if (report.columns[i].heading.empty() || (report.columns[i].wide && !wide)) continue;
    out.push_back(strip(report, i));
    names_row = names_row && !is_real(report, i);
    out.back().repeats = names_row;
  }
  return out;
}

/// The columns in parts that fit the width, each beginning with those that name the row.
std::vector<std::vector<const Strip*>> parts(const std::vector<Strip>& columns) {
  std::vector<const Strip*> names;
  std::size_t names_width = 0;
  for (const Strip& column : columns) {
    if (!column.repeats) break;
    names.push_back(&column);
    names_width += column.width + kGap;
  }
  std::vector<std::vector<const Strip*>> out = {names};
  std::size_t width = names_width;
  for (std::size_t i = names.size(); i < columns.size(); ++i) {
    if (width + columns[i].width > kWidth && width > names_width) {
      out.push_back(names);
      width = names_width;
    }
    out.back().push_back(&columns[i]);
    width += columns[i].width + kGap;
  }
  return out;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::string painted(const std::string& text, const char* code, bool color) {
  return color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

std::string part_text(const std::vector<const Strip*>& columns, std::size_t rows, bool color) {
  std::string heading, rule, body;
  for (const Strip* column : columns) {
    const std::string gap(rule.empty() ? 0 : kGap, ' ');
    heading += gap + padded(column->heading, column->width, column->left);
    rule += gap + std::string(column->width, '-');
  }
  for (std::size_t row = 0; row < rows; ++row) {
    std::string line;
    for (const Strip* column : columns) {
      if (column != columns[0]) line += std::string(kGap, ' ');
      line += padded(column->cells[row], column->width, column->left);
    }
    body += trimmed(line);
  }
  heading.erase(heading.find_last_not_of(' ') + 1);
  return painted(heading, "1", color) + '\n' + painted(rule, "2", color) + '\n' + body;
}

/// The words of a check's line.
struct CheckWords {
  std::string status, kind, name, measured, predicted, distance;
  const char* paint;
};

CheckWords words_of(const Check& check) {
  const bool asymptote = check.kind == CheckKind::asymptote;
  const double away = std::abs(check.measured - check.predicted);
  return {.status = asymptote  ? "--"
                    : check.ok ? "ok"
                               : "FAIL",
          .kind = name(check.kind),
          .name = printable(check.name),
          .measured = significant(check.measured, 4),
          .predicted = (asymptote ? "-> " : "vs ") + significant(check.predicted, 4),
          .distance = asymptote ? fmt::format("(distance {})", significant(away, 2))
                                : fmt::format("(tolerance {})", significant(check.tolerance, 2)),
          .paint = asymptote  ? "2"
                   : check.ok ? "32"
                              : "1;31"};
}

std::size_t widest(const std::vector<CheckWords>& checks, std::string CheckWords::*word) {
  std::size_t width = 0;
  for (const CheckWords& check : checks) width = std::max(width, display_width(check.*word));
  return width;
}

std::string checks_text(const std::vector<Check>& checks, bool color) {
  std::vector<CheckWords> lines;
  lines.reserve(checks.size());
  for (const Check& check : checks) lines.push_back(words_of(check));
  const std::size_t status = widest(lines, &CheckWords::status);
  const std::size_t kind = widest(lines, &CheckWords::kind);
  const std::size_t measured = widest(lines, &CheckWords::measured);
  const std::size_t predicted = widest(lines, &CheckWords::predicted);
  const std::size_t others =
      status + kind + measured + predicted + widest(lines, &CheckWords::distance) + 4 * kGap;
  const std::size_t room = kWidth - std::min(kWidth - 20, others);
  const std::size_t name = std::min(widest(lines, &CheckWords::name), room);
  std::string out;
  for (const CheckWords& line : lines) {
    const std::vector<std::string> names = wrapped(line.name, name);
    out += fmt::format("{}  {}  {}  {} {} {}\n",
                       painted(padded(line.status, status, true), line.paint, color),
                       padded(line.kind, kind, true), padded(names[0], name, true),
                       padded(line.measured, measured, false),
                       padded(line.predicted, predicted, true), line.distance);
    for (std::size_t i = 1; i < names.size(); ++i)
      out += std::string(status + kind + 2 * kGap, ' ') + names[i] + '\n';
  }
  return out;
}

/// A note broken into lines, each indented as far as the note.
std::string note_text(std::string_view note) {
  const std::size_t indent = std::min({note.find_first_not_of(' '), note.size(), kWidth / 2});
  note.remove_prefix(indent);
  std::string out;
  for (const std::string& line : wrapped(note, kWidth - indent))
    out += trimmed(std::string(indent, ' ') + line);
  return out;
}

std::string notes_text(const std::vector<std::string>& notes) {
  std::string out;
  for (const std::string& note : notes) out += note_text(printable(note));
  return out;
}

/// All checks, or the failed ones.
std::vector<Check> shown_checks(std::vector<Check> checks, bool wide) {
  if (!wide) std::erase_if(checks, [](const Check& check) { return !has_failed(check); });
  return checks;
}

/// "All 11 checks against theory hold; --wide lists them."
std::string summary_of(const std::vector<Check>& checks) {
  const auto all = std::count_if(checks.begin(), checks.end(), can_fail);
  const auto failed = std::count_if(checks.begin(), checks.end(), has_failed);
  if (all == 0) return "--wide lists the limits that theory predicts.";
  if (failed > 0) return fmt::format("{} of {} checks failed; --wide lists all.", failed, all);
  return all == 1 ? "The check against theory holds; --wide shows it."
                  : fmt::format("All {} checks against theory hold; --wide lists them.", all);
}

}  // namespace

std::string to_table(const Report& report, const TableStyle& style) {
  require_whole_rows(report);
  std::vector<std::string> blocks{notes_text(report.opening)};
  const std::vector<Strip> columns = strips(report, style.wide);
  if (!columns.empty())
    for (const auto& part : parts(columns))
      blocks.push_back(part_text(part, report.rows.size(), style.color));
  blocks.push_back(report.figure);
  blocks.push_back(checks_text(shown_checks(report.checks, style.wide), style.color));
  if (style.wide) blocks.push_back(notes_text(report.details));
  else if (!report.checks.empty()) blocks.push_back(summary_of(report.checks) + '\n');
  blocks.push_back(notes_text(report.notes));
  std::erase(blocks, "");
  return join(blocks, "\n");
}

}  // namespace experiments::report
