#pragma once

#include <string>

#include "experiments/cli/command.h"

namespace experiments::cli {

/// A script that completes commands, options and values; `shell` is bash, zsh or fish.
std::string completion(Commands commands, const std::string& default_command,
                       const std::string& shell);

}  // namespace experiments::cli
