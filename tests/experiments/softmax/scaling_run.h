#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "autograd/machine/sanitizer.h"
#include "tests/experiments/command_run.h"

// Running the scaling experiment in tests.

namespace experiments::test {

// Sanitised builds take long over many rows, and their numbers are the same.
inline constexpr bool kSlow = GRADLAB_ASAN;

inline std::unique_ptr<Experiment> parsed_scaling(const std::vector<std::string>& words) {
  auto experiment = make("scaling");
  cli::Parser parser;
  experiment->add_options(parser.options());
  parser.parse(words);
  return experiment;
}

inline Report run_scaling(const std::vector<std::string>& words, const Run& with = {}) {
  const auto experiment = parsed_scaling(words);
  experiment->validate(with);
  return experiment->run(with);
}

inline double value(const Report& report, std::size_t row, const std::string& key) {
  for (std::size_t i = 0; i < report.columns.size(); ++i) {
    if (report.columns[i].key == key) return std::get<double>(report.rows[row][i]);
  }
  ADD_FAILURE() << "no column " << key;
  return 0;
}

}  // namespace experiments::test
