#pragma once

#include <string>

#include "experiments/cli/command.h"

namespace experiments::cli {

/// The page for man(1), in roff.
std::string man_page(Commands commands, const std::string& default_command, const std::string&);

}  // namespace experiments::cli
