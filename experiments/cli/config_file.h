#pragma once

#include <string>
#include <vector>

#include "experiments/cli/command.h"

namespace experiments::cli {

/// A key of a --config file, with its value as a command line would have it.
struct ConfigEntry {
  enum class Kind { value, boolean, list };
  std::string key;
  std::string value;  // of a list: its items, joined by commas
  Kind kind = Kind::value;
  std::size_t line = 0;
};

struct ConfigTable {
  std::string name;  // "" for what stands before the first table
  std::size_t line = 0;
  std::vector<ConfigEntry> entries = {};  // in the order of their lines
};

/// A --config file in TOML: option names as keys ("seq-len" or "seq_len"), lists for "4,8", true
/// for a toggle. Keys before the first table apply to the command that runs; a table applies to
/// the command of its name, and takes precedence.
class ConfigFile {
 public:
  /// IoError if `path` cannot be read, UsageError if it is not TOML.
  explicit ConfigFile(const std::string& path);

  /// What runs where no command is typed: `default_command`, unless the file has a table for
  /// another command alone. UsageError if it has several, and none for that.
  std::string only_command(Commands commands, const std::string& default_command) const;

  /// Sets the options of `command`. The tables of other commands are checked, too. UsageError names
  /// file, line, key and rule: "run.toml:3: rows: expected ..., got '5x'". A file that sets
  /// options of other commands alone is one, too.
  void apply(Commands commands, Command& command);

  /// The message of a failed check of options, with the places in the file of the options that it
  /// names, unless the command line sets them.
  std::string located(const std::string& message, Command& command) const;

 private:
  struct Setting {
    Flag flag;
    ConfigEntry entry;
  };

  void check_tables(Commands commands) const;
  void check_used(const std::string& command) const;
  std::vector<std::string> commands_named() const;  // by tables that set something
  /// The entries of `table` as options of `command`, each known and only once.
  std::vector<Setting> settings(const ConfigTable& table, Command& command,
                                Commands commands) const;
  void set(const Setting& setting, Command& command) const;
  [[noreturn]] void refuse(std::size_t line, const std::string& what) const;
  std::string place(std::size_t line) const;

  std::string shown_;
  std::vector<ConfigTable> tables_;
  std::vector<Setting> applied_;
};

}  // namespace experiments::cli
