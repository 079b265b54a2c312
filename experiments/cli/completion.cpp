#include "experiments/cli/completion.h"

#include <fmt/format.h>

#include <set>

#include "experiments/cli/documents.h"
#include "experiments/report/text.h"

namespace experiments::cli {
namespace {

// The words to offer are filled in between. bash makes '=' a separate word.
constexpr const char* kHead = R"(# Completion of gradlab in bash: source <(gradlab completion bash)
_gradlab() {
  local cur=${COMP_WORDS[COMP_CWORD]} option='' command='' words='' flags='' list='' i
  if [[ $cur == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 1]} cur=''
  elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  else
    option=${COMP_WORDS[COMP_CWORD - 1]}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
)";

constexpr const char* kMiddle = R"(    esac
    [[ -z $command ]] || break
  done
  COMPREPLY=()
)";

constexpr const char* kTail = R"(  if [[ -n $list ]]; then
    local before=''
    [[ $cur != *,* ]] || before=${cur%,*},
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$words" -- "${cur##*,}")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  fi
}
complete -F _gradlab gradlab
)";

std::string case_of_value(const std::string& command, const Flag& flag) {
  const std::string pattern = fmt::format("    '{} {}')", command, flag.name);
  if (flag.value == "FILE")
    return pattern +
           " compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "
           "\"$cur\"); return ;;\n";
  if (flag.choices.empty()) return pattern + " return ;;\n";
  return fmt::format("{} words='{}'{} ;;\n", pattern, report::join(flag.choices, " "),
                     flag.value.ends_with(",...") ? " list=1" : "");
}

std::string bash_completion(Commands commands, const std::string& default_command) {
  std::vector<std::string> names;
  std::set<std::string> valued;
  std::string flags, values;
  for (const auto& command : commands) {
    const std::string name = command->entry().name;
    names.push_back(name);
    std::vector<std::string> own;
    for (const Flag& flag : command->flags()) {
      own.push_back(flag.name);
      if (flag.value.empty()) continue;
      valued.insert(flag.name);
      values += case_of_value(name, flag);
    }
    flags += fmt::format("    {}) flags='{} --help' ;;\n", name, report::join(own, " "));
  }
  for (const Document& document : documents()) {
    names.emplace_back(document.name);
    flags +=
        fmt::format("    {}) flags='{}' ;;\n", document.name, report::join(document.parts, " "));
  }
  std::string out = kHead;
  out += fmt::format("      {}) [[ ${{COMP_WORDS[i + 1]}} != = ]] || ((++i)); ((++i)) ;;\n",
                     fmt::join(valued, " | "));
  out += fmt::format("      {}) command=${{COMP_WORDS[i]}} ;;\n", report::join(names, " | "));
  out += kMiddle;
  out += fmt::format("  case \"${{command:-{}}} $option\" in\n{}  esac\n", default_command, values);
  out += "  if [[ -z $words ]]; then\n";
  out += fmt::format("    case ${{command:-{}}} in\n{}    esac\n", default_command, flags);
  out += fmt::format(
      "    words=$flags\n    [[ -n $command ]] || words=\"{} $flags --version\"\n  fi\n",
      report::join(names, " "));
  return out + kTail;
}

/// `text` with what _arguments and _describe would interpret escaped.
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

}  // namespace

std::string completion(Commands commands, const std::string& default_command,
                       const std::string& shell) {
  if (shell == "bash") return bash_completion(commands, default_command);
  if (shell == "zsh") return zsh_completion(commands, default_command);
  return fish_completion(commands, default_command);
}

}  // namespace experiments::cli
