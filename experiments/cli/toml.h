#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace experiments::cli {

/// A key and its value as the text that a command line would have.
struct TomlEntry {
  enum class Kind { text, number, boolean, list };
  std::string key;
  std::string value;  // of a list: its items with commas between
  Kind kind = Kind::text;
  std::size_t line = 0;
};

struct TomlTable {
  std::string name;  // "" for what stands before the first table
  std::size_t line = 0;
  std::vector<TomlEntry> entries;
};

/// What is wrong with a TOML text, and in which line.
class TomlError : public std::runtime_error {
 public:
  TomlError(std::size_t line, const std::string& what) : std::runtime_error(what), line_(line) {}
  std::size_t line() const { return line_; }

 private:
  std::size_t line_;
};

/// The part of TOML that options need, and TomlError for the rest: comments, bare keys, strings of
/// one line, decimal numbers, booleans, lists of these and tables of one level. Keys and tables may
/// repeat here. The first table is the one without a name.
///
/// CLI11's own reader cannot do it: whatever it does not understand, up to a whole JSON file, it
/// passes over.
std::vector<TomlTable> parse_toml(std::string_view text);

}  // namespace experiments::cli
