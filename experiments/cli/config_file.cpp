#include "experiments/cli/config_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "experiments/cli/errors.h"
#include "experiments/cli/signals.h"
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

std::string flag_of(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

/// "seq_len" for "--seq-len" where `like` is written with underscores.
std::string key_of(const std::string& flag, const std::string& like) {
  std::string key = flag.substr(2);
  if (like.find('_') != std::string::npos) std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

Command* find(std::span<const std::unique_ptr<Command>> commands, const std::string& name) {
  for (const auto& command : commands)
    if (command->entry().name == name) return command.get();
  return nullptr;
}

/// Whether `message` has `flag` as a word of its own.
bool names(const std::string& message, const std::string& flag) {
  for (std::size_t at = message.find(flag); at != message.npos; at = message.find(flag, at + 1)) {
    const char next = at + flag.size() < message.size() ? message[at + flag.size()] : ' ';
    if (next != '-' && (next < 'a' || next > 'z')) return true;
  }
  return false;
}

}  // namespace

ConfigFile::ConfigFile(const std::string& path) : shown_(shortened(path)) {
  const std::string text = contents(path);
  if (text.size() > kMaxBytes)
    throw UsageError(fmt::format("{}: expected at most {} bytes", shown_, kMaxBytes));
  try {
    tables_ = parse_toml(text);
  } catch (const TomlError& error) {
    refuse(error.line(), error.what());
  }
}

std::string ConfigFile::place(std::size_t line) const { return fmt::format("{}:{}", shown_, line); }

void ConfigFile::refuse(std::size_t line, const std::string& what) const {
  throw UsageError(fmt::format("{}: {}", place(line), what));
}

void ConfigFile::apply(std::span<const std::unique_ptr<Command>> commands, Command& command) {
  check_tables(commands);
  applied_.clear();
  // Top-level keys first, as a later value takes the place of an earlier one.
  for (const TomlTable& table : tables_) {
    Command* owner = table.name.empty() ? &command : find(commands, table.name);
    for (const Setting& setting : settings(table, *owner, commands)) {
      set(setting, *owner);
      if (owner != &command) continue;
      std::erase_if(applied_, [&](const Setting& other) { return other.flag == setting.flag; });
      applied_.push_back(setting);
    }
  }
}

void ConfigFile::check_tables(std::span<const std::unique_ptr<Command>> commands) const {
  std::vector<std::string> names, seen;
  for (const auto& command : commands) names.emplace_back(command->entry().name);
  for (const TomlTable& table : tables_) {
    if (table.name.empty()) continue;
    if (!find(commands, table.name))
      refuse(table.line,
             fmt::format("unknown table {}{} (tables are named after commands)",
                         report::quote(table.name), report::did_you_mean(table.name, names)));
    if (std::find(seen.begin(), seen.end(), table.name) != seen.end())
      refuse(table.line, fmt::format("expected [{}] once, got it twice", table.name));
    seen.push_back(table.name);
  }
}

std::vector<ConfigFile::Setting> ConfigFile::settings(
    const TomlTable& table, Command& command,
    std::span<const std::unique_ptr<Command>> commands) const {
  std::vector<Setting> out;
  for (const TomlEntry& entry : table.entries) {
    Setting setting{flag_of(entry.key), entry};
    if (setting.flag == "--config")
      refuse(entry.line, "config: expected an option, not the name of another file");
    const Flag* known = find_flag(command.flags(), setting.flag);
    if (!known) {
      std::vector<std::string> keys, owners;
      for (const Flag& flag : command.flags()) keys.push_back(key_of(flag.name, entry.key));
      for (const auto& other : commands)
        if (find_flag(other->flags(), setting.flag)) owners.emplace_back(other->entry().name);
      refuse(entry.line,
             fmt::format("unknown key {} of {}{}", report::quote(entry.key), command.entry().name,
                         owners.empty()
                             ? report::did_you_mean(entry.key, keys)
                             : fmt::format("; it belongs to {}", report::join(owners, ", "))));
    }
    setting.flag = known->name;
    for (const Setting& other : out)
      if (other.flag == setting.flag)
        refuse(entry.line, fmt::format("{}: expected once, got it in line {} too", entry.key,
                                       other.entry.line));
    out.push_back(setting);
  }
  return out;
}

void ConfigFile::set(const Setting& setting, Command& command) const {
  const TomlEntry& entry = setting.entry;
  const Flag& flag = *find_flag(command.flags(), setting.flag);
  const auto expect = [&](const std::string& rule) {
    refuse(entry.line,
           fmt::format("{}: expected {}, got {}", entry.key, rule, report::quote(entry.value)));
  };
  const bool is_boolean = entry.kind == TomlEntry::Kind::boolean;
  if (flag.value.empty()) {
    if (!is_boolean) expect("true or false");
    command.set_toggle(setting.flag, entry.value == "true");
    return;
  }
  if (is_boolean) expect(fmt::format("a value ({})", flag.value));
  if (entry.kind == TomlEntry::Kind::list && !flag.value.ends_with(",..."))
    expect(fmt::format("one value ({}), not a list", flag.value));
  try {
    command.parse(std::vector{setting.flag, entry.value});
  } catch (const UsageError& error) {
    std::string message = error.what();
    if (message.starts_with(setting.flag))
      message = entry.key + message.substr(setting.flag.size());
    refuse(entry.line, message);
  }
}

std::string ConfigFile::located(const std::string& message,
                                std::span<const std::string> words) const {
  std::vector<std::string> places;
  for (const auto& [flag, entry] : applied_) {
    if (std::find(words.begin(), words.end(), flag) != words.end()) continue;
    if (message.starts_with(flag + ':'))
      return fmt::format("{}: {}{}", place(entry.line), entry.key, message.substr(flag.size()));
    if (names(message, flag)) places.push_back(fmt::format("{}: {}", flag, place(entry.line)));
  }
  return places.empty() ? message : fmt::format("{} ({})", message, report::join(places, ", "));
}

}  // namespace experiments::cli
