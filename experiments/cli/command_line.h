#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/cli/command.h"

namespace experiments::cli {

/// The command line of the program: a subcommand of CLI11 for each command and each document.
class CommandLine {
 public:
  CommandLine(std::span<const Entry> entries, const std::string& default_command);
  ~CommandLine();

  /// What was asked for: a command, with its options set, or else a text.
  struct Request {
    Command* command = nullptr;
    std::string text;
  };

  /// `words` are argv without the program. Options may stand before or after the command;
  /// without a command the default one runs. UsageError for an unknown command or option, with a
  /// suggestion, for a missing or bad value and for an extra word.
  Request parse(std::span<const std::string> words);
  /// The value of --config where no command is typed, and no help or version either; else "".
  std::string config_without_command(std::span<const std::string> words) const;
  /// Sets options of `command`: names, each followed by its value unless it is a toggle.
  void set(Command& command, std::span<const std::string> words);

  Commands commands() const { return commands_; }

 private:
  struct Order;
  Order ordered(std::span<const std::string> words) const;
  std::size_t length(std::span<const std::string> words, const std::string& command) const;
  const CLI::Option* find_option(const std::string& command, const std::string& name) const;
  void require_command(const std::string& name) const;
  void refuse_leftovers(const std::string& command) const;
  [[noreturn]] void refuse_option(const std::string& command, const std::string& name) const;
  std::string document_text(const std::string& name) const;

  std::string default_command_;
  std::vector<std::unique_ptr<Command>> commands_;
  std::unique_ptr<CLI::App> program_;
  std::string part_;  // what follows the name of a document
};

/// The words as a shell would take them, beginning with the program's bare name.
std::string command_text(std::span<const std::string> words);

}  // namespace experiments::cli
