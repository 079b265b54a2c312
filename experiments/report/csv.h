#pragma once

#include <string>

#include "experiments/report/report.h"

namespace experiments::report {

/// The columns and rows; the same bytes in every locale.
std::string to_csv(const Report& report);

}  // namespace experiments::report
