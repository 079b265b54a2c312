#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "experiments/report/numbers.h"
#include "experiments/report/report.h"
#include "experiments/report/text.h"

// Written by hand, as it takes a page and nlohmann::json's shortest numbers are not always the
// shortest; the tests read it back with nlohmann::json.

namespace experiments::report {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text[0];
    if (length == 0) out += "\\ufffd";
    else if (c == '"' || c == '\\') out += fmt::format("\\{}", c);
    else if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20) out += fmt::format("\\u{:04x}", c);
    else out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + '"';
}

std::string number(double value) { return std::isfinite(value) ? shortest(value) : "null"; }

std::string cell(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return quoted(*text);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  return number(std::get<double>(value));
}

std::string object(const Context& context) {
  return fmt::format(
      "{{\"version\": {}, \"command\": {}, \"experiment\": {}, \"seed\": {}, \"threads\": {}, "
      "\"dtype\": {}, \"quick\": {}}}",
      quoted(context.version), quoted(context.command), quoted(context.experiment), context.seed,
      context.threads, quoted(context.dtype), context.quick);
}

std::string object(const std::vector<Column>& columns, const std::vector<Value>& row) {
  std::vector<std::string> members;
  for (std::size_t i = 0; i < row.size(); ++i)
    members.push_back(quoted(columns[i].key) + ": " + cell(row[i]));
  return "{" + join(members, ", ") + "}";
}

std::string object(const Check& check) {
  return fmt::format(
      "{{\"name\": {}, \"kind\": {}, \"measured\": {}, \"predicted\": {}, \"tolerance\": {}, "
      "\"ok\": {}}}",
      quoted(check.name), quoted(name(check.kind)), number(check.measured), number(check.predicted),
      number(check.tolerance), check.ok);
}

/// A list with one item a line.
std::string list(const std::vector<std::string>& items) {
  return items.empty() ? "[]" : "[\n    " + join(items, ",\n    ") + "\n  ]";
}

}  // namespace

std::string to_json(const Report& report, const Context& context) {
  require_whole_rows(report);
  std::vector<std::string> rows, checks;
  for (const std::vector<Value>& row : report.rows) rows.push_back(object(report.columns, row));
  for (const Check& check : report.checks) checks.push_back(object(check));
  return fmt::format("{{\n  \"context\": {},\n  \"rows\": {},\n  \"checks\": {}\n}}\n",
                     object(context), list(rows), list(checks));
}

}  // namespace experiments::report
