#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/cli/command.h"
#include "experiments/registry.h"
#include "tests/experiments/run.h"

// Bad invocations of the real program: each one is answered by one line on stderr that names what
// is wrong, exit code 2, nothing on stdout and no file.

namespace experiments::cli {
namespace {

using test::Outcome;
using test::Words;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string shown(const Words& words) {
  std::string text = "gradlab";
  for (const std::string& word : words) text += " [" + word + "]";
  return text;
}

void expect_refused(const Words& words, const Words& named, Outcome (*run)(const Words&)) {
  const test::Folder folder;
  Words all = words;
  all.insert(all.end(), {"--out", folder / "out.csv"});
  // An --out of the case's own would be given twice, and one at the end would be its value.
  for (const std::string& word : words)
    if (word.starts_with("--out") || &word == &words.back()) all = words;
  const Outcome outcome = run(all);
  EXPECT_EQ(outcome.code, 2) << shown(all) << outcome.err;
  EXPECT_EQ(outcome.out, "") << shown(all);
  EXPECT_TRUE(test::is_one_error_line(outcome.err)) << shown(all) << outcome.err;
  for (const std::string& name : named) EXPECT_THAT(outcome.err, HasSubstr(name)) << shown(all);
  EXPECT_THAT(folder.names(), IsEmpty()) << shown(all);
}

/// By the executable.
void expect_refused(const Words& words, const Words& named) {
  expect_refused(words, named, [](const Words& all) { return test::execute(all); });
}

struct Bad {
  Words words;
  Words named;  // what the message has to contain
};

const Bad kBad[] = {
    // names
    {{"scalin"}, {"unknown command 'scalin'", "did you mean 'scaling'"}},
    {{"SCALING"}, {"'SCALING'", "did you mean 'scaling'"}},
    {{"frobnicate"}, {"'frobnicate'", "gradcheck, heads, "}},
    {{""}, {"unknown command ''"}},
    {{"-"}, {"unknown command '-'"}},
    {{"\xff\x1b[31m\n"}, {"'\\xff\\x1b[31m\\n'"}},
    {{std::string(5000, 'x')}, {"xxx..."}},
    {{"scaling", "info"}, {"'info'"}},
    {{"scaling", "5"}, {"'5'"}},
    {{"--"}, {"--"}},
    {{"scaling", "--", "info"}, {"--"}},
    {{"scaling", "++"}, {"++"}},
    {{"frobnicate", "--rows", "5"}, {"unknown command 'frobnicate'"}},
    {{"--roows", "5"}, {"unknown option '--roows'", "did you mean '--rows'"}},
    {{"scaling", "--drop-out", "0.1"}, {"unknown option '--drop-out' of scaling"}},
    {{"scaling", "--op", "add"}, {"unknown option '--op' of scaling", "gradcheck"}},
    {{"--op", "add", "scaling"}, {"unknown option '--op' of scaling"}},
    {{"info", "--rows", "5"}, {"unknown option '--rows' of info"}},
    {{"scaling", "-rows", "5"}, {"'-rows'", "did you mean '--rows'"}},
    {{"scaling", "-r"}, {"'-r'"}},
    {{"scaling", "---rows", "5"}, {"'---rows'"}},
    {{"scaling", "--rows5"}, {"'--rows5'", "did you mean '--rows'"}},
    {{"scaling", "--=5"}, {"'--'"}},
    {{"--" + std::string(5000, 'x')}, {"xxx..."}},
    // values that are missing, too many or given twice
    {{"scaling", "--rows"}, {"--rows", "got none"}},
    {{"scaling", "--rows=", "5"}, {"--rows", "''"}},
    {{"scaling", "--rows", "--quick"}, {"--rows", "got none"}},
    {{"scaling", "--rows", "-h"}, {"--rows", "got none"}},
    {{"--seed"}, {"--seed", "got none"}},
    {{"scaling", "--rows", "5", "--rows", "6"}, {"--rows", "once", "'5'", "'6'"}},
    {{"--seed", "1", "scaling", "--seed=2"}, {"--seed", "once", "'1'", "'2'"}},
    {{"scaling", "--seq-len", "8", "--seq_len", "8"}, {"--seq-len", "once"}},
    {{"--quick", "--quick"}, {"--quick", "once"}},
    {{"--quick=yes"}, {"--quick", "no value", "'yes'"}},
    {{"--quick="}, {"--quick", "no value"}},
    {{"--quick", "yes"}, {"'yes'"}},
    {{"scaling", "--rows", "5", "6"}, {"'6'"}},
    {{"--out", "a", "--out", "b"}, {"--out", "once", "'a'", "'b'"}},
    // names as values
    {{"--format", "xml"}, {"--format", "table, csv, json", "'xml'"}},
    {{"--format", "JSON"}, {"--format", "'JSON'"}},
    {{"--format", ""}, {"--format", "''"}},
    {{"--format="}, {"--format", "''"}},
    {{"--dtype", "f16"}, {"--dtype", "f32, f64", "'f16'"}},
    {{"--dtype", "float"}, {"--dtype", "'float'"}},
    {{"--color", "maybe"}, {"--color", "auto, always, never", "'maybe'"}},
    {{"--out", ""}, {"--out", "''"}},
    {{"--out="}, {"--out", "''"}},
    {{"gradcheck", "--op", "sotfmax"}, {"--op", "'sotfmax'", "did you mean 'softmax'"}},
    {{"gradcheck", "--op", "zzz"}, {"--op", "'zzz'"}},
    {{"gradcheck", "--op", ""}, {"--op", "''"}},
    {{"gradcheck", "--module", "linaer"}, {"--module", "'linaer'", "did you mean 'linear'"}},
    {{"gradcheck", "--dtype", "f32"}, {"--dtype", "f64", "'f32'"}},
    {{"scaling", "--scale", "sqrtdk"}, {"--scale", "'sqrtdk'"}},
    {{"scaling", "--scale", "none,none"}, {"--scale"}},
    {{"scaling", "--scale", "nan"}, {"--scale", "'nan'"}},
    {{"scaling", "--init", "zero"}, {"--init", "'zero'"}},
    // numbers at the edges
    {{"--threads", "0"}, {"--threads", "[1, 1024]", "'0'"}},
    {{"--threads", "1025"}, {"--threads", "'1025'"}},
    {{"--seed", "-1"}, {"--seed", "18446744073709551615", "'-1'"}},
    {{"--seed", "-0"}, {"--seed", "'-0'"}},
    {{"--seed=18446744073709551616"}, {"--seed", "'18446744073709551616'"}},
    {{"scaling", "--rows", "0"}, {"--rows", "[1, 1000000000]", "'0'"}},
    {{"scaling", "--rows", "1000000001"}, {"--rows", "'1000000001'"}},
    {{"scaling", "--seq-len", "1"}, {"--seq-len", "'1'"}},
    {{"scaling", "--dk", "0"}, {"--dk", "'0'"}},
    {{"scaling", "--dk", "4,,8"}, {"--dk", "'4,,8'"}},
    {{"scaling", "--dk", "4:64"}, {"--dk", "'4:64'"}},
    {{"scaling", "--dk", "4:64:x1"}, {"--dk", "'4:64:x1'"}},
    {{"scaling", "--dk", "64:4:x2"}, {"--dk", "'64:4:x2'"}},
    {{"scaling", "--dk", "8,8"}, {"--dk", "8 twice"}},
    {{"scaling", "--dk", "1:65536:+1"}, {"--dk", "1000"}},
    {{"scaling", "--dk", "4;8"}, {"--dk", "'4;8'"}},
    {{"scaling", "--scale", "1e308"},
     {"--scale", "0 or a number of size 1e-30 to 1e+30", "1e+308"}},
    {{"scaling", "--scale", "none,-1e-320"}, {"--scale", "'-1e-320'"}},
    // options that would count for nothing
    {{"scaling", "--n-embd", "64"}, {"--n-embd", "--init torch or gpt2", "64", "unit"}},
    {{"scaling", "--n-embd", "64", "--init", "lesson"}, {"--n-embd", "torch or gpt2", "lesson"}},
    {{"attention", "--text", "a b", "--seq-len", "4"},
     {"--seq-len", "cannot be combined with --text", "4"}},
    {{"attention", "--head", "1"}, {"--head", "--step or --row", "--head 1"}},
    // another spelling of the same
    {{"attention", "--heads", "2", "--n_head", "4"}, {"--n-head", "once", "'2'", "'4'"}},
    {{"heads", "--heads", "2"}, {"unknown option '--heads' of heads", "belongs to attention"}},
    {{"--heads", "2", "heads"}, {"unknown option '--heads' of heads"}},
    // heads and channels that do not fit together
    {{"reach", "--n-embd", "64", "--n-head", "5"}, {"--n-head", "--n-embd", "64", "5"}},
    {{"reach", "--n-embd", "4", "--n-head", "8"}, {"--n-head", "--n-embd", "4", "8"}},
    {{"reach", "--n-head", "0"}, {"--n-head", "'0'"}},
    {{"attention", "--n-embd", "0"}, {"--n-embd", "'0'"}},
    {{"heads", "--n-embd", "64", "--n-head", "5"}, {"--n-head", "--n-embd", "64", "5"}},
    // sizes that no memory holds
    {{"scaling", "--seq-len", "65536", "--dk", "65536", "--n-embd", "65536", "--init", "torch"},
     {"bytes", "80 %"}},
};

TEST(Usage, BadInvocationsAreRefusedInOneLine) {
  static_assert(std::size(kBad) >= 60);
  for (const Bad& bad : kBad) expect_refused(bad.words, bad.named);
}

/// Every numeric option of every command, so that a new one is covered by itself.
TEST(Usage, NoNumericOptionTakesWhatIsNotItsNumber) {
  // In this process, as there are thousands of them.
  const auto here = [](const Words& words) { return test::in_process(words); };
  int tried = 0;
  for (const Entry& entry : registry()) {
    Command command(entry);
    for (const Flag& flag : command.flags()) {
      if (flag.value != "N" && flag.value != "X" && flag.value != "N,...") continue;
      for (const char* value : {"-1", "18446744073709551616", "99999999999999999999",
                                "-99999999999999999999", "nan", "-nan", "inf", "1e400", "", "010",
                                "5x", "+5", " 5", "5 ", "0x10", "1e3", "five", "--5"}) {
        if (flag.value == "X" && std::string(value) == "1e3") continue;
        if (flag.value == "X" && std::string(value).ends_with("9999")) continue;
        if (flag.value == "X" && std::string(value) == "18446744073709551616") continue;
        const std::string quoted = "'" + std::string(value) + "'";
        expect_refused({entry.name, flag.name, value, "--quick"}, {flag.name, quoted}, here);
        ++tried;
      }
      expect_refused({entry.name, flag.name + "=9223372036854775808x", "--quick"}, {flag.name},
                     here);
    }
  }
  EXPECT_GE(tried, 80);
}

TEST(Usage, BothSpellingsAndBothPlacesOfAnOptionWork) {
  const Words plain = {"scaling", "--rows", "160", "--dk",     "4,8", "--seq-len",
                       "8",       "--seed", "3",   "--format", "csv"};
  const Outcome expected = test::in_process(plain);
  ASSERT_EQ(expected.code, 0) << expected.err;
  for (const Words& words :
       {Words{"--rows=160", "--dk=4:8:x2", "--seq_len=8", "--seed=3", "--format=csv"},
        {"--seed", "3", "--rows", "160", "scaling", "--seq_len", "8", "--dk", "4:8:+4", "--format",
         "csv"},
        {"--format", "csv", "--seed", "3", "--rows", "160", "--seq-len", "8", "--dk", "4,8",
         "scaling"}}) {
    const Outcome outcome = test::in_process(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, expected.out) << shown(words);
  }
}

/// "lesson" and "help" are commands as well.
TEST(Usage, ValuesAreNotTakenForCommands) {
  const Words words = {"--init", "lesson",    "--rows", "160",      "--dk",
                       "4",      "--seq-len", "8",      "--format", "csv"};
  Words named = words;
  named.insert(named.begin(), "scaling");
  EXPECT_EQ(test::in_process(words).out, test::in_process(named).out);
  EXPECT_EQ(test::in_process(words).code, 0);
  const Outcome help = test::in_process({"--text", "help", "attention"});
  EXPECT_EQ(help.code, 0) << help.err;
  EXPECT_THAT(help.out, Not(HasSubstr("Example:")));
}

/// nanoGPT's spelling, and one that the lesson would choose.
TEST(Usage, TheNumberOfHeadsHasOneNameAndItsOtherSpellings) {
  const Outcome expected = test::in_process({"attention", "--n-head", "2", "--format", "csv"});
  ASSERT_EQ(expected.code, 0) << expected.err;
  EXPECT_NE(test::in_process({"attention", "--format", "csv"}).out, expected.out);
  for (const Words& words : {Words{"attention", "--n_head", "2"},
                             {"attention", "--n_head=2"},
                             {"attention", "--heads", "2"},
                             {"--heads=2", "attention"},
                             {"--n_head", "2", "attention"}}) {
    Words all = words;
    all.insert(all.end(), {"--format", "csv"});
    const Outcome outcome = test::in_process(all);
    EXPECT_EQ(outcome.out, expected.out) << shown(all) << outcome.err;
  }
}

TEST(Usage, SeedsAreTakenInFull) {
  for (const char* seed : {"0", "9223372036854775808", "18446744073709551615"}) {
    const Outcome outcome = test::in_process({"info", "--seed", seed, "--format", "json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("\"seed\": " + std::string(seed) + ","));
  }
}

TEST(Usage, NoThreadCountFromTheEnvironmentDoesHarm) {
  const Outcome expected = test::execute({"scaling", "--quick", "--threads", "1"});
  ASSERT_EQ(expected.code, 0) << expected.err;
  const auto check = [&](const char* name, const char* value, test::Words words) {
    words.insert(words.begin(), {"scaling", "--quick"});
    const Outcome outcome = test::execute(words, [=] { setenv(name, value, 1); });
    EXPECT_EQ(outcome.code, 0) << name << '=' << value << ' ' << outcome.err;
    EXPECT_EQ(outcome.out, expected.out) << name << '=' << value;
  };
  for (const char* value : {"abc", "0", "-1", "1000", "99999999999", ""}) {
    check("OMP_NUM_THREADS", value, {});
  }
  for (const char* name : {"OMP_THREAD_LIMIT", "OMP_MAX_ACTIVE_LEVELS", "OMP_DYNAMIC"}) {
    for (const char* value : {"0", "1", "true"}) check(name, value, {"--threads", "1024"});
  }
}

}  // namespace
}  // namespace experiments::cli
