#pragma once

#include <cstdint>
#include <string>

#include "experiments/report/report.h"

namespace experiments::report {

/// What JSON says about a run besides its results.
struct Context {
  std::string version;
  std::string command;  // as typed, quoted for a shell
  std::string experiment;
  std::uint64_t seed = 0;
  int threads = 1;
  std::string dtype;
  bool quick = false;
};

/// One object with `context`, `rows` and `checks`; the same bytes in every locale.
std::string to_json(const Report& report, const Context& context);

}  // namespace experiments::report
