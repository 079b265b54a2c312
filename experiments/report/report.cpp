#include "experiments/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "experiments/report/text.h"

namespace experiments::report {

const char* name(CheckKind kind) {
  switch (kind) {
    case CheckKind::identity: return "identity";
    case CheckKind::bound: return "bound";
    case CheckKind::reference: return "reference";
    case CheckKind::asymptote: break;
  }
  return "asymptote";
}

void require_whole_rows(const Report& report) {
  for (const std::vector<Value>& row : report.rows)
    if (row.size() != report.columns.size())
      throw std::logic_error(fmt::format("report: a row has {} cells, the table {} columns",
                                         row.size(), report.columns.size()));
}

bool can_fail(const Check& check) { return check.kind != CheckKind::asymptote; }

bool has_failed(const Check& check) { return can_fail(check) && !check.ok; }

std::string failure(const Report& report) {
  std::vector<std::string> failed;
  for (const Check& check : report.checks)
    if (has_failed(check)) failed.push_back(printable(check.name));
  const auto held = std::count_if(report.checks.begin(), report.checks.end(), can_fail);
  if (!report.failed && failed.empty()) return "";
  if (!report.failure.empty()) return report.failure;
  if (failed.empty()) return "the run did not find what it should";
  const std::string more = failed.size() > 3 ? ", ..." : "";
  const std::size_t shown = std::min<std::size_t>(failed.size(), 3);
  return fmt::format("{} of {} checks failed: {}{}", failed.size(), held,
                     join(std::span(failed).first(shown), ", "), more);
}

}  // namespace experiments::report
