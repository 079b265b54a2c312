#pragma once

#include <span>
#include <string>
#include <vector>

#include "experiments/cli/options.h"

namespace experiments::cli {

/// What the arranging of words has to know of a command.
struct Syntax {
  std::string command;
  std::span<const Flag> flags;
};

/// A command line taken apart.
struct Request {
  std::string command;  // the default one where none is typed
  bool typed = false;   // whether the command was typed
  bool help = false;
  bool version = false;
  std::string document;            // of documents(), typed instead of a command
  std::string part;                // "bash"
  std::vector<std::string> words;  // what Parser::parse wants
};

/// Finds the command among `words` (argv without the program) and brings its options into the form
/// that Parser::parse wants. Options stand before or after the command; "--rows=5" is "--rows 5",
/// underscores in names are dashes. UsageError for an unknown command or option, with what may have
/// been meant, for a missing value and for a value too many.
Request arranged(std::span<const std::string> words, std::span<const Syntax> syntaxes,
                 const std::string& default_command);

/// The words as a shell would take them, beginning with the program's bare name.
std::string command_text(std::span<const std::string> words);

}  // namespace experiments::cli
