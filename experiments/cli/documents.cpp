#include "experiments/cli/documents.h"

#include "experiments/cli/completion.h"
#include "experiments/cli/man_page.h"

namespace experiments::cli {

const std::vector<Document>& documents() {
  static const std::vector<Document> all = {
      {"completion",
       "prints a script that completes commands and options in bash, zsh or fish",
       {"bash", "zsh", "fish"},
       completion},
      {"man", "prints the manual page: gradlab man | man -l -", {}, man_page},
  };
  return all;
}

const Document* find_document(std::string_view name) {
  for (const Document& document : documents())
    if (document.name == name) return &document;
  return nullptr;
}

}  // namespace experiments::cli
