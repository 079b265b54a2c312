#include "experiments/cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "experiments/cli/values.h"
#include "experiments/report/text.h"

namespace experiments::cli {
namespace {

std::string as_text(std::span<const Index> sizes) {
  return fmt::format("{}", fmt::join(sizes, ","));
}

}  // namespace

const Flag* find_flag(std::span<const Flag> flags, std::string_view name) {
  const auto it = std::ranges::find_if(flags, [name](const Flag& flag) {
    return flag.name == name || std::ranges::count(flag.aliases, name) > 0;
  });
  return it == flags.end() ? nullptr : &*it;
}

void Options::add(const std::string& flag, const std::string& value, const std::string& help,
                  const std::string& initial, Take take, std::vector<std::string> names) {
  const auto once = [flag, take = std::move(take)](const CLI::results_t& texts) {
    if (texts.size() > 1)
      throw UsageError(fmt::format("{}: expected once, got {} and {}", flag,
                                   report::quote(texts[0]), report::quote(texts[1])));
    take(texts.at(0));
    return true;
  };
  app_.add_option(flag, once, help)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  const std::string shown = initial.empty() ? help : fmt::format("{} [{}]", help, initial);
  flags_.push_back({flag, value, shown, heading_, std::move(names)});
}

void Options::integer(const std::string& flag, Index& target, Index min, Index max,
                      const std::string& help) {
  add(flag, "N", help, fmt::format("{}", target),
      [=, &target](const std::string& text) { target = parse_integer(flag, text, min, max); });
}

void Options::integer(const std::string& flag, std::optional<Index>& target, Index min, Index max,
                      const std::string& help) {
  add(flag, "N", help, "",
      [=, &target](const std::string& text) { target = parse_integer(flag, text, min, max); });
}

void Options::natural(const std::string& flag, std::uint64_t& target, const std::string& help) {
  add(flag, "N", help, fmt::format("{}", target),
      [=, &target](const std::string& text) { target = parse_unsigned(flag, text); });
}

void Options::number(const std::string& flag, double& target, double min, double max,
                     const std::string& help) {
  add(flag, "X", help, fmt::format("{}", target),
      [=, &target](const std::string& text) { target = parse_number(flag, text, min, max); });
}

void Options::text(const std::string& flag, std::string& target, const std::string& help,
                   const std::string& value) {
  add(flag, value, help, target,
      [=, &target](const std::string& text) { target = parse_text(flag, text); });
}

void Options::choice(const std::string& flag, std::string& target, std::vector<std::string> allowed,
                     const std::string& help) {
  const std::string names = report::join(allowed, "|");
  const std::string value = names.size() <= 24 ? names : "NAME";
  add(
      flag, value, help, target,
      [=, &target](const std::string& text) { target = parse_choice(flag, text, allowed); },
      allowed);
}

void Options::toggle(const std::string& flag, bool& target, const std::string& help) {
  const auto set = [flag, &target](std::int64_t times) {
    if (times > 1) throw UsageError(fmt::format("{}: expected once, got it {} times", flag, times));
    target = true;
  };
  app_.add_flag_function(flag, set, help);
  flags_.push_back({flag, "", help, heading_});
  toggles_[flag] = &target;
}

void Options::set_toggle(const std::string& flag, bool on) { *toggles_.at(flag) = on; }

void Options::choices(const std::string& flag, std::vector<std::string>& target,
                      std::vector<std::string> allowed, const std::string& help) {
  const std::string shown = fmt::format("{}: {}", help, report::join(allowed, ", "));
  add(
      flag, "NAME,...", shown, target == allowed ? "all" : report::join(target, ","),
      [=, &target](const std::string& text) { target = parse_choices(flag, text, allowed); },
      allowed);
}

void Options::sizes(const std::string& flag, std::vector<Index>& target, Index min, Index max,
                    const std::string& help) {
  add(flag, "N,...", help, as_text(target),
      [=, &target](const std::string& text) { target = parse_sizes(flag, text, min, max); });
}

void Options::alias(const std::string& flag, const std::string& other) {
  const auto it = std::ranges::find(flags_, flag, &Flag::name);
  if (it == flags_.end()) throw std::logic_error("no option " + flag);
  it->aliases.push_back(other);
  it->help += fmt::format(" (or {})", other);
}

Parser::Parser() : app_(std::make_unique<CLI::App>()), options_(new Options(*app_)) {
  app_->set_help_flag();
  app_->allow_config_extras(CLI::config_extras_mode::error);
}

Parser::~Parser() = default;

void Parser::parse(std::span<const std::string> words) {
  try {
    // CLI11 wants the words last first.
    app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    throw UsageError(report::printable(error.what()));
  }
}

}  // namespace experiments::cli
