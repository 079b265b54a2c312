#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/cli/command.h"

namespace experiments::cli {

using Commands = std::span<const std::unique_ptr<Command>>;

/// A text about the program, made of what its commands tell of themselves.
struct Document {
  const char* name;  // typed where a command would be
  const char* summary;
  std::vector<std::string> parts;  // one of them has to follow the name, unless there are none
  std::string (*write)(Commands commands, const std::string& default_command,
                       const std::string& part);
};

const std::vector<Document>& documents();
const Document* find_document(std::string_view name);  // nullptr for none

/// A script that completes commands, options and values; `shell` is bash, zsh or fish.
std::string completion(Commands commands, const std::string& default_command,
                       const std::string& shell);
std::string bash_completion(Commands commands, const std::string& default_command);
std::string zsh_completion(Commands commands, const std::string& default_command);
std::string fish_completion(Commands commands, const std::string& default_command);

/// The page for man(1), in roff.
std::string man_page(Commands commands, const std::string& default_command, const std::string&);

}  // namespace experiments::cli
