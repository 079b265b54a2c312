#include "experiments/report/json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/report/numbers.h"
#include "experiments/report/text.h"

namespace experiments::report {
namespace {

using Json = nlohmann::ordered_json;

/// Bytes that are not UTF-8 become U+FFFD, numbers that are not finite null. A number is written as
/// in csv, as the library's shortest numbers are not always the shortest.
std::string text_of(const Json& value) {
  if (value.is_number_float() && std::isfinite(value.get<double>())) return shortest(value);
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A flat object in one line.
std::string line(const Json& object) {
  std::vector<std::string> members;
  for (const auto& [key, value] : object.items())
    members.push_back(text_of(key) + ": " + text_of(value));
  return "{" + join(members, ", ") + "}";
}

/// A list with one object per line.
std::string list(const std::vector<std::string>& lines) {
  return lines.empty() ? "[]" : "[\n    " + join(lines, ",\n    ") + "\n  ]";
}

}  // namespace

std::string to_json(const Report& report, const Context& context) {
  require_whole_rows(report);
  const std::string head = line({{"version", context.version},
                                 {"command", context.command},
                                 {"experiment", context.experiment},
                                 {"seed", context.seed},
                                 {"threads", context.threads},
                                 {"dtype", context.dtype},
                                 {"quick", context.quick}});
  std::vector<std::string> rows, checks;
  for (const std::vector<Value>& row : report.rows) {
    Json object = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i)
      std::visit([&](const auto& cell) { object[report.columns[i].key] = cell; }, row[i]);
    rows.push_back(line(object));
  }
  for (const Check& check : report.checks)
    checks.push_back(line({{"name", check.name},
                           {"kind", name(check.kind)},
                           {"measured", check.measured},
                           {"predicted", check.predicted},
                           {"tolerance", check.tolerance},
                           {"ok", check.ok}}));
  return "{\n  \"context\": " + head + ",\n  \"rows\": " + list(rows) +
         ",\n  \"checks\": " + list(checks) + "\n}\n";
}

}  // namespace experiments::report
