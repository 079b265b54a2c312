#include <fmt/format.h>

#include <set>

#include "experiments/cli/documents.h"
#include "experiments/report/text.h"

namespace experiments::cli {
namespace {

// The words to offer are filled in between. bash takes '=' for a word of its own.
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

}  // namespace

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

}  // namespace experiments::cli
