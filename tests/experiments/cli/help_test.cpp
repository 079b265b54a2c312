#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <wordexp.h>

#include <algorithm>
#include <string_view>

#include "autograd/machine/sanitizer.h"
#include "experiments/cli/command.h"
#include "experiments/cli/program.h"
#include "experiments/registry.h"
#include "experiments/report/text.h"
#include "tests/experiments/run.h"

namespace experiments::cli {
namespace {

using test::Outcome;
using test::Words;
using testing::HasSubstr;
using testing::StartsWith;

void expect_narrow(const std::string& text) {
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != text.npos; begin = end + 1)
    EXPECT_LE(report::display_width(text.substr(begin, end - begin)), 100u) << text;
}

TEST(Help, OfEveryCommandBeginsWithAnExampleAndNamesEveryOption) {
  for (const Entry& entry : registry()) {
    for (const Words& words : {Words{entry.name, "--help"},
                               {"--help", entry.name},
                               {entry.name, "-h"},
                               {"help", entry.name}}) {
      const Outcome outcome = test::in_process(words);
      EXPECT_EQ(outcome.code, 0);
      EXPECT_EQ(outcome.err, "");
      EXPECT_THAT(outcome.out, StartsWith("Example: gradlab " + std::string(entry.name)));
      Command command(entry);
      for (const Flag& flag : command.flags())
        EXPECT_THAT(outcome.out, HasSubstr("  " + flag.name));
      expect_narrow(outcome.out);
    }
  }
}

/// "tokens of random input", not "length": a number without a unit tells nothing.
TEST(Help, NamesTheUnitOfEveryNumber) {
  constexpr const char* kUnits[] = {"channels",       "heads",
                                    "head ",          "sequence length",
                                    "position",       "size d",
                                    "tokens",         "queries",
                                    "query",          "keys",
                                    "positions",      "rows",
                                    "scores",         "pairs",
                                    "runs",           "trials",
                                    "threads",        "the input position",
                                    "head of",        "the size d",
                                    "random numbers", "sizes s",
                                    "probability"};
  for (const char* name : {"attention", "gradcheck", "heads", "info", "lesson", "overflow", "reach",
                           "scaling", "variance"}) {
    const auto entry = std::ranges::find(registry(), std::string_view(name), &Entry::name);
    ASSERT_NE(entry, registry().end()) << name;
    Command command(*entry);
    for (const Flag& flag : command.flags()) {
      if (flag.value != "N" && flag.value != "N,..." && flag.value != "X") continue;
      EXPECT_TRUE(std::ranges::any_of(
          kUnits, [&](const char* unit) { return flag.help.find(unit) != std::string::npos; }))
          << name << ' ' << flag.name << ": " << flag.help;
    }
  }
}

TEST(Help, OfTheProgramListsTheCommands) {
  for (const Words& words : {Words{"--help"}, {"-h"}, {"help"}}) {
    const Outcome outcome = test::execute(words);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_THAT(outcome.out, StartsWith("Example: gradlab scaling"));
    for (const Entry& entry : registry()) EXPECT_THAT(outcome.out, HasSubstr(entry.summary));
    expect_narrow(outcome.out);
  }
}

/// What examples that read something read.
void prepare(const std::string& command, const test::Folder& folder) {
  if (command != "convert" && command != "eval" && command != "sample") return;
  const std::string run = folder / "out";
  const Outcome trained =
      test::in_process({"train", "--out-dir", run, "--max-iters", "1", "--n-head", "12", "--n-embd",
                        "12", "--eval-iters", "1"});
  EXPECT_EQ(trained.code, 0) << trained.err;
  if (command != "convert") return;
  const Outcome converted = test::in_process(
      {"convert", "--to", "gpt2", "--input", run, "--output", folder / "gpt2.safetensors"});
  EXPECT_EQ(converted.code, 0) << converted.err;
}

TEST(Help, EveryExampleIsAGoodCommandLine) {
#if GRADLAB_ASAN
  GTEST_SKIP() << "takes minutes under the sanitizers, where each command has smaller tests";
#endif
  for (const Entry& entry : registry()) {
    const std::string example = entry.example;
    ASSERT_THAT(example, StartsWith("gradlab "));
    Words words;
    wordexp_t shell;
    ASSERT_EQ(wordexp(example.c_str() + 8, &shell, 0), 0) << example;
    words.assign(shell.we_wordv, shell.we_wordv + shell.we_wordc);
    wordfree(&shell);
    words.push_back("--quick");
    const test::Folder folder;  // for what it writes
    prepare(entry.name, folder);
    const Outcome outcome = test::execute(words, [&folder] {
      if (chdir(folder.path().c_str()) != 0) _exit(99);
    });
    EXPECT_EQ(outcome.code, 0) << example << outcome.err;
    EXPECT_NE(outcome.out, "");
  }
}

TEST(Help, CommandsAreAlphabetical) {
  for (std::size_t i = 1; i < registry().size(); ++i)
    EXPECT_LT(std::string(registry()[i - 1].name), registry()[i].name);
}

TEST(Help, VersionIsOneLine) {
  EXPECT_EQ(test::execute({"--version"}).out, "gradlab " + std::string(version()) + "\n");
}

}  // namespace
}  // namespace experiments::cli
