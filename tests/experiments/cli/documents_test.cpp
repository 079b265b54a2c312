#include "experiments/cli/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <sstream>

#include "experiments/cli/command.h"
#include "experiments/registry.h"
#include "tests/experiments/run.h"

namespace experiments::cli {
namespace {

using test::Folder;
using test::Outcome;
using test::Words;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;

std::string document(const Words& words) {
  const Outcome outcome = test::execute(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  return outcome.out;
}

/// `program` of the PATH with `arguments`.
Outcome run(const std::string& program, Words arguments) {
  return test::in_child([&] {
    arguments.insert(arguments.begin(), program);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    return 127;
  });
}

bool is_installed(const std::string& program) {
  return run("bash", {"-c", "type -P " + program}).code == 0;
}

class Bash : public testing::Test {
 protected:
  Bash() { test::put(folder_ / "script", document({"completion", "bash"})); }

  /// What bash offers for the last of `words`.
  Words offered(const Words& words) const {
    const std::string code =
        "source \"$0\"; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _gradlab; "
        "((${#COMPREPLY[@]} == 0)) || printf '%s\\n' \"${COMPREPLY[@]}\"";
    Words arguments = {"-uc", code, folder_ / "script", "gradlab"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const Outcome outcome = run("bash", arguments);
    EXPECT_EQ(outcome.err, "");
    Words lines;
    for (std::size_t at = 0, end; (end = outcome.out.find('\n', at)) != std::string::npos;
         at = end + 1)
      lines.push_back(outcome.out.substr(at, end - at));
    return lines;
  }

  Folder folder_;
};

TEST_F(Bash, TheScriptIsValid) {
  const Outcome outcome = run("bash", {"-n", folder_ / "script"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(Bash, ShellcheckFindsNothing) {
  if (!is_installed("shellcheck")) GTEST_SKIP() << "no shellcheck";
  const Outcome outcome = run("shellcheck", {"--shell", "bash", folder_ / "script"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

TEST_F(Bash, CompletesCommandsOptionsAndValues) {
  EXPECT_THAT(offered({"sca"}), ElementsAre("scaling"));
  EXPECT_THAT(offered({"scaling", "--ro"}), ElementsAre("--rows"));
  EXPECT_THAT(offered({"--ro"}), ElementsAre("--rows"));
  EXPECT_THAT(offered({"scaling", "--format", ""}), ElementsAre("table", "csv", "json"));
  EXPECT_THAT(offered({"--format", "c"}), ElementsAre("csv"));
  EXPECT_THAT(offered({"info", "--format", "="}), ElementsAre("table", "csv", "json"));
  EXPECT_THAT(offered({"info", "--format", "=", "j"}), ElementsAre("json"));
  EXPECT_THAT(offered({"--seed", "5", "inf"}), ElementsAre("info"));
  EXPECT_THAT(offered({"--seed", "=", "5", "inf"}), ElementsAre("info"));
  EXPECT_THAT(offered({"--out", "info", "grad"}), ElementsAre("gradcheck"));
  EXPECT_THAT(offered({"scaling", "--rows", ""}), IsEmpty());
  EXPECT_THAT(offered({"info", "--ro"}), IsEmpty());
  EXPECT_THAT(offered({"scaling", "sca"}), IsEmpty());
  EXPECT_THAT(offered({"completion", ""}), ElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(offered({"info", "--config", folder_ / "scr"}), ElementsAre(folder_ / "script"));
}

TEST_F(Bash, KnowsEveryCommandAndOption) {
  const Words commands = offered({""});
  for (const Entry& entry : registry()) {
    EXPECT_THAT(commands, Contains(entry.name));
    Words flags = {"--help"};
    Command command(entry);
    for (const Flag& flag : command.flags()) {
      flags.push_back(flag.name);
      if (!flag.choices.empty()) {
        EXPECT_THAT(offered({entry.name, flag.name, ""}), IsSupersetOf(flag.choices));
      }
    }
    EXPECT_THAT(offered({entry.name, "--"}), testing::UnorderedElementsAreArray(flags));
  }
  for (const Document& text : documents()) EXPECT_THAT(commands, Contains(text.name));
}

TEST(Completion, OfOtherShellsIsValidWhereTheyExist) {
  for (const char* shell : {"zsh", "fish"}) {
    const Folder folder;
    const std::string script = document({"completion", shell});
    for (const Entry& entry : registry()) {
      EXPECT_THAT(script, HasSubstr(entry.name));
      Command command(entry);
      for (const Flag& flag : command.flags())
        EXPECT_THAT(script, HasSubstr((shell[0] == 'f' ? "-l " : "'--") + flag.name.substr(2)));
    }
    test::put(folder / "script", script);
    if (!is_installed(shell)) continue;
    const Outcome outcome = run(shell, {"-n", folder / "script"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }
}

/// What a backslash is inside single quotes.
enum class Backslash { plain, escape };

/// Whether every quote of `line` ends in it.
bool is_closed(std::string_view line, Backslash inside) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\' && (quote != '\'' || inside == Backslash::escape)) ++i;
    else if (quote == 0 && (c == '\'' || c == '"')) quote = c;
    else if (c == quote) quote = 0;
  }
  return quote == 0;
}

TEST(Completion, ClosesItsQuotesInEveryLine) {
  EXPECT_FALSE(is_closed("-d 'it\\'", Backslash::escape));
  EXPECT_TRUE(is_closed("-d 'it\\'", Backslash::plain));
  for (const std::string shell : {"zsh", "fish"}) {
    const Backslash inside = shell == "fish" ? Backslash::escape : Backslash::plain;
    std::istringstream script(document({"completion", shell}));
    int lines = 0;
    for (std::string line; std::getline(script, line); ++lines)
      EXPECT_TRUE(is_closed(line, inside)) << shell << ": " << line;
    EXPECT_GT(lines, 50) << shell;
  }
}

TEST(ManPage, NamesEverything) {
  const std::string page = document({"man"});
  for (const Entry& entry : registry()) {
    EXPECT_THAT(page, HasSubstr("\\fB" + std::string(entry.name) + "\\fR"));
    Command command(entry);
    for (const Flag& flag : command.flags()) {
      std::string name;
      for (const char c : flag.name) name += c == '-' ? std::string("\\-") : std::string(1, c);
      EXPECT_THAT(page, HasSubstr("\\fB" + name + "\\fR"));
    }
  }
  for (std::size_t at = 0, end; (end = page.find('\n', at)) != std::string::npos; at = end + 1)
    EXPECT_NE(end, at) << "an empty line";
}

TEST(ManPage, IsFormattedWithoutAWarning) {
  if (!is_installed("groff")) GTEST_SKIP() << "no groff";
  const Folder folder;
  test::put(folder / "gradlab.1", document({"man"}));
  const Outcome outcome = run("groff", {"-man", "-Tutf8", "-k", "-ww", folder / "gradlab.1"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("numbers that are not finite"));
}

TEST(Documents, TakeNothingElse) {
  const struct {
    Words words;
    const char* named;
  } cases[] = {{{"completion"}, "completion: expected one of bash, zsh, fish"},
               {{"completion", "ksh"}, "completion: expected one of bash, zsh, fish, got 'ksh'"},
               {{"completion", "bash", "zsh"}, "completion: unexpected word 'zsh'"},
               {{"completion", "--out", "x"}, "'--out'"},
               {{"man", "scaling"}, "man: unexpected word 'scaling'"},
               {{"man", "--out", "x"}, "man: takes no options, got '--out'"},
               {{"--seed", "1", "man"}, "man: takes no options, got '--seed'"},
               {{"scaling", "man"}, "unexpected word 'man'"},
               {{"completoin"}, "did you mean 'completion'"}};
  for (const auto& c : cases) {
    const Outcome outcome = test::in_process(c.words);
    EXPECT_EQ(outcome.code, 2) << c.named;
    EXPECT_EQ(outcome.out, "") << c.named;
    EXPECT_TRUE(test::is_one_error_line(outcome.err)) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(c.named));
  }
}

TEST(Documents, AreInTheHelp) {
  const std::string help = test::in_process({"--help"}).out;
  for (const Document& text : documents()) {
    EXPECT_THAT(help, HasSubstr(text.name));
    EXPECT_THAT(help, HasSubstr(text.summary));
    EXPECT_EQ(test::in_process({"help", text.name}).out, help);
  }
}

}  // namespace
}  // namespace experiments::cli
