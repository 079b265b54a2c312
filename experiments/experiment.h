#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "autograd/array/dtype.h"
#include "experiments/cli/options.h"
#include "experiments/report/heatmap.h"
#include "experiments/report/report.h"
#include "experiments/report/sparkline.h"

namespace experiments {

// What every experiment is written with.
using autograd::Index;
using cli::Options;
using cli::UsageError;
using report::Check;
using report::CheckKind;
using report::Column;
using report::Report;
using report::Value;

/// What every command is given besides its own options.
struct Run {
  std::uint64_t seed = 0;
  int threads = 1;
  autograd::DType dtype = autograd::DType::f64;
  bool quick = false;  // --quick: a smaller run that still shows the point
  bool color = false;  // stdout takes ANSI colour
  bool unicode = true;
  bool terminal = false;  // stderr is one
  report::Glyphs glyphs() const {
    return unicode ? report::Glyphs::unicode : report::Glyphs::ascii;
  }
  report::Canvas canvas() const { return {.color = color, .unicode = unicode}; }
  /// Called now and then with the share done in [0, 1]; shows only on a terminal.
  std::function<void(double)> progress = [](double) {};
  /// A text in the place of the bar; shows only on a terminal.
  std::function<void(const std::string&)> status = [](const std::string&) {};
  /// A line on stderr, for what a long run has to tell on its way.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  /// A piece of the output at once, where it goes to stdout as a table; false elsewhere.
  std::function<bool(const std::string&)> stream = [](const std::string&) { return false; };
};

/// One command of the program. Options are members that add_options() binds to flags.
class Experiment {
 public:
  virtual ~Experiment() = default;
  virtual void add_options(Options& options) = 0;
  /// Options that lie under those of --config and of the command line, which are set already when
  /// this is asked: what a preset stands for, or what an earlier run was given. Flags in their full
  /// spelling, each followed by its value.
  virtual std::vector<std::string> underlying_options() { return {}; }
  virtual autograd::DType default_dtype() const { return autograd::DType::f64; }
  /// Checks that need several options at once; throws UsageError.
  virtual void validate(const Run&) {}
  /// Peak memory of the run in bytes, for the refusal of what would not fit; saturates.
  virtual double bytes_needed(const Run&) const { return 0; }
  virtual Report run(const Run& run) = 0;
};

struct Entry {
  const char* name;
  const char* summary;  // one line, for the list of commands
  const char* example;  // a command line worth trying, first in --help
  std::unique_ptr<Experiment> (*make)();
};

}  // namespace experiments
