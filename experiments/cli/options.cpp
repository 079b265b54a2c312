#include "experiments/cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <utility>

#include "experiments/cli/values.h"
#include "experiments/report/text.h"

namespace experiments::cli {
namespace {

constexpr const char* kScales = "none,sqrt_dk,dk";
constexpr const char* kOneOf = ": none, sqrt_dk, dk or a number";

/// Sets `target` to parse(flag, text, arguments...).
template <class Target, class Parse, class... Arguments>
auto into(Target& target, Parse parse, Arguments... arguments) {
  return [=, &target](const std::string& flag, const std::string& text) {
    target = parse(flag, text, arguments...);
  };
}

std::string with_underscores(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// "--seq-len" as "--seq-len,--seq_len", what CLI11 takes for one option.
std::string spelled(const std::string& names) {
  std::string out = names;
  for (const std::string& name : CLI::detail::split(names, ',')) {
    const std::string other = "--" + with_underscores(name.substr(2));
    if (other != name) out += ',' + other;
  }
  return out;
}

}  // namespace

Flag flag_of(const CLI::Option& option) {
  Flag flag{option.get_name(), "", option.get_description(), option.get_group(), {}};
  if (!option.get_default_str().empty())
    flag.help += fmt::format(" [{}]", option.get_default_str());
  for (const std::string& name : option.get_lnames()) {
    flag.spellings.push_back("--" + name);
    if (flag.spellings.back() != flag.name && name.find('_') == name.npos)
      flag.help += fmt::format(" (or --{})", name);
  }
  // "NAME:table,csv,json": the second part is the description of the validator.
  const std::string type = option.get_type_name();
  const std::size_t colon = std::min(type.find(':'), type.size());
  flag.value = type.substr(0, colon);
  if (colon < type.size()) flag.choices = CLI::detail::split(type.substr(colon + 1), ',');
  return flag;
}

void Options::add(const std::string& names, const std::string& value, const std::string& help,
                  const std::string& initial, Take take, const std::string& choices) {
  const std::string flag = names.substr(0, names.find(','));
  const auto once = [flag, take = std::move(take)](const CLI::results_t& texts) {
    if (texts.size() > 1)
      throw UsageError(fmt::format("{}: expected once, got {} and {}", flag,
                                   report::quote(texts[0]), report::quote(texts[1])));
    take(flag, texts.at(0));
    return true;
  };
  CLI::Option* option = app_.add_option(spelled(names), once, help)
                            ->expected(1)
                            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
                            ->type_name(value)
                            ->default_str(initial)
                            ->group(heading_);
  // A validator of a description alone takes everything.
  if (!choices.empty()) option->check(CLI::Validator(choices));
}

void Options::integer(const std::string& names, Index& target, Index min, Index max,
                      const std::string& help) {
  add(names, "N", help, fmt::format("{}", target), into(target, parse_integer, min, max));
}

void Options::integer(const std::string& names, std::optional<Index>& target, Index min, Index max,
                      const std::string& help) {
  add(names, "N", help, "", into(target, parse_integer, min, max));
}

void Options::natural(const std::string& names, std::uint64_t& target, const std::string& help) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  add(names, "N", help, fmt::format("{}", target), into(target, parse_unsigned, kMax));
}

void Options::number(const std::string& names, double& target, double min, double max,
                     const std::string& help) {
  add(names, "X", help, fmt::format("{}", target), into(target, parse_number, min, max));
}

void Options::number(const std::string& names, std::optional<double>& target, double min,
                     double max, const std::string& help) {
  add(names, "X", help, "", into(target, parse_number, min, max));
}

void Options::text(const std::string& names, std::string& target, const std::string& help,
                   const std::string& value) {
  add(names, value, help, target, into(target, parse_text));
}

void Options::choice(const std::string& names, std::string& target,
                     std::vector<std::string> allowed, const std::string& help) {
  const std::string list = report::join(allowed, "|");
  add(names, list.size() <= 24 ? list : "NAME", help, target, into(target, parse_choice, allowed),
      report::join(allowed, ","));
}

void Options::toggle(const std::string& names, bool& target, const std::string& help) {
  const auto set = [names, &target](std::int64_t times) {
    if (times > 1)
      throw UsageError(fmt::format("{}: expected once, got it {} times", names, times));
    target = times > 0;
  };
  app_.add_flag_function(spelled(names), set, help)->group(heading_);
}

void Options::choices(const std::string& names, std::vector<std::string>& target,
                      std::vector<std::string> allowed, const std::string& help) {
  const std::string list = report::join(allowed, ",");
  add(names, "NAME,...", fmt::format("{}: {}", help, report::join(allowed, ", ")),
      target == allowed ? "all" : report::join(target, ","), into(target, parse_choices, allowed),
      list);
}

void Options::sizes(const std::string& names, std::vector<Index>& target, Index min, Index max,
                    const std::string& help) {
  add(names, "N,...", help, fmt::format("{}", fmt::join(target, ",")),
      into(target, parse_sizes, min, max));
}

void Options::scale(const std::string& names, nn::Scale& target, const std::string& help) {
  add(names, "SCALE", help + kOneOf, target.name(), into(target, parse_scale), kScales);
}

void Options::scales(const std::string& names, std::vector<nn::Scale>& target,
                     const std::string& help) {
  std::vector<std::string> initial;
  for (const nn::Scale& scale : target) initial.push_back(scale.name());
  add(names, "SCALE,...", help + kOneOf, report::join(initial, ","), into(target, parse_scales),
      kScales);
}

std::vector<Flag> Options::flags() const {
  std::vector<Flag> flags;
  for (const CLI::Option* option : std::as_const(app_).get_options())
    flags.push_back(flag_of(*option));
  return flags;
}

std::optional<Flag> Options::find(const std::string& name) const {
  const CLI::Option* option = app_.get_option_no_throw(name);
  return option ? std::optional(flag_of(*option)) : std::nullopt;
}

void Options::set(const std::string& name, const std::string& text) {
  CLI::Option& option = *app_.get_option(name);
  option.clear();
  option.add_result(text);
  option.run_callback();
}

bool Options::is_given(const std::string& name) const { return app_.count(name) > 0; }

Parser::Parser(const std::string& name)
    : app_(std::make_shared<CLI::App>("", name)), options_(*app_) {
  app_->set_help_flag();
}

void Parser::parse(std::span<const std::string> words) {
  try {
    // CLI11 wants the words last first.
    app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    throw UsageError(report::printable(error.what()));
  }
}

}  // namespace experiments::cli
