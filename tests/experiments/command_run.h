#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/registry.h"
#include "experiments/report/text.h"
#include "tests/experiments/run.h"

// Running one command's experiment in tests.

namespace experiments::test {

/// The experiment of the command of that name.
inline std::unique_ptr<Experiment> make(std::string_view name) {
  for (const Entry& entry : registry()) {
    if (entry.name == name) return entry.make();
  }
  throw std::logic_error("no command " + std::string(name));
}

inline Report run_experiment(std::unique_ptr<Experiment> experiment, const Words& words = {},
                             const Run& with = {}) {
  cli::Parser parser;
  experiment->add_options(parser.options());
  parser.parse(words);
  experiment->validate(with);
  return experiment->run(with);
}

/// A cell by its column's key.
template <class T>
T cell(const Report& report, std::size_t row, const std::string& key) {
  for (std::size_t i = 0; i < report.columns.size(); ++i) {
    if (report.columns[i].key == key) return std::get<T>(report.rows.at(row)[i]);
  }
  ADD_FAILURE() << "no column " << key;
  return {};
}

/// The program prints the same for `words` on 1 to 4 threads, and something else for another seed
/// unless nothing in it is random.
inline void expect_same_bytes(const Words& words, bool random = true) {
  const auto output = [&](const Words& more) {
    Words all = words;
    all.insert(all.end(), more.begin(), more.end());
    const Outcome outcome = in_process(all);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  const std::string csv = output({"--format", "csv", "--threads", "1"});
  for (const char* threads : {"2", "3", "4"}) {
    EXPECT_EQ(output({"--format", "csv", "--threads", threads}), csv) << threads;
  }
  EXPECT_EQ(output({"--threads", "4"}), output({"--threads", "1"}));
  if (random) {
    EXPECT_NE(output({"--format", "csv", "--seed", "1"}), csv);
  }
}

inline void expect_narrow(const std::string& text) {
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    EXPECT_LE(report::display_width(text.substr(begin, end - begin)), 100u) << text;
  }
}

}  // namespace experiments::test
