#include "experiments/cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "experiments/cli/documents.h"
#include "experiments/cli/program.h"
#include "experiments/cli/values.h"
#include "experiments/report/text.h"

namespace experiments::cli {
namespace {

constexpr std::size_t kWidth = 100;

/// Two columns, the right one wrapped.
std::string item(const std::string& left, const std::string& right, std::size_t indent) {
  std::string out = "  " + left;
  std::size_t column = report::display_width(out);
  if (column + 2 > indent) {
    out += '\n';
    column = 0;
  }
  for (const std::string& line : report::wrapped(right, kWidth - indent)) {
    out += std::string(indent - column, ' ') + line + '\n';
    column = 0;
  }
  return out;
}

std::string option_item(const std::string& name, const std::string& help) {
  return item(name, help, 30);
}

/// --help: what CLI11 shows, with an example at the top. The example of an App is its footer.
class Help : public CLI::Formatter {
 public:
  explicit Help(std::string default_command) : default_command_(std::move(default_command)) {}

  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode mode) const override {
    const bool is_program = app->get_parent() == nullptr;
    std::string out = fmt::format("Example: {}\n\n{}: {}\n\nUsage: gradlab {} [OPTIONS]\n",
                                  app->get_footer(), app->get_name(), app->get_description(),
                                  is_program ? "[COMMAND]" : app->get_name());
    if (!is_program)
      return out + '\n' + make_groups(app, mode) + option_item("--help", "this text");
    const CLI::App* command = app->get_subcommands({}).front();
    const auto is_common = [](const CLI::Option* o) { return o->get_group() == kCommonHeading; };
    return out + make_subcommands(app, mode) + '\n' +
           make_group(kCommonHeading, false, command->get_options(is_common)) +
           option_item("--help", "this text") + option_item("--version", "the version") +
           "\ngradlab COMMAND --help shows the options of a command.\n"
           "Exit codes: 0 done, 1 a check failed, 2 usage, 3 input data, 4 input or output, 5 "
           "non-finite\nnumbers, 70 internal error, 130 interrupted.\n";
  }

  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    std::string out = group + ":\n";
    for (const CLI::Option* option : options) out += make_option(option, is_positional);
    return out;
  }

  std::string make_option(const CLI::Option* option, bool) const override {
    const Flag flag = flag_of(*option);
    return option_item(flag.value.empty() ? flag.name : flag.name + ' ' + flag.value, flag.help);
  }

  std::string make_subcommand(const CLI::App* app) const override {
    const char* note = app->get_name() == default_command_ ? " (the default)" : "";
    return item(app->get_name(), app->get_description() + note, 14);
  }

 private:
  std::string default_command_;
};

bool is_option(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

/// "--rows", not "-5" or "--5", which can be values.
bool looks_like_flag(std::string_view word) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return word == "-h" || (word.size() > 2 && word.starts_with("--") && is_letter(word[2]));
}

/// An option that throws as soon as it is met, whatever else is wrong.
template <class Call>
void add_call(CLI::App& app, const char* names, const Call& call) {
  app.add_flag_callback(names, [call] { throw call; })->trigger_on_parse();
}

}  // namespace

/// The words as CLI11 wants them.
struct CommandLine::Order {
  std::string command;
  bool typed = false;
  std::vector<std::string> words;  // the command first
};

CommandLine::CommandLine(std::span<const Entry> entries, const std::string& default_command)
    : default_command_(default_command),
      program_(std::make_unique<CLI::App>(
          "a small automatic differentiation engine, and experiments on attention", "gradlab")) {
  program_->set_help_flag();
  program_->formatter(std::make_shared<Help>(default_command));
  program_->require_subcommand(0, 1)->fallthrough()->allow_extras();
  add_call(*program_, "-h,--help", CLI::CallForHelp());
  add_call(*program_, "--version", CLI::CallForVersion(fmt::format("gradlab {}\n", version()), 0));
  for (const Entry& entry : entries) {
    commands_.push_back(std::make_unique<Command>(entry));
    CLI::App& app = *program_->add_subcommand(commands_.back()->app());
    app.description(entry.summary)->footer(entry.example)->group("Commands")->fallthrough();
    app.formatter(program_->get_formatter());
    if (entry.name == default_command) program_->footer(entry.example);
  }
  for (const Document& document : documents()) {
    CLI::App& app = *program_->add_subcommand(document.name, document.summary)->group("Commands");
    const auto take = [this, &document](const CLI::results_t& texts) {
      part_ = parse_choice(document.name, texts.at(0), document.parts);
      return true;
    };
    if (!document.parts.empty()) app.add_option("part", take);
  }
}

CommandLine::~CommandLine() = default;

const CLI::Option* CommandLine::find_option(const std::string& command,
                                            const std::string& name) const {
  if (const CLI::Option* option = program_->get_option_no_throw(name)) return option;
  for (const CLI::App* app : program_->get_subcommands({})) {
    if (!command.empty() && app->get_name() != command) continue;
    if (const CLI::Option* option = app->get_option_no_throw(name)) return option;
  }
  return nullptr;
}

