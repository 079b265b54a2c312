#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace experiments::report {

/// A cell: text, a whole number, a number (NaN and infinities are written as null in JSON), or a
/// truth value.
using Value = std::variant<std::string, std::int64_t, double, bool>;

struct Column {
  std::string key;      // csv header and JSON key, lower snake case
  std::string heading;  // over the column of the table; "" keeps the column out of the table
  int digits = 3;       // significant digits in the table; csv and JSON always round-trip
  bool wide = false;    // stands in the table only with --wide
};

/// How a number is compared with theory: with a value that it must equal, one that it must not
/// exceed, a second measurement, or the limit that it tends to. A limit is shown with the distance
/// from it and never fails a run.
enum class CheckKind { identity, bound, reference, asymptote };

struct Check {
  std::string name;
  CheckKind kind;
  double measured;
  double predicted;
  double tolerance;  // absolute
  bool ok;
};

/// What an experiment found. Its csv is columns and rows; its JSON has context, rows and checks.
struct Report {
  std::vector<Column> columns = {};
  std::vector<std::vector<Value>> rows = {};
  std::vector<Check> checks = {};
  // What only the table format shows, from top to bottom; each note is a paragraph.
  std::vector<std::string> opening = {};  // above the table
  std::string figure = {};                // below the table: drawn lines, escapes and all
  std::vector<std::string> details = {};  // below the checks, with --wide
  std::vector<std::string> notes = {};    // at the end
  bool failed = false;                    // exit code 1 (also when a check that may fail is not ok)
  std::string failure = {};               // what stderr says then; "" names the failed checks
};

/// Why the exit code is 1, in one line; "" if the report is good.
std::string failure(const Report& report);

const char* name(CheckKind kind);   // "identity"
bool can_fail(const Check& check);  // a limit cannot
bool has_failed(const Check& check);

/// std::logic_error unless every row has one cell per column.
void require_whole_rows(const Report& report);

}  // namespace experiments::report
