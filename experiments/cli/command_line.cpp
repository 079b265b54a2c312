#include "experiments/cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "experiments/cli/documents.h"
#include "experiments/cli/values.h"
#include "experiments/report/text.h"

namespace experiments::cli {
namespace {

bool is_option(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

/// "--rows", not "-5" or "--5", which can be values.
bool looks_like_flag(std::string_view word) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return word == "-h" || (word.size() > 2 && word.starts_with("--") && is_letter(word[2]));
}

std::string with_dashes(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

class Arranger {
 public:
  Arranger(std::span<const std::string> words, std::span<const Syntax> syntaxes)
      : words_(words), syntaxes_(syntaxes) {}

  Request run(const std::string& default_command) {
    while (at_ < words_.size()) take(words_[at_++]);
    if (request_.command.empty()) request_.command = default_command;
    const Document* document = find_document(request_.document);
    if (document && !request_.help && request_.part.empty() && !document->parts.empty())
      throw UsageError(fmt::format("{}: expected one of {}", document->name,
                                   report::join(document->parts, ", ")));
    for (const auto& [name, place] : used_) {
      const Flag* flag = find_flag(flags_of(request_.command), name);
      if (!flag) refuse_option(name);
      request_.words[place] = flag->name;
    }
    return request_;
  }

 private:
  void take(const std::string& word) {
    const bool asks_help = word == "-h" || word == "--help" || (word == "help" && !request_.typed);
    if (asks_help) {
      request_.help = true;
    } else if (word == "--version") {
      request_.version = true;
    } else if (word == "--") {
      throw UsageError("--: expected a command or an option, as there are no other words");
    } else if (!request_.document.empty()) {
      take_part(word);
    } else if (is_option(word)) {
      take_option(word);
    } else {
      take_command(word);
    }
  }

  /// What follows the name of a document.
  void take_part(const std::string& word) {
    const Document& document = *find_document(request_.document);
    if (document.parts.empty() || !request_.part.empty())
      throw UsageError(fmt::format("{}: unexpected word {}", document.name, report::quote(word)));
    request_.part = parse_choice(document.name, word, document.parts);
  }

  void take_command(const std::string& word) {
    if (request_.typed)
      throw UsageError(fmt::format("{}: unexpected word {} (one command a run)", request_.command,
                                   report::quote(word)));
    if (find_document(word) && used_.empty()) {
      request_.document = word;
      return;
    }
    std::vector<std::string> names;
    for (const Syntax& syntax : syntaxes_) names.push_back(syntax.command);
    for (const Document& document : documents()) names.emplace_back(document.name);
    if (find_document(word))
      throw UsageError(
          fmt::format("{}: takes no options, got {}", word, report::quote(used_[0].name)));
    if (std::find(names.begin(), names.end(), word) == names.end())
      throw UsageError(fmt::format("unknown command {}{} (there are {})", report::quote(word),
                                   report::did_you_mean(word, names), report::join(names, ", ")));
    request_.command = word;
    request_.typed = true;
  }

  void take_option(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = with_dashes(word.substr(0, equals));
    const Flag* flag = known(name);
    if (!flag) refuse_option(name);
    used_.push_back({name, request_.words.size()});
    request_.words.push_back(name);
    if (flag->value.empty()) {
      if (equals != std::string::npos)
        throw UsageError(fmt::format("{}: takes no value, got {}", name,
                                     report::quote(word.substr(equals + 1))));
    } else if (equals != std::string::npos) {
      request_.words.push_back(word.substr(equals + 1));
    } else {
      if (at_ == words_.size() || looks_like_flag(words_[at_]))
        throw UsageError(fmt::format("{}: expected a value ({}), got none", name, flag->value));
      request_.words.push_back(words_[at_++]);
    }
  }

  /// The flag of the command, or of any command as long as none is known.
  const Flag* known(std::string_view name) const {
    if (request_.typed) return find_flag(flags_of(request_.command), name);
    for (const Syntax& syntax : syntaxes_)
      if (const Flag* flag = find_flag(syntax.flags, name)) return flag;
    return nullptr;
  }

  std::span<const Flag> flags_of(std::string_view command) const {
    const auto it = std::find_if(syntaxes_.begin(), syntaxes_.end(),
                                 [command](const Syntax& s) { return s.command == command; });
    return it->flags;
  }

  [[noreturn]] void refuse_option(const std::string& name) const {
    const std::string& command = request_.command;
    std::vector<std::string> names = {"--help", "--version"}, owners;
    for (const Syntax& syntax : syntaxes_) {
      if (find_flag(syntax.flags, name)) owners.push_back(syntax.command);
      if (!command.empty() && command != syntax.command) continue;
      for (const Flag& flag : syntax.flags) names.push_back(flag.name);
    }
    const std::string hint = owners.empty()
                                 ? report::did_you_mean(name, names)
                                 : fmt::format("; it belongs to {}", report::join(owners, ", "));
    throw UsageError(fmt::format("unknown option {}{}{}", report::quote(name),
                                 command.empty() ? "" : " of " + command, hint));
  }

  std::span<const std::string> words_;
  std::span<const Syntax> syntaxes_;
  std::size_t at_ = 0;
  struct Used {
    std::string name;   // as typed, but for underscores
    std::size_t place;  // in the words of request_
  };
  std::vector<Used> used_;
  Request request_;
};

}  // namespace

Request arranged(std::span<const std::string> words, std::span<const Syntax> syntaxes,
                 const std::string& default_command) {
  return Arranger(words, syntaxes).run(default_command);
}

std::string command_text(std::span<const std::string> words) {
  std::string out = "gradlab";
  for (const std::string& word : words) out += ' ' + report::shell_word(word);
  return out;
}

}  // namespace experiments::cli
