#include "experiments/cli/config_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "experiments/cli/errors.h"
#include "experiments/cli/signals.h"
#include "experiments/report/numbers.h"
#include "experiments/report/text.h"

namespace experiments::cli {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20;

std::string contents(const std::string& path) {
  const auto fail = [&path](int error) {
    throw_if_interrupted();
    throw IoError(fmt::format("--config: cannot read {}: {}", report::quote(path, 100),
                              std::strerror(error)));
  };
  const int fd = open(path.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) fail(errno);
  std::string text;
  char buffer[4096];
  ssize_t count = 0;
  while (text.size() <= kMaxBytes && (count = read(fd, buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<std::size_t>(count));
  const int error = errno;
  close(fd);
  if (count < 0) fail(error);
  return text;
}

/// The end of a long path, for messages.
std::string shortened(const std::string& path) {
  constexpr std::size_t kMax = 60;
  const std::string shown = report::printable(path);
  if (report::display_width(shown) <= kMax) return shown;
  const std::size_t slash = shown.find_last_of('/');
  const std::string name = slash == std::string::npos ? shown : shown.substr(slash + 1);
  return report::fitted(name, std::min(report::display_width(name), kMax), "...");
}

/// Whether `message` has `flag` as a whole word.
bool names(const std::string& message, const std::string& flag) {
  for (std::size_t at = message.find(flag); at != message.npos; at = message.find(flag, at + 1)) {
    const char next = at + flag.size() < message.size() ? message[at + flag.size()] : ' ';
    if (next != '-' && (next < 'a' || next > 'z')) return true;
  }
  return false;
}

/// What is wrong in a line of the file.
struct BadLine {
  std::size_t line;
  std::string what;
};

/// A string, a number or a truth value as a command line would have it.
std::string scalar(const std::string& key, const toml::node& node) {
  const std::size_t line = node.source().begin.line;
  if (const auto* integer = node.as_integer()) return fmt::format("{}", integer->get());
  if (const auto* number = node.as_floating_point()) return report::shortest(number->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  const auto* text = node.as_string();
  if (!text)
    throw BadLine{line, key + ": expected a number, a string, true, false or a list of these"};
  if (text->get().find('\0') != std::string::npos)
    throw BadLine{line, key + ": expected a string without \\0"};
  return text->get();
}

ConfigEntry entry_of(const toml::key& key, const toml::node& node) {
  ConfigEntry entry{std::string(key.str()), "", ConfigEntry::Kind::value, key.source().begin.line};
  const toml::array* list = node.as_array();
  if (!list) {
    entry.value = scalar(entry.key, node);
    if (node.is_boolean()) entry.kind = ConfigEntry::Kind::boolean;
    return entry;
  }
  entry.kind = ConfigEntry::Kind::list;
  std::vector<std::string> items;
  for (const toml::node& item : *list) {
    items.push_back(scalar(entry.key, item));
    if (items.back().find(',') != std::string::npos)
      throw BadLine{item.source().begin.line,
                    fmt::format("{}: expected list items without a comma, got {}", entry.key,
                                report::quote(items.back()))};
  }
  entry.value = report::join(items, ",");
  return entry;
}

/// The entries of `table` that are not tables.
ConfigTable table_of(std::string name, std::size_t line, const toml::table& table) {
  ConfigTable out{std::move(name), line};
  for (const auto& [key, node] : table) {
    if (!node.is_table()) out.entries.push_back(entry_of(key, node));
    else if (!out.name.empty())
      throw BadLine{key.source().begin.line,
                    fmt::format("[{}.{}]: expected no table within a table", out.name, key.str())};
  }
  std::ranges::sort(out.entries, {}, &ConfigEntry::line);
  return out;
}

std::vector<ConfigTable> parsed(const std::string& text) try {
  const toml::table root = toml::parse(text);
  std::vector<ConfigTable> tables = {table_of("", 1, root)};
  for (const auto& [key, node] : root)
    if (const toml::table* table = node.as_table())
      tables.push_back(table_of(std::string(key.str()), key.source().begin.line, *table));
  return tables;
} catch (const toml::parse_error& error) {
  constexpr std::string_view kPrefix = "Error while parsing ";
  std::string_view what = error.description();
  if (what.starts_with(kPrefix)) what.remove_prefix(kPrefix.size());
  throw BadLine{error.source().begin.line, fmt::format("not TOML: {}", what)};
}

}  // namespace

ConfigFile::ConfigFile(const std::string& path) : shown_(shortened(path)) {
  const std::string text = contents(path);
  if (text.size() > kMaxBytes)
    throw UsageError(fmt::format("{}: expected at most {} bytes", shown_, kMaxBytes));
  try {
    tables_ = parsed(text);
  } catch (const BadLine& bad) {
    refuse(bad.line, bad.what);
  }
}

std::string ConfigFile::place(std::size_t line) const { return fmt::format("{}:{}", shown_, line); }

void ConfigFile::refuse(std::size_t line, const std::string& what) const {
  throw UsageError(fmt::format("{}: {}", place(line), what));
}

void ConfigFile::apply(Commands commands, Command& command) {
  check_tables(commands);
  applied_.clear();
  // Top-level keys first, as a later value takes the place of an earlier one.
  for (const ConfigTable& table : tables_) {
    Command* owner = table.name.empty() ? &command : find_command(commands, table.name);
    for (const Setting& setting : settings(table, *owner, commands)) {
      set(setting, *owner);
      if (owner != &command) continue;
      std::erase_if(applied_,
                    [&](const Setting& other) { return other.flag.name == setting.flag.name; });
      applied_.push_back(setting);
    }
  }
  check_used(command.entry().name);
}

std::vector<std::string> ConfigFile::commands_named() const {
  std::vector<std::string> names;
  for (const ConfigTable& table : tables_)
    if (!table.name.empty() && !table.entries.empty()) names.push_back(table.name);
  return names;
}

std::string ConfigFile::only_command(Commands commands, const std::string& default_command) const {
  check_tables(commands);
  const std::vector<std::string> names = commands_named();
  if (names.empty() || std::ranges::count(names, default_command) > 0) return default_command;
  if (names.size() == 1) return names[0];
  throw UsageError(fmt::format("{}: expected a command to be typed, as there are tables of {}",
                               shown_, report::join(names, ", ")));
}

void ConfigFile::check_used(const std::string& command) const {
  const std::vector<std::string> names = commands_named();
  const bool has_common = !tables_.front().entries.empty();
  if (names.empty() || has_common || std::ranges::count(names, command) > 0) return;
  throw UsageError(fmt::format("{}: expected a table [{}], as that is what runs; there {} {}",
                               shown_, command, names.size() == 1 ? "is" : "are",
                               report::join(names, ", ")));
}

void ConfigFile::check_tables(Commands commands) const {
  std::vector<std::string> names;
  for (const auto& command : commands) names.emplace_back(command->entry().name);
  for (const ConfigTable& table : tables_) {
    if (table.name.empty()) continue;
    if (!find_command(commands, table.name))
      refuse(table.line,
             fmt::format("unknown table {}{} (tables are named after commands)",
                         report::quote(table.name), report::did_you_mean(table.name, names)));
  }
}

std::vector<ConfigFile::Setting> ConfigFile::settings(const ConfigTable& table, Command& command,
                                                      Commands commands) const {
  std::vector<Setting> out;
  for (const ConfigEntry& entry : table.entries) {
    const std::string name = "--" + entry.key;
    if (name == "--config")
      refuse(entry.line, "config: expected an option, as a file cannot read another file");
    const std::optional<Flag> flag = command.options().find(name);
    if (!flag)
      refuse(entry.line,
             fmt::format("unknown key {} of {}{}", report::quote(entry.key), command.entry().name,
                         option_hint(commands, command, name, 2)));
    for (const Setting& other : out)
      if (other.flag.name == flag->name)
        refuse(entry.line, fmt::format("{}: expected once, but line {} has it too", entry.key,
                                       other.entry.line));
    out.push_back({*flag, entry});
  }
  return out;
}

void ConfigFile::set(const Setting& setting, Command& command) const {
  const auto& [flag, entry] = setting;
  const auto expect = [&, &entry = entry](const std::string& rule) {
    refuse(entry.line,
           fmt::format("{}: expected {}, got {}", entry.key, rule, report::quote(entry.value)));
  };
  const bool is_boolean = entry.kind == ConfigEntry::Kind::boolean;
  if (flag.value.empty() && !is_boolean) expect("true or false");
  if (!flag.value.empty() && is_boolean) expect(fmt::format("a value ({})", flag.value));
  if (entry.kind == ConfigEntry::Kind::list && !flag.value.ends_with(",..."))
    expect(fmt::format("one value ({}), not a list", flag.value));
  try {
    command.options().set(flag.name, entry.value);
  } catch (const UsageError& error) {
    std::string message = error.what();
    if (message.starts_with(flag.name)) message = entry.key + message.substr(flag.name.size());
    refuse(entry.line, message);
  }
}

std::string ConfigFile::located(const std::string& message, Command& command) const {
  std::vector<std::string> places;
  for (const auto& [flag, entry] : applied_) {
    const std::string& name = flag.name;
    if (command.options().is_given(name)) continue;
    if (message.starts_with(name + ':'))
      return fmt::format("{}: {}{}", place(entry.line), entry.key, message.substr(name.size()));
    if (names(message, name)) places.push_back(fmt::format("{}: {}", name, place(entry.line)));
  }
  return places.empty() ? message : fmt::format("{} ({})", message, report::join(places, ", "));
}

}  // namespace experiments::cli
