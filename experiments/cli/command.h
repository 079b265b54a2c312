#pragma once

#include <memory>
#include <string>

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

/// A command with its options, ready to parse.
class Command {
 public:
  explicit Command(const Entry& entry);

  const Entry& entry() const { return entry_; }
  const std::vector<Flag>& flags() { return parser_.options().flags(); }
  const Common& common() const { return common_; }
  Experiment& experiment() { return *experiment_; }
  void parse(std::span<const std::string> words) { parser_.parse(words); }
  void set_toggle(const std::string& flag, bool on) { parser_.options().set_toggle(flag, on); }

 private:
  const Entry& entry_;
  Common common_;
  std::unique_ptr<Experiment> experiment_;
  Parser parser_;
};

inline constexpr const char* kCommonHeading = "Options of every command";

/// --help of the program, and of one command.
std::string program_help(std::span<const std::unique_ptr<Command>> commands,
                         const std::string& default_command);
std::string command_help(Command& command);

}  // namespace experiments::cli
