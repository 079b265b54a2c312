#include "experiments/cli/command.h"

#include <fmt/format.h>

#include <algorithm>

#include "autograd/machine/parallel.h"
#include "experiments/cli/documents.h"
#include "experiments/report/text.h"

namespace experiments::cli {
namespace {

constexpr Index kMaxThreads = 1024;
constexpr std::size_t kWidth = 100;

void add_common(Options& options, Common& common) {
  common.threads = std::clamp<Index>(autograd::num_threads(), 1, kMaxThreads);
  options.heading(kCommonHeading);
  options.natural("--seed", common.seed, "what all random numbers follow from");
  options.integer("--threads", common.threads, 1, kMaxThreads,
                  "threads; the results do not depend on them");
  options.choice("--dtype", common.dtype, {"f32", "f64"}, "floating-point type");
  options.choice("--format", common.format, {"table", "csv", "json"}, "form of the output");
  options.text("--out", common.out, "where the output goes; - is stdout", "FILE");
  options.toggle("--wide", common.wide, "every column of the table and every check");
  options.toggle("--quick", common.quick, "a smaller run that still shows the point");
  options.choice("--color", common.color, {"auto", "always", "never"},
                 "colours; auto wants a terminal and an empty NO_COLOR");
  options.text("--config", common.config, "options from a TOML file; the command line wins",
               "FILE");
}

/// Two columns, the right one wrapped.
std::string item(const std::string& left, const std::string& right, std::size_t indent) {
  std::string out = "  " + left;
  std::size_t column = report::display_width(out);
  if (column + 2 > indent) {
    out += '\n';
    column = 0;
  }
  for (const std::string& line : report::wrapped(right, kWidth - indent)) {
    out += std::string(indent - column, ' ') + line + '\n';
    column = 0;
  }
  return out;
}

std::string flag_list(std::span<const Flag> flags) {
  std::string out, heading;
  for (const Flag& flag : flags) {
    if (flag.heading != heading) out += '\n' + flag.heading + ":\n";
    heading = flag.heading;
    out += item(flag.value.empty() ? flag.name : flag.name + ' ' + flag.value, flag.help, 30);
  }
  return out + item("--help", "this text", 30);
}

}  // namespace

Command::Command(const Entry& entry) : entry_(entry), experiment_(entry.make()) {
  parser_.options().heading(fmt::format("Options of {}", entry.name));
  experiment_->add_options(parser_.options());
  common_.dtype = autograd::name(experiment_->default_dtype());
  add_common(parser_.options(), common_);
}

std::string command_help(Command& command) {
  const Entry& entry = command.entry();
  return fmt::format("Example: {}\n\n{}: {}\n\nUsage: gradlab {} [OPTIONS]\n{}", entry.example,
                     entry.name, entry.summary, entry.name, flag_list(command.flags()));
}

std::string program_help(std::span<const std::unique_ptr<Command>> commands,
                         const std::string& default_command) {
  std::string list, example;
  std::vector<Flag> common;
  for (const auto& command : commands) {
    const Entry& entry = command->entry();
    const bool is_default = entry.name == default_command;
    if (is_default) example = entry.example;
    list += item(entry.name, fmt::format("{}{}", entry.summary, is_default ? " (the default)" : ""),
                 14);
    if (!common.empty()) continue;
    for (const Flag& flag : command->flags())
      if (flag.heading == kCommonHeading) common.push_back(flag);
  }
  for (const Document& document : documents()) list += item(document.name, document.summary, 14);
  return fmt::format(
      "Example: {}\n\n"
      "gradlab: a small automatic differentiation engine, and experiments on attention\n\n"
      "Usage: gradlab [COMMAND] [OPTIONS]\n\nCommands:\n{}{}{}\n"
      "gradlab COMMAND --help shows the options of a command.\n"
      "Exit codes: 0 done, 1 a check failed, 2 usage, 3 input data, 4 input or output, 5 numbers "
      "not\n"
      "finite, 70 internal error, 130 interrupted.\n",
      example, list, flag_list(common), item("--version", "the version", 30));
}

}  // namespace experiments::cli
