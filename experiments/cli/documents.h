#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/cli/command.h"

namespace experiments::cli {

/// A text about the program, made from what its commands say about themselves.
struct Document {
  const char* name;  // typed where a command would be
  const char* summary;
  std::vector<std::string> parts;  // if there are any, one of them must follow the name
  std::string (*write)(Commands commands, const std::string& default_command,
                       const std::string& part);
};

const std::vector<Document>& documents();
const Document* find_document(std::string_view name);  // nullptr for none

}  // namespace experiments::cli
