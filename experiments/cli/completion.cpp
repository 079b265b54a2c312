#include <fmt/format.h>

#include "experiments/cli/documents.h"
#include "experiments/report/text.h"

// The scripts for zsh and fish; that for bash is longer.

namespace experiments::cli {
namespace {

/// `text` without what _arguments and _describe would take for their own.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string zsh_spec(const Flag& flag) {
  std::string spec = fmt::format("{}[{}]", flag.name, escaped(flag.help));
  if (flag.value.empty()) return in_quotes(spec);
  spec += fmt::format(":{}:", escaped(flag.value));
  const std::string names = report::join(flag.choices, " ");
  if (flag.value == "FILE") spec += "_files";
  else if (flag.choices.empty()) spec += ' ';
  else if (flag.value.ends_with(",...")) spec += "_values -s , name " + names;
  else spec += fmt::format("({})", names);
  return in_quotes(spec);
}

std::string zsh_item(const char* name, const char* summary) {
  return fmt::format("    {}\n", in_quotes(fmt::format("{}:{}", name, escaped(summary))));
}

std::string fish_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish_line(const std::string& condition, const Flag& flag) {
  std::string out = fmt::format("complete -c gradlab -n {} -l {} -d {}", fish_word(condition),
                                flag.name.substr(2), fish_word(flag.help));
  if (flag.value == "FILE") out += " -r -F";
  else if (!flag.choices.empty()) out += " -x -a " + fish_word(report::join(flag.choices, " "));
  else if (!flag.value.empty()) out += " -x";
  return out + '\n';
}

}  // namespace

std::string zsh_completion(Commands commands, const std::string& default_command) {
  std::string list, cases;
  for (const auto& command : commands) {
    const Entry& entry = command->entry();
    list += zsh_item(entry.name, entry.summary);
    std::string arguments;
    for (const Flag& flag : command->flags())
      arguments += fmt::format(" \\\n        {}", zsh_spec(flag));
    const char* also = entry.name == default_command ? " | -*" : "";
    cases += fmt::format("    {}{})\n      _arguments{} \\\n        '--help[help]'\n      ;;\n",
                         entry.name, also, arguments);
  }
  for (const Document& document : documents()) {
    list += zsh_item(document.name, document.summary);
    if (document.parts.empty()) continue;
    cases += fmt::format("    {}) _arguments '1:part:({})' ;;\n", document.name,
                         report::join(document.parts, " "));
  }
  return fmt::format(
      "#compdef gradlab\n# Completion of gradlab in zsh: gradlab completion zsh > _gradlab, in a "
      "folder of $fpath\n"
      "_gradlab() {{\n  local -a commands\n  commands=(\n{}  )\n"
      "  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
      "    _describe command commands\n    return\n  fi\n"
      "  local command=$words[2]\n"
      "  if [[ $command != -* ]]; then\n    shift words\n    (( CURRENT-- ))\n  fi\n"
      "  case $command in\n{}  esac\n}}\n"
      "if [[ $funcstack[1] == _gradlab ]]; then\n  _gradlab \"$@\"\nelse\n"
      "  compdef _gradlab gradlab\nfi\n",
      list, cases);
}

std::string fish_completion(Commands commands, const std::string& default_command) {
  const std::string none = "__fish_use_subcommand";
  std::string out =
      "# Completion of gradlab in fish: gradlab completion fish | source\n"
      "complete -c gradlab -f\n";
  const auto name_line = [&](const char* name, const char* summary) {
    return fmt::format("complete -c gradlab -n {} -a {} -d {}\n", none, name, fish_word(summary));
  };
  for (const auto& command : commands) {
    const Entry& entry = command->entry();
    out += name_line(entry.name, entry.summary);
    for (const Flag& flag : command->flags()) {
      out += fish_line(fmt::format("__fish_seen_subcommand_from {}", entry.name), flag);
      if (entry.name == default_command) out += fish_line(none, flag);
    }
  }
  for (const Document& document : documents()) {
    out += name_line(document.name, document.summary);
    if (!document.parts.empty())
      out += fmt::format("complete -c gradlab -n '__fish_seen_subcommand_from {}' -a {}\n",
                         document.name, fish_word(report::join(document.parts, " ")));
  }
  return out + "complete -c gradlab -l help -d help\n";
}

}  // namespace experiments::cli
