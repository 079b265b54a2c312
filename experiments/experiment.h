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
  bool terminal = false;  // whether stderr is one
  report::Glyphs glyphs() const {
    return unicode ? report::Glyphs::unicode : report::Glyphs::ascii;
  }
  report::Canvas canvas() const { return {.color = color, .unicode = unicode}; }
  /// Called now and then with the share done in [0, 1]; shows only on a terminal.
  std::function<void(double)> progress = [](double) {};
  /// Shows a text in place of the bar, only on a terminal.
  std::function<void(const std::string&)> status = [](const std::string&) {};
  /// Writes a line to stderr, for the news of a long run.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  /// Writes a piece of the output at once if it goes to stdout as a table; otherwise false.
  std::function<bool(const std::string&)> stream = [](const std::string&) { return false; };
};

/// One command of the program. Options are members that add_options() binds to flags.
class Experiment {
 public:
  virtual ~Experiment() = default;
  virtual void add_options(Options& options) = 0;
  /// Options that --config and the command line override (both are set when this is called): those
  /// of a preset, or those that an earlier run was given. Flags in their full spelling, each
  /// followed by its value.
  virtual std::vector<std::string> underlying_options() { return {}; }
  virtual autograd::DType default_dtype() const { return autograd::DType::f64; }
  /// Checks that need several options at once; throws UsageError.
  virtual void validate(const Run&) {}
  /// Peak memory of the run in bytes (saturating): what would not fit is refused.
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
