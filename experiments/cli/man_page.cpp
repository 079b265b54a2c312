#include "experiments/cli/man_page.h"

#include <fmt/format.h>

#include "experiments/cli/documents.h"
#include "experiments/cli/program.h"

namespace experiments::cli {
namespace {

/// `text` as it stands, for roff.
std::string plain(std::string_view text) {
  std::string out;
  if (text.starts_with('.') || text.starts_with('\'')) out += "\\&";
  for (const char c : text) {
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else if (c == '\'') out += "\\(aq";
    else if (c == '^') out += "\\(ha";
    else if (c == '~') out += "\\(ti";
    else if (c == '`') out += "\\(ga";
    else out += c;
  }
  return out;
}

std::string tagged(std::string_view name, std::string_view value, std::string_view text) {
  const std::string after = value.empty() ? "" : fmt::format(" \\fI{}\\fR", plain(value));
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", plain(name), after, plain(text));
}

std::string items(Command& command, bool common) {
  std::string out;
  for (const Flag& flag : command.flags())
    if ((flag.heading == kCommonHeading) == common) out += tagged(flag.name, flag.value, flag.help);
  return out;
}

std::string example(std::string_view line) {
  return fmt::format(".PP\n.nf\n.RS\n{}\n.RE\n.fi\n", plain(line));
}

constexpr const char* kConfiguration = R"(.SH CONFIGURATION FILE
\fB\-\-config\fR \fIFILE\fR reads options from a TOML file. Keys are option names, with
dashes or underscores. Keys before the first table apply to the command that runs, a table to the
command of its name. Options on the command line take precedence over the file.
.PP
.nf
.RS
seed = 7
format = "csv"
.sp
[scaling]
dk = [4, 64]          # or "4:64:x2"
rows = 8_000
.RE
.fi
.SH EXIT STATUS
)";

constexpr struct {
  const char* code;
  const char* meaning;
} kCodes[] = {{"0", "done"},
              {"1", "a check of the experiment failed"},
              {"2", "usage or configuration"},
              {"3", "input data"},
              {"4", "input or output"},
              {"5", "numbers that are not finite"},
              {"70", "internal error"},
              {"130", "interrupted"}};

}  // namespace

std::string man_page(Commands commands, const std::string& default_command, const std::string&) {
  std::string out = fmt::format(
      ".TH GRADLAB 1 \"\" \"gradlab {}\" \"User Commands\"\n"
      ".SH NAME\ngradlab \\- a small automatic differentiation engine, and experiments on "
      "attention\n"
      ".SH SYNOPSIS\n.B gradlab\n[\\fICOMMAND\\fR] [\\fIOPTIONS\\fR]\n"
      ".SH COMMANDS\nWithout a command, \\fB{}\\fR runs.\n",
      version(), plain(default_command));
  std::string options, examples;
  for (const auto& command : commands) {
    const Entry& entry = command->entry();
    out += tagged(entry.name, "", entry.summary);
    const std::string own = items(*command, false);
    if (!own.empty()) options += fmt::format(".SH OPTIONS OF {}\n{}", plain(entry.name), own);
    examples += example(entry.example);
  }
  for (const Document& document : documents()) out += tagged(document.name, "", document.summary);
  out += ".SH OPTIONS OF EVERY COMMAND\n";
  if (!commands.empty()) out += items(*commands[0], true);
  out += tagged("--help", "", "the options of the command, or the commands");
  out += tagged("--version", "", "the version");
  out += options + kConfiguration;
  for (const auto& [code, meaning] : kCodes) out += tagged(code, "", meaning);
  return out + ".SH EXAMPLES\n" + examples;
}

}  // namespace experiments::cli
