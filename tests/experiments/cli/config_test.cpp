#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <locale>
#include <nlohmann/json.hpp>

#include "tests/experiments/run.h"

// --config: what a file may say, and how what it may not say is refused.

namespace experiments::cli {
namespace {

using test::Folder;
using test::Outcome;
using test::Words;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kHuge(1 << 20, '#');

struct Bad {
  std::string text;
  Words words;  // the command line besides --config
  Words named;  // what the message has to contain; the first at its beginning, after the file
};

const Bad kBad[] = {
    // names
    {"n_haed = 4\n", {"heads"}, {":1: ", "unknown key 'n_haed' of heads", "'n_head'?"}},
    {"seed = 1\n\nroows = 5\n", {"scaling"}, {":3: ", "'roows' of scaling", "'rows'?"}},
    {"seq-lne = 5", {}, {":1: ", "'seq-lne' of scaling", "'seq-len'?"}},
    {"trials = 5", {"scaling"}, {":1: ", "'trials' of scaling", "belongs to gradcheck"}},
    {"help = true", {}, {":1: ", "unknown key 'help'"}},
    {"version = true", {}, {":1: ", "unknown key 'version'"}},
    {"config = \"other.toml\"", {}, {":1: config: ", "another file"}},
    {"[scalign]\n", {}, {":1: ", "unknown table 'scalign'", "'scaling'?"}},
    {"[heads]\nrows = 5", {"scaling"}, {":2: ", "unknown key 'rows' of heads"}},
    {"[info]\n[info]\n", {}, {":2: not TOML: ", "redefine existing table 'info'"}},
    {"rows = 160\nrows = 160", {}, {":2: not TOML: ", "redefine existing integer 'rows'"}},
    {"seq_len = 8\nseq-len = 8", {}, {":2: seq-len: ", "once"}},
    // values, by the rules of the command line
    {"\n\nrows = \"5x\"\n", {}, {":3: rows: ", "a whole number in [1, 1000000000], got '5x'"}},
    {"rows = 0", {}, {":1: rows: ", "got '0'"}},
    {"rows = -1", {}, {":1: rows: ", "got '-1'"}},
    {"rows = 1e3", {}, {":1: rows: ", "got '1000.0'"}},
    {"rows = 99999999999999999999", {}, {":1: not TOML: ", "'99999999999999999999'"}},
    {"rows = [160, 320]", {}, {":1: rows: ", "one value (N), not a list", "'160,320'"}},
    {"rows = true", {}, {":1: rows: ", "a value (N)", "'true'"}},
    {"rows = \"\"", {}, {":1: rows: ", "got ''"}},
    {"seed = -1", {}, {":1: seed: ", "got '-1'"}},
    {"seed = 18446744073709551616", {}, {":1: not TOML: ", "'18446744073709551616'"}},
    {"seed = \"18446744073709551616\"", {}, {":1: seed: ", "'18446744073709551616'"}},
    {"dk = [4, 4]", {}, {":1: dk: ", "4 twice"}},
    {"dk = []", {}, {":1: dk: ", "got ''"}},
    {"dk = \"4:64\"", {}, {":1: dk: ", "'4:64'"}},
    {"dk = [\"4,8\"]", {}, {":1: dk: ", "without a comma"}},
    {"format = \"xml\"", {}, {":1: format: ", "table, csv, json", "'xml'"}},
    {"format = 5", {}, {":1: format: ", "'5'"}},
    {"out = true", {}, {":1: out: ", "a value (FILE)"}},
    {"out = [\"a\"]", {}, {":1: out: ", "not a list"}},
    {"quick = 1", {}, {":1: quick: ", "true or false, got '1'"}},
    {"quick = \"yes\"", {}, {":1: quick: ", "true or false, got 'yes'"}},
    {"delta = nan", {"reach"}, {":1: delta: ", "'nan'"}},
    {"delta = -inf", {"reach"}, {":1: delta: ", "'-inf'"}},
    {"scale = \"sqrtdk\"", {"scaling"}, {":1: scale: ", "'sqrtdk'"}},
    {"n_embd = 64\nn_head = 5", {"reach"}, {"", "64", "5", "run.toml:2"}},
    {"heads = 2\nn_head = 4", {"attention"}, {":2: n_head: ", "once", "line 1"}},
    {"heads = 5", {"attention"}, {"", "64", "5", "run.toml:1"}},
    {"n_embd = 64", {"scaling"}, {":1: n_embd: ", "torch or gpt2"}},
    {"rows = \"5x\"", {"scaling", "--rows", "160"}, {":1: rows: ", "'5x'"}},
    {"[heads]\nn-head = \"x\"", {"scaling"}, {":2: n-head: ", "'x'"}},
    // what is no TOML, or none that options need
    {"{\"rows\": 160}", {}, {":1: not TOML: ", "saw '{'"}},
    {"[\n  {\"rows\": 160}\n]", {}, {":1: not TOML: ", "'\\n'"}},
    {"rows: 160", {}, {":1: not TOML: ", "expected '=', saw ':'"}},
    {"rows", {}, {":1: not TOML: ", "end-of-file"}},
    {"seed = 1\nrows =\n160", {}, {":2: not TOML: ", "expected value"}},
    {"rows = 5x", {}, {":1: not TOML: ", "expected digit, saw 'x'"}},
    {"rows = 010", {}, {":1: not TOML: ", "leading zeroes"}},
    {"rows = 1__0", {}, {":1: not TOML: ", "underscores"}},
    {"rows = 10_", {}, {":1: not TOML: "}},
    {"rows = 1.", {}, {":1: not TOML: ", "floating-point"}},
    {"rows = 1979-05-27", {}, {":1: rows: ", "a number, a string, true, false or a list"}},
    {"rows = 160 320", {}, {":1: not TOML: ", "saw '3'"}},
    {"rows = 160 seed = 1", {}, {":1: not TOML: ", "saw 's'"}},
    {"quick = True", {}, {":1: not TOML: ", "expected 'true'"}},
    {"format = csv", {}, {":1: not TOML: ", "value type"}},
    {"format = \"csv", {}, {":1: not TOML: ", "string"}},
    {"format = 'csv\nseed = 1'", {}, {":1: not TOML: ", "string"}},
    {"out = \"a\\qb\"", {}, {":1: not TOML: ", "escape"}},
    {"out = \"\\u00\"", {}, {":1: not TOML: ", "unicode scalar"}},
    {"out = \"\\u0000\"", {}, {":1: out: ", "without \\0"}},
    {"out = \"\\ud800\"", {}, {":1: not TOML: ", "surrogates"}},
    {"dk = [4, 8", {}, {":1: not TOML: ", "array"}},
    {"dk = [4,\n[8]]", {}, {":2: dk: ", "a list of these"}},
    {"dk = [4 8]", {}, {":1: not TOML: ", "comma or closing ']'"}},
    {"dk = [,]", {}, {":1: not TOML: ", "saw comma"}},
    {"scaling.rows = \"x\"", {}, {":1: rows: ", "'x'"}},
    {"scaling = {rows = 0}", {}, {":1: rows: ", "'0'"}},
    {"[scaling.deep]", {}, {":1: [scaling.deep]: ", "no table within"}},
    {"[[scaling]]", {}, {":1: scaling: ", "a list of these"}},
    {"[scaling", {}, {":1: not TOML: ", "end-of-file"}},
    {"[]", {}, {":1: not TOML: "}},
    {"[scaling] rows = 5", {}, {":1: not TOML: ", "saw 'r'"}},
    {"= 5", {}, {":1: not TOML: ", "saw '='"}},
    {"seed = 1\nrows\xff = 5", {}, {":2: not TOML: ", "utf-8"}},
    {std::string("seed = 1\n\0\n", 11), {}, {":2: not TOML: ", "'\\u0000'"}},
    {"\x7f"
     "ELF\x02\x01\x01",
     {},
     {":1: not TOML: ", "'\\u007F'"}},
    {"seed = 1\rrows = 160", {}, {":1: not TOML: ", "after '\\r'"}},
    {kHuge + "#", {}, {": ", "1048576 bytes"}},
};

TEST(Config, BadFilesAreRefusedInOneLine) {
  static_assert(std::size(kBad) >= 60);
  for (const Bad& bad : kBad) {
    const Folder folder;
    test::put(folder / "run.toml", bad.text);
    Words words = bad.words;
    words.insert(words.end(), {"--config", folder / "run.toml"});
    const Outcome outcome = test::in_process(words);
    const std::string shown = bad.text.substr(0, 80) + "\n" + outcome.err;
    EXPECT_EQ(outcome.code, 2) << shown;
    EXPECT_EQ(outcome.out, "") << shown;
    EXPECT_TRUE(test::is_one_error_line(outcome.err)) << shown;
    if (!bad.named[0].empty()) {
      EXPECT_THAT(outcome.err, HasSubstr("run.toml" + bad.named[0])) << shown;
    }
    for (const std::string& name : bad.named) EXPECT_THAT(outcome.err, HasSubstr(name)) << shown;
    EXPECT_THAT(folder.names(), ElementsAre("run.toml")) << shown;
  }
}

TEST(Config, WhatCannotBeReadIsNoUsageError) {
  const Folder folder;
  ASSERT_EQ(symlink("loop", (folder / "loop").c_str()), 0);
  test::put(folder / "file", "");
  const struct {
    std::string path;
    const char* why;
  } cases[] = {{folder / "missing.toml", "No such file or directory"},
               {folder.path(), "Is a directory"},
               {folder / "file/x", "Not a directory"},
               {folder / "loop", "symbolic links"}};
  for (const auto& c : cases) {
    const Outcome outcome = test::in_process({"info", "--config", c.path});
    EXPECT_EQ(outcome.code, 4) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(test::is_one_error_line(outcome.err)) << outcome.err;
    EXPECT_THAT(outcome.err, StartsWith("error: --config: cannot read '"));
    EXPECT_THAT(outcome.err, HasSubstr(c.why));
  }
  if (geteuid() == 0) return;  // root may read everything
  chmod((folder / "file").c_str(), 0);
  EXPECT_EQ(test::in_process({"info", "--config", folder / "file"}).code, 4);
}

TEST(Config, IsNamedOnceAndNotEmpty) {
  EXPECT_EQ(test::in_process({"info", "--config", ""}).code, 2);
  const Outcome twice = test::in_process({"info", "--config", "a", "--config", "b"});
  EXPECT_EQ(twice.code, 2);
  EXPECT_THAT(twice.err, HasSubstr("--config: expected once, got 'a' and 'b'"));
}

Outcome configured(const std::string& text, const Words& words) {
  const Folder folder;
  test::put(folder / "run.toml", text);
  Words all = words;
  all.insert(all.end(), {"--config", folder / "run.toml"});
  return test::in_process(all);
}

const Words kPlain = {"scaling", "--rows",   "160",    "--dk", "4,8",      "--seq-len", "8",
                      "--scale", "none,0.5", "--seed", "3",    "--format", "csv"};

TEST(Config, SaysTheSameAsTheCommandLine) {
  const Outcome expected = test::in_process(kPlain);
  ASSERT_EQ(expected.code, 0) << expected.err;
  const Words command = {"scaling"};
  for (const std::string& text :
       {std::string("rows = 160\ndk = [4, 8]\nseq_len = 8\nscale = [\"none\", 0.5]\n"
                    "seed = 3\nformat = \"csv\"\n"),
        std::string("\xef\xbb\xbf# a comment\r\n  rows=+1_60 # more\r\n\r\ndk = [ # 4\r\n  4,\r\n"
                    "  8, # 8\r\n]\r\nseq-len\t=\t\"8\"\r\nscale = 'none,0.5'\r\nseed = 3\r\n"
                    "format = \"\\u0063s\\U00000076\""),
        std::string("seed = 3\nformat = 'csv'\n[heads]\nn_head = 2\n[ scaling ]\nrows = 160\n"
                    "dk = \"4:8:x2\"\nseq-len = 8\nscale = \"none,0.5\"\n[info]\n"),
        std::string("seed = 3\nformat = 'csv'\n\"rows\" = 0xa0\nscaling.dk = [4, 8]\n"
                    "scaling.seq-len = 8\nscaling.scale = \"\"\"none,0.5\"\"\""),
        std::string("seed = 9\nrows = 320\nquick = true\nformat = 'csv'\n[scaling]\nseed = 3\n"
                    "rows = 160\ndk=[4,8]\nseq-len=8\nscale=['none',\"0.5\"]\nquick = false")}) {
    const Outcome outcome = configured(text, command);
    EXPECT_EQ(outcome.code, 0) << text << outcome.err;
    EXPECT_EQ(outcome.out, expected.out) << text;
  }
}

TEST(Config, TheCommandLineGoesFirst) {
  const Outcome expected = test::in_process(kPlain);
  const Outcome outcome = configured(
      "rows = 320\ndk = [16]\nseq-len = 9\nscale = \"dk\"\nseed = 4\nformat = \"table\"\n"
      "[scaling]\nrows = 480\n",
      kPlain);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, expected.out);
}

TEST(Config, AnEmptyFileAndTheDefaultCommandAreFine) {
  for (const std::string& text : {std::string(), std::string("# nothing\n\n[scaling]\n")})
    EXPECT_EQ(configured(text, {"info"}).code, 0);
  const Outcome outcome = configured("rows = 160\ndk = 4\nseq-len = 4\nformat = 'csv'", {});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(configured("", {"info", "--help"}).code, 0);
}

TEST(Config, ItsOnlyTableRunsWhereNoCommandIsTyped) {
  const Outcome expected = test::in_process({"reach", "--delta", "1.5", "--format", "csv"});
  const std::string text = "[reach]\ndelta = 1.5\nformat = 'csv'";
  for (const Words& words : {Words{}, Words{"--position", "0"}, Words{"reach"}}) {
    const Outcome outcome = configured(text, words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, expected.out);
  }
  EXPECT_EQ(configured(text + "\n[scaling]\nrows = 160\nquick = true", {}).code, 0);
  EXPECT_THAT(configured(text, {"--help"}).out, HasSubstr("Usage: gradlab [COMMAND]"));
  const struct {
    std::string text;
    Words words;
    const char* error;
  } cases[] = {{text + "\n[info]\nformat = 'csv'",
                {},
                "run.toml: expected a command to be typed, as there are tables of "},
               {text,
                {"info"},
                "run.toml: expected a table [info], as that is what runs; there is "
                "reach"}};
  for (const auto& c : cases) {
    const Outcome outcome = configured(c.text, c.words);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr(c.error));
  }
  EXPECT_EQ(configured(text + "\n[info]\nformat = 'csv'", {"info"}).code, 0);
  EXPECT_EQ(configured("format = 'csv'\n" + text, {"info"}).code, 0);
}

