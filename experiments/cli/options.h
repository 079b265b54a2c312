#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autograd/array/shape.h"
#include "experiments/cli/errors.h"
#include "nn/scale.h"

// A thin layer over CLI11, which takes ten seconds to compile: only options.cpp and
// command_line.cpp include it.

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace experiments::cli {

using autograd::Index;

/// What help, completion and the manual say about an option.
struct Flag {
  std::string name;                       // "--rows"
  std::string value;                      // "N"; "" for a toggle
  std::string help;                       // what it does, with its default and other spellings
  std::string heading;                    // the part of the help that it is shown in
  std::vector<std::string> spellings;     // all of its names
  std::vector<std::string> choices = {};  // all possible values, if they are names
};

Flag flag_of(const CLI::Option& option);

/// The options of one command. `names` is "--rows", or several spellings: "--n-head,--heads";
/// underscores may stand for the dashes within a name. Values are parsed by std::from_chars, whole
/// and in range or refused ("--rows: expected a whole number in [1, 1000000000], got '5x'"): no
/// wrapping, clamping, octal, NaN or infinity. The target keeps its initial value as the default
/// that help shows.
class Options {
 public:
  explicit Options(CLI::App& app) : app_(app) {}
  void integer(const std::string& names, Index& target, Index min, Index max,
               const std::string& help);
  /// A target that stays empty unless the option is given, for options that some runs cannot use;
  /// `help` names the default.
  void integer(const std::string& names, std::optional<Index>& target, Index min, Index max,
               const std::string& help);
  /// Any 64-bit number without a sign.
  void natural(const std::string& names, std::uint64_t& target, const std::string& help);
  void number(const std::string& names, double& target, double min, double max,
              const std::string& help);
  void number(const std::string& names, std::optional<double>& target, double min, double max,
              const std::string& help);  // as for integers
  /// Anything but the empty string; `value` is what help calls it.
  void text(const std::string& names, std::string& target, const std::string& help,
            const std::string& value = "TEXT");
  void choice(const std::string& names, std::string& target, std::vector<std::string> allowed,
              const std::string& help);
  /// The command line can only turn it on; --config can turn it off too.
  void toggle(const std::string& names, bool& target, const std::string& help);
  /// Comma-separated choices, each at most once.
  void choices(const std::string& names, std::vector<std::string>& target,
               std::vector<std::string> allowed, const std::string& help);
  /// Sizes: "4,8,64", or a range "4:1024:x2" (times 2) or "4:64:+4"; parts may be mixed.
  void sizes(const std::string& names, std::vector<Index>& target, Index min, Index max,
             const std::string& help);
  /// The factor of the scores: none, sqrt_dk, dk or a number.
  void scale(const std::string& names, nn::Scale& target, const std::string& help);
  /// Comma-separated scales, each at most once.
  void scales(const std::string& names, std::vector<nn::Scale>& target, const std::string& help);

  /// The heading in the help for the options that follow.
  void heading(const std::string& text) { heading_ = text; }

  std::vector<Flag> flags() const;
  /// Finds an option by any of its spellings.
  std::optional<Flag> find(const std::string& name) const;
  /// Sets an option as the command line would, a toggle by "true" or "false".
  void set(const std::string& name, const std::string& text);
  /// Whether the words that were parsed last set it.
  bool is_given(const std::string& name) const;

 private:
  using Take = std::function<void(const std::string& flag, const std::string& text)>;
  /// `choices` are names joined by commas; "" if any text is allowed.
  void add(const std::string& names, const std::string& value, const std::string& help,
           const std::string& initial, Take take, const std::string& choices = "");

  CLI::App& app_;
  std::string heading_ = "Options";
};

/// A command line of options alone; a command's is part of CommandLine.
class Parser {
 public:
  explicit Parser(const std::string& name = "");
  Options& options() { return options_; }
  const std::shared_ptr<CLI::App>& app() const { return app_; }
  void parse(std::span<const std::string> words);

 private:
  std::shared_ptr<CLI::App> app_;
  Options options_;
};

}  // namespace experiments::cli