/// Words of the option at the front: 1, or 2 with its value. CLI11 would misread what is refused
/// here: "--rows=" takes the next word, "--quick=x" counts, and "--out
/// --quick" writes a file of that name.
std::size_t CommandLine::length(std::span<const std::string> words,
                                const std::string& command) const {
  const std::string name = words[0].substr(0, words[0].find('='));
  const CLI::Option* option = find_option(command, name);
  if (!option) refuse_option(command.empty() ? default_command_ : command, name);
  const Flag flag = flag_of(*option);
  const bool takes = !flag.value.empty();
  if (name != words[0]) {
    const std::string value = words[0].substr(name.size() + 1);
    if (!takes || value.empty())
      throw UsageError(fmt::format("{}: expected {}, got {}", flag.name,
                                   takes ? "a value" : "no value", report::quote(value)));
  } else if (takes && (words.size() == 1 || looks_like_flag(words[1]))) {
    throw UsageError(fmt::format("{}: expected a value ({}), got none", flag.name, flag.value));
  }
  return takes && name == words[0] ? 2 : 1;
}

/// With the command at the front, as CLI11 gives it everything that follows.
CommandLine::Order CommandLine::ordered(std::span<const std::string> words) const {
  Order order;
  while (!words.empty()) {
    const std::string& word = words[0];
    std::size_t taken = 1;
    if (word == "--" || word == "++") {
      throw UsageError(fmt::format("{}: expected a command or an option", word));
    } else if (word == "help" && !order.typed) {
      order.words.emplace_back("--help");
    } else if (!is_option(word) && !order.typed) {
      require_command(word);
      order.command = word;
      order.typed = true;
    } else {
      if (is_option(word)) taken = length(words, order.command);
      order.words.insert(order.words.end(), words.begin(), words.begin() + taken);
    }
    words = words.subspan(taken);
  }
  if (!order.typed) order.command = default_command_;
  order.words.insert(order.words.begin(), order.command);
  return order;
}

void CommandLine::require_command(const std::string& name) const {
  std::vector<std::string> names;
  for (const CLI::App* app : program_->get_subcommands({})) names.push_back(app->get_name());
  if (std::ranges::count(names, name) == 0)
    throw UsageError(fmt::format("unknown command {}{} (commands: {})", report::quote(name),
                                 report::did_you_mean(name, names), report::join(names, ", ")));
}

void CommandLine::refuse_leftovers(const std::string& command) const {
  const std::vector<std::string> words = program_->remaining();
  if (words.empty()) return;
  if (is_option(words[0])) refuse_option(command, words[0].substr(0, words[0].find('=')));
  throw UsageError(fmt::format("{}: unexpected word {} (one command per run)", command,
                               report::quote(words[0])));
}

void CommandLine::refuse_option(const std::string& command, const std::string& name) const {
  Command* owner = find_command(commands_, command);
  if (!owner)
    throw UsageError(fmt::format("{}: takes no options, got {}", command, report::quote(name)));
  throw UsageError(fmt::format("unknown option {} of {}{}", report::quote(name), command,
                               option_hint(commands_, *owner, name)));
}

std::string CommandLine::document_text(const std::string& name) const {
  const Document& document = *find_document(name);
  if (part_.empty() && !document.parts.empty())
    throw UsageError(
        fmt::format("{}: expected one of {}", name, report::join(document.parts, ", ")));
  return document.write(commands_, default_command_, part_);
}

CommandLine::Request CommandLine::parse(std::span<const std::string> words) {
  const Order order = ordered(words);
  Command* command = find_command(commands_, order.command);
  try {
    program_->parse(std::vector<std::string>(order.words.rbegin(), order.words.rend()));
  } catch (const CLI::CallForHelp&) {
    const CLI::App& asked = command && order.typed ? *command->app() : *program_;
    return {nullptr, program_->get_formatter()->make_help(&asked, "", CLI::AppFormatMode::Normal)};
  } catch (const CLI::CallForVersion& call) {
    return {nullptr, call.what()};
  } catch (const CLI::ParseError& error) {
    throw UsageError(report::printable(error.what()));
  }
  refuse_leftovers(order.command);
  if (command) return {command, ""};
  return {nullptr, document_text(order.command)};
}

std::string CommandLine::config_without_command(std::span<const std::string> words) const {
  const Order order = ordered(words);
  if (order.typed) return "";
  std::string path;
  for (std::size_t i = 0; i < order.words.size(); ++i) {
    const std::string& word = order.words[i];
    for (const char* text : {"-h", "--help", "--version"})
      if (word == text) return "";
    constexpr std::string_view kWithValue = "--config=";
    if (word == "--config" && i + 1 < order.words.size()) path = order.words[i + 1];
    if (word.starts_with(kWithValue)) path = word.substr(kWithValue.size());
  }
  return path;
}

void CommandLine::set(Command& command, std::span<const std::string> words) {
  std::vector<std::string> all = {command.entry().name};
  all.insert(all.end(), words.begin(), words.end());
  parse(all);
}

std::string command_text(std::span<const std::string> words) {
  std::string out = "gradlab";
  for (const std::string& word : words) out += ' ' + report::shell_word(word);
  return out;
}

}  // namespace experiments::cli