TEST(Config, ValuesAreTakenAsTheyStand) {
  const Folder folder;
  for (const std::string& name : {std::string("[a,b]"), std::string("--quick"), std::string("a#b"),
                                  std::string("\xc3\xa9 \\ 'x")}) {
    std::string value;
    for (const char c : name) value += c == '\\' ? std::string("\\\\") : std::string(1, c);
    test::put(folder / "run.toml", "out = \"" + value + "\"");
    const Outcome outcome = test::in_child([&] {
      if (chdir(folder.path().c_str()) != 0) return 99;
      return test::exec_program({"info", "--config", "run.toml"});
    });
    EXPECT_EQ(outcome.code, 0) << name << outcome.err;
    EXPECT_NE(test::contents(folder / name), "") << name;
  }
}

TEST(Config, TheCommandInJsonStaysAsTyped) {
  const Folder folder;
  test::put(folder / "run.toml", "seed = '18446744073709551615'\nformat = 'json'\nthreads = 2");
  const std::string path = folder / "run.toml";
  const Outcome outcome = test::in_process({"info", "--config=" + path});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto context = nlohmann::json::parse(outcome.out).at("context");
  EXPECT_EQ(context.at("command"), "gradlab info --config=" + path);
  EXPECT_EQ(context.at("seed"), 18446744073709551615u);
  EXPECT_EQ(context.at("threads"), 2);
}

