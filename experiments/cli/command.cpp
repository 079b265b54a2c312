#include "experiments/cli/command.h"

#include <fmt/format.h>

#include <algorithm>

#include "autograd/machine/parallel.h"
#include "experiments/report/text.h"

namespace experiments::cli {
namespace {

constexpr Index kMaxThreads = 1024;

void add_common(Options& options, Common& common) {
  common.threads = std::clamp<Index>(autograd::num_threads(), 1, kMaxThreads);
  options.heading(kCommonHeading);
  options.natural("--seed", common.seed, "seed of all random numbers");
  options.integer("--threads", common.threads, 1, kMaxThreads,
                  "number of threads; the results do not depend on it");
  options.choice("--dtype", common.dtype, {"f32", "f64"}, "floating-point type");
  options.choice("--format", common.format, {"table", "csv", "json"}, "output format");
  options.text("--out", common.out, "file for the output; - is stdout", "FILE");
  options.toggle("--wide", common.wide, "show every column of the table and every check");
  options.toggle("--quick", common.quick, "run a smaller version that still shows the point");
  options.choice("--color", common.color, {"auto", "always", "never"},
                 "use colours; auto: on a terminal unless NO_COLOR is set");
  options.text("--config", common.config,
               "read options from a TOML file; the command line takes precedence", "FILE");
}

}  // namespace

Command::Command(const Entry& entry)
    : entry_(entry), experiment_(entry.make()), parser_(entry.name) {
  options().heading(fmt::format("Options of {}", entry.name));
  experiment_->add_options(options());
  common_.dtype = autograd::name(experiment_->default_dtype());
  add_common(options(), common_);
}

Command* find_command(Commands commands, std::string_view name) {
  const auto it = std::ranges::find(commands, name, [](const auto& c) { return c->entry().name; });
  return it == commands.end() ? nullptr : it->get();
}

std::string option_hint(Commands commands, Command& command, const std::string& name,
                        std::size_t shown) {
  std::vector<std::string> owners, names;
  if (shown == 0) names = {"--help", "--version"};
  for (const auto& other : commands)
    if (other->options().find(name)) owners.emplace_back(other->entry().name);
  if (!owners.empty()) return fmt::format("; it belongs to {}", report::join(owners, ", "));
  for (const Flag& flag : command.flags())
    names.insert(names.end(), flag.spellings.begin(), flag.spellings.end());
  for (std::string& known : names) known.erase(0, shown);
  return report::did_you_mean(std::string_view(name).substr(shown), names);
}

}  // namespace experiments::cli
