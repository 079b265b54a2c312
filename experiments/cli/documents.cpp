#include "experiments/cli/documents.h"

namespace experiments::cli {

const std::vector<Document>& documents() {
  static const std::vector<Document> all = {
      {"completion",
       "a script that completes commands and options in bash, zsh or fish",
       {"bash", "zsh", "fish"},
       completion},
      {"man", "the manual page: gradlab man | man -l -", {}, man_page},
  };
  return all;
}

const Document* find_document(std::string_view name) {
  for (const Document& document : documents())
    if (document.name == name) return &document;
  return nullptr;
}

std::string completion(Commands commands, const std::string& default_command,
                       const std::string& shell) {
  if (shell == "bash") return bash_completion(commands, default_command);
  if (shell == "zsh") return zsh_completion(commands, default_command);
  return fish_completion(commands, default_command);
}

}  // namespace experiments::cli
