#include "experiments/report/csv.h"

#include <fmt/format.h>

#include "experiments/report/numbers.h"

namespace experiments::report {
namespace {

/// RFC 4180: quotes around a field with a comma, a quote or a line end; quotes in it doubled.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string field(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return field(*text);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  return shortest(std::get<double>(value));
}

}  // namespace

std::string to_csv(const Report& report) {
  require_whole_rows(report);
  std::string out;
  for (std::size_t i = 0; i < report.columns.size(); ++i)
    out += (i > 0 ? "," : "") + field(report.columns[i].key);
  out += '\n';
  for (const std::vector<Value>& row : report.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) out += (i > 0 ? "," : "") + field(row[i]);
    out += '\n';
  }
  return out;
}

}  // namespace experiments::report
