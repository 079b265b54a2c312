#pragma once

#include <memory>
#include <string>
#include <vector>

#include "experiments/cli/options.h"
#include "experiments/experiment.h"

namespace experiments::cli {

/// The values of the options that every command has.
struct Common {
  std::uint64_t seed = 0;
  Index threads = 1;
  std::string dtype = "f64";
  std::string format = "table";
  std::string out = "-";
  std::string color = "auto";
  std::string config;  // "" for none
  bool quick = false;
  bool wide = false;
};

inline constexpr const char* kCommonHeading = "Options of every command";

/// A command with its options; CommandLine parses them.
class Command {
 public:
  explicit Command(const Entry& entry);

  const Entry& entry() const { return entry_; }
  const Common& common() const { return common_; }
  Experiment& experiment() { return *experiment_; }
  Options& options() { return parser_.options(); }
  std::vector<Flag> flags() { return options().flags(); }
  const std::shared_ptr<CLI::App>& app() const { return parser_.app(); }

 private:
  const Entry& entry_;
  Common common_;
  std::unique_ptr<Experiment> experiment_;
  Parser parser_;
};

using Commands = std::span<const std::unique_ptr<Command>>;

Command* find_command(Commands commands, std::string_view name);  // nullptr for none

/// After "unknown option": "; it belongs to gradcheck" or "; did you mean '--rows'?" or "". `shown`
/// is where names begin to be shown: 2 for keys of a file, which have no dashes.
std::string option_hint(Commands commands, Command& command, const std::string& name,
                        std::size_t shown = 0);

}  // namespace experiments::cli
