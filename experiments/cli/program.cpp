#include "experiments/cli/program.h"

#include <fmt/format.h>

#include <cstdlib>
#include <new>
#include <optional>
#include <string_view>

#include "autograd/machine/parallel.h"
#include "experiments/cli/command_line.h"
#include "experiments/cli/config_file.h"
#include "experiments/cli/errors.h"
#include "experiments/cli/exit_code.h"
#include "experiments/cli/memory.h"
#include "experiments/cli/output.h"
#include "experiments/cli/progress.h"
#include "experiments/cli/signals.h"
#include "experiments/report/csv.h"
#include "experiments/report/json.h"
#include "experiments/report/table.h"
#include "experiments/report/text.h"

namespace experiments::cli {
namespace {

constexpr std::size_t kMaxMessage = 200;
constexpr std::size_t kMaxNumeric = 600;  // op, module, shapes and ranges take their room

/// "error: ..." in one line of limited length.
void say_error(const World& world, std::string_view message, std::size_t most = kMaxMessage) {
  std::string line = "error: ";
  for (std::string_view rest = message; !rest.empty();) {
    const std::size_t length = std::max<std::size_t>(report::utf8_length(rest), 1);
    const std::string shown = report::printable(rest.substr(0, length));
    if (report::display_width(line) + report::display_width(shown) + 3 > most) {
      line += "...";
      break;
    }
    line += shown;
    rest.remove_prefix(length);
  }
  try {
    write_all(world.err, line + '\n', "stderr");
  } catch (...) {
    return;  // nowhere left to complain
  }
}

std::string_view environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : "";
}

bool wants_color(const Common& common, const World& world) {
  if (common.format != "table" || common.color == "never") return false;
  if (common.color == "always") return true;
  return common.out == "-" && environment("NO_COLOR").empty() && is_capable_terminal(world.out);
}

bool is_utf8_locale() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment(variable);
    if (value.empty()) continue;
    for (const char* name : {"UTF-8", "utf8", "UTF8", "utf-8"})
      if (value.find(name) != std::string_view::npos) return true;
    return false;
  }
  return false;
}

Run run_of(const Common& common, const World& world) {
  Run run;
  run.seed = common.seed;
  run.threads = static_cast<int>(common.threads);
  run.dtype = common.dtype == "f32" ? autograd::DType::f32 : autograd::DType::f64;
  run.quick = common.quick;
  run.color = wants_color(common, world);
  run.unicode = is_utf8_locale();
  run.terminal = is_capable_terminal(world.err);
  return run;
}

std::string rendered(const report::Report& report, Command& command, const Run& run,
                     const std::string& line) {
  const Common& common = command.common();
  if (common.format == "csv") return report::to_csv(report);
  if (common.format == "table")
    return report::to_table(report, {.color = run.color, .wide = common.wide});
  return report::to_json(report, {.version = version(),
                                  .command = line,
                                  .experiment = command.entry().name,
                                  .seed = run.seed,
                                  .threads = run.threads,
                                  .dtype = common.dtype,
                                  .quick = run.quick});
}

int run_command(Command& command, const std::string& line, const World& world) {
  const Common& common = command.common();
  Run run = run_of(common, world);
  command.experiment().validate(run);
  require_memory(command.experiment().bytes_needed(run));
  const Output output(common.out, world.out);
  autograd::set_num_threads(run.threads);
  report::Report report;
  {
    Progress progress(world.err, command.entry().name);
    run.progress = [&progress](double share) {
      throw_if_interrupted();
      progress.show(share);
    };
    run.status = [&progress](const std::string& text) { progress.show(text); };
    run.say = [&progress](const std::string& text) { progress.say(text); };
    run.stream = [&](const std::string& piece) {
      if (common.format != "table" || common.out != "-") return false;
      write_all(world.out, piece, "stdout");
      return true;
    };
    report = command.experiment().run(run);
  }
  throw_if_interrupted();
  const Unhurried writing;
  output.write(rendered(report, command, run, line));
  const std::string why = failure(report);
  if (why.empty()) return kDone;
  say_error(world, why);
  return kCheckFailed;
}

/// run_command() with the options that `words` override: those of `config`, if there is one, and
/// below them those that the experiment supplies.
int run_configured(CommandLine& line, Command& command, std::span<const std::string> words,
                   ConfigFile* config, const World& world) {
  const auto apply = [&] {
    if (config) config->apply(line.commands(), command);
    line.parse(words);
  };
  if (config) apply();
  const std::vector<std::string> under = command.experiment().underlying_options();
  if (!under.empty()) {
    line.set(command, under);
    apply();
  }
  try {
    return run_command(command, command_text(words), world);
  } catch (const UsageError& error) {
    if (!config) throw;
    throw UsageError(config->located(error.what(), command));
  }
}

int dispatch(std::span<const std::string> given, const World& world) {
  require_stack();
  CommandLine line(world.entries, world.default_command);
  std::vector<std::string> words(given.begin(), given.end());
  std::optional<ConfigFile> config;
  if (const std::string path = line.config_without_command(words); !path.empty()) {
    config.emplace(path);
    const std::string command = config->only_command(line.commands(), world.default_command);
    if (command != world.default_command) words.insert(words.begin(), command);
  }
  const CommandLine::Request request = line.parse(words);
  if (!request.command) {
    Output("-", world.out).write(request.text);
    return kDone;
  }
  const std::string& path = request.command->common().config;
  if (!path.empty() && !config) config.emplace(path);
  return run_configured(line, *request.command, words, config ? &*config : nullptr, world);
}

}  // namespace

const char* version() { return GRADLAB_VERSION; }

int run_program(std::span<const std::string> words, const World& world) {
  const auto end = [&world](ExitCode code, std::string_view message) {
    answer_interrupt();
    say_error(world, message);
    return code;
  };
  try {
    return dispatch(words, world);
  } catch (const UsageError& error) {
    return end(kUsage, error.what());
  } catch (const DataError& error) {
    return end(kData, error.what());
  } catch (const IoError& error) {
    return end(kIo, error.what());
  } catch (const ClosedPipe&) {
    return kIo;
  } catch (const autograd::NumericError& error) {
    say_error(world, error.what(), kMaxNumeric);
    return kNumeric;
  } catch (const Interrupted&) {
    return end(kInterrupted, "interrupted");
  } catch (const std::bad_alloc&) {
    return end(kInternal, "out of memory; try smaller sizes");
  } catch (const std::exception& error) {
    return end(kInternal, fmt::format("internal error: {}", error.what()));
  } catch (...) {
    return end(kInternal, "internal error: an exception of an unknown type");
  }
}

}  // namespace experiments::cli
