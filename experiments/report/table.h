#pragma once

#include <string>

#include "experiments/report/report.h"

namespace experiments::report {

/// How much of a report the table format shows.
struct TableStyle {
  bool color = false;
  bool wide = false;  // every column that has a heading, every check, and the details
};

/// The whole output for people, ending in a newline, at most 100 columns wide.
std::string to_table(const Report& report, const TableStyle& style = {});

}  // namespace experiments::report