TEST(Config, ALongPathDoesNotHideTheMessage) {
  const Folder folder;
  const std::string path = folder / (std::string(240, 'p') + ".toml");
  test::put(path, "rows = 0");
  const Outcome outcome = test::in_process({"--config", path});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr(":1: rows: expected a whole number in [1, 1000000000]"));
}

/// A locale that writes 1.234.567,5.
struct Grouping : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(Config, IsReadTheSameInEveryLocale) {
  const auto all = [] {
    return configured("rows = 1600\ndk = 4\nseq-len = 8\nscale = 0.5", {"scaling"}).out +
           configured("delta = 1.5\nformat = 'csv'", {"reach", "--quick"}).out +
           test::in_process({"scaling", "--rows", "-4096"}).err +
           test::in_process({"scaling", "--dk", "65536", "--seq-len", "65536", "--n-embd", "65536",
                             "--init", "torch"})
               .err;
  };
  const std::string plain = all();
  const std::locale before = std::locale::global(std::locale(std::locale(), new Grouping));
  const std::string grouped = all();
  std::locale::global(before);
  EXPECT_EQ(plain, grouped);
  EXPECT_THAT(plain, HasSubstr("[1, 1000000000], got '-4096'"));
}

}  // namespace
}  // namespace experiments::cli
