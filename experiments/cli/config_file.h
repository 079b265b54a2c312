#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "experiments/cli/command.h"
#include "experiments/cli/toml.h"

namespace experiments::cli {

/// A --config file: option names as keys ("seq-len" or "seq_len"), lists for "4,8", true for a
/// toggle. What stands before the first table is for the command that runs; a table is for the
/// command of its name, and goes before that.
class ConfigFile {
 public:
  /// IoError if `path` cannot be read, UsageError if it is no TOML.
  explicit ConfigFile(const std::string& path);

  /// Sets the options of `command`. The tables of other commands are checked, too. UsageError names
  /// file, line, key and rule: "run.toml:3: rows: expected ..., got '5x'".
  void apply(std::span<const std::unique_ptr<Command>> commands, Command& command);

  /// The message of a check of options, with the place in the file of those that it names, unless
  /// `words` of the command line give them.
  std::string located(const std::string& message, std::span<const std::string> words) const;

 private:
  struct Setting {
    std::string flag;  // "--rows", no alias
    TomlEntry entry;
  };

  void check_tables(std::span<const std::unique_ptr<Command>> commands) const;
  /// The entries of `table` as options of `command`, each known and only once.
  std::vector<Setting> settings(const TomlTable& table, Command& command,
                                std::span<const std::unique_ptr<Command>> commands) const;
  void set(const Setting& setting, Command& command) const;
  [[noreturn]] void refuse(std::size_t line, const std::string& what) const;
  std::string place(std::size_t line) const;

  std::string shown_;
  std::vector<TomlTable> tables_;
  std::vector<Setting> applied_;
};

}  // namespace experiments::cli
