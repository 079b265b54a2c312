#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/array/shape.h"

namespace CLI {
class App;
}

namespace experiments::cli {

using autograd::Index;

/// A mistake on the command line: one line that names option, value and rule. Exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One flag, for help and for telling an option from a value.
struct Flag {
  std::string name;                       // "--rows"
  std::string value;                      // "N"; "" for a toggle
  std::string help;                       // what it does, with its default
  std::string heading;                    // the part of the help that it is shown in
  std::vector<std::string> choices = {};  // all values there are, where they are names
  std::vector<std::string> aliases = {};  // other spellings: "--heads"
};

/// The flag of that name or alias; nullptr for none.
const Flag* find_flag(std::span<const Flag> flags, std::string_view name);

/// The flags of one command. Values are parsed by std::from_chars, whole and in range or refused
/// ("--rows: expected a whole number in [1, 1000000000], got '5x'"): no wrapping, clamping, octal,
/// NaN or infinity. The target keeps its initial value as the default that help shows.
class Options {
 public:
  explicit Options(CLI::App& app) : app_(app) {}
  void integer(const std::string& flag, Index& target, Index min, Index max,
               const std::string& help);
  /// A target that stays empty unless the flag is given, for flags that not every run can heed;
  /// `help` names the default.
  void integer(const std::string& flag, std::optional<Index>& target, Index min, Index max,
               const std::string& help);
  /// Any 64-bit number without a sign.
  void natural(const std::string& flag, std::uint64_t& target, const std::string& help);
  void number(const std::string& flag, double& target, double min, double max,
              const std::string& help);
  /// Anything but the empty string; `value` is what help calls it.
  void text(const std::string& flag, std::string& target, const std::string& help,
            const std::string& value = "TEXT");
  void choice(const std::string& flag, std::string& target, std::vector<std::string> allowed,
              const std::string& help);
  void toggle(const std::string& flag, bool& target, const std::string& help);
  /// A toggle on or off; the command line can only turn it on.
  void set_toggle(const std::string& flag, bool on);
  /// Comma-separated choices, each at most once.
  void choices(const std::string& flag, std::vector<std::string>& target,
               std::vector<std::string> allowed, const std::string& help);
  /// Sizes: "4,8,64", or a range "4:1024:x2" (times 2) or "4:64:+4"; parts may be mixed.
  void sizes(const std::string& flag, std::vector<Index>& target, Index min, Index max,
             const std::string& help);

  /// Another spelling of a flag that was added before.
  void alias(const std::string& flag, const std::string& other);

  /// The heading in the help of the flags that follow.
  void heading(const std::string& text) { heading_ = text; }
  const std::vector<Flag>& flags() const { return flags_; }

 private:
  using Take = std::function<void(const std::string& text)>;
  void add(const std::string& flag, const std::string& value, const std::string& help,
           const std::string& initial, Take take, std::vector<std::string> names = {});

  CLI::App& app_;
  std::string heading_ = "Options";
  std::vector<Flag> flags_;
  std::map<std::string, bool*> toggles_;
};

/// The command line of one command: the flags that were added to options(), and their values once
/// parse() has run.
class Parser {
 public:
  Parser();
  ~Parser();
  Options& options() { return *options_; }
  /// `words` are flags in their full spelling, no aliases, each followed by its value, as
  /// arranged() makes them.
  void parse(std::span<const std::string> words);

 private:
  std::unique_ptr<CLI::App> app_;
  std::unique_ptr<Options> options_;
};

}  // namespace experiments::cli
