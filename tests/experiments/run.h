#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "experiments/experiment.h"
#include "tests/support/process.h"

// Running the program: in this process with experiments of a test's own, or as the real executable.

namespace experiments::test {

using ::test::contents;
using ::test::Folder;
using ::test::in_child;
using ::test::Outcome;
using ::test::put;

using Words = std::vector<std::string>;

/// run_program() on memory files.
Outcome in_process(const Words& words);
Outcome in_process(const Words& words, std::span<const Entry> entries);

/// The executable. `before` runs in the child just before exec, to redirect and limit things.
Outcome execute(const Words& words, const std::function<void()>& before = {});

/// Turns this process into the executable; 127 if that fails.
int exec_program(const Words& words);

/// Whether `err` is "error: ...\n": one line, printable, at most 200 characters.
bool is_one_error_line(const std::string& err);

/// An experiment made of functions.
struct Fake : Experiment {
  std::function<Report(const Run&)> body = [](const Run&) { return Report{}; };
  std::function<void(Options&)> options = [](Options&) {};
  double bytes = 0;

  void add_options(Options& o) override { options(o); }
  double bytes_needed(const Run&) const override { return bytes; }
  Report run(const Run& r) override { return body(r); }
};

}  // namespace experiments::test
