#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "experiments/cli/errors.h"
#include "experiments/training/vocabulary.h"
#include "tests/experiments/command_run.h"
#include "tests/experiments/training/trained.h"

namespace experiments::training {
namespace {

using nlohmann::json;
using test::Folder;
using test::in_process;
using test::Outcome;
using test::Words;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class SampleText : public testing::Test {
 protected:
  SampleText() { test::train_text(folder_); }
  Outcome sample(const Words& more) const {
    Words words = {"sample", "--out-dir", folder_ / "out", "--max-new-tokens", "20"};
    words.insert(words.end(), more.begin(), more.end());
    return in_process(words);
  }
  Folder folder_;
};

TEST_F(SampleText, StreamsWhatJsonHolds) {
  const Outcome table = sample({"--prompt", "the "});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, StartsWith("the "));
  const json rows = json::parse(sample({"--prompt", "the ", "--format", "json"}).out)["rows"];
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["text"].get<std::string>() + "\n", table.out);
  EXPECT_EQ(Vocabulary(RunFolder(folder_ / "out").load().vocabulary)
                .encode(rows[0]["text"].get<std::string>(), "text")
                .size(),
            24u);
  EXPECT_EQ(sample({"--prompt", "the ", "--out", folder_ / "page"}).out, "");
  EXPECT_EQ(test::contents(folder_ / "page"), table.out);
}

TEST_F(SampleText, TheSeedDecides) {
  const Words two = {"--num-samples", "2", "--format", "json"};
  const json rows = json::parse(sample(two).out)["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_NE(rows[0]["text"], rows[1]["text"]);
  EXPECT_EQ(sample({}).out, sample({"--threads", "3"}).out);
  EXPECT_NE(sample({}).out, sample({"--seed", "1"}).out);
  EXPECT_EQ(sample({"--temperature", "0"}).out, sample({"--top-k", "1", "--seed", "1"}).out);
  EXPECT_EQ(sample({}).out, sample({"--no-cache"}).out);
}

TEST_F(SampleText, ATokenOutsideTheVocabularyIsNamed) {
  const Outcome outcome = sample({"--prompt", "the \xc3\xbc"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.err,
            "error: --prompt: '\xc3\xbc' at byte 4 is not in the model's vocabulary of 16\n");
  EXPECT_EQ(sample({"--temperature", "-1"}).code, 2);
  EXPECT_EQ(sample({"--top-p", "1.5"}).code, 2);
}

// What a vocabulary from elsewhere may hold.
TEST_F(SampleText, ControlCharactersDoNotReachTheTerminal) {
  test::change(folder_ / "out", [](Checkpoint& checkpoint) {
    for (std::string& entry : checkpoint.vocabulary) entry = "\x1b[2J\n";
  });
  const Outcome outcome = sample({"--temperature", "0"});
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
  EXPECT_THAT(outcome.out, StartsWith("\\x1b[2J\n\\x1b[2J\n"));
}

TEST(Sample, OfATaskAnswersItsQuestions) {
  const Folder folder;
  test::train(folder / "out", {"--task", "copy", "--task-length", "2"});
  const auto texts = [&](const Words& more) {
    Words words = {"sample", "--out-dir", folder / "out", "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = in_process(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out)["rows"];
  };
  const json drawn = texts({"--num-samples", "3"});
  ASSERT_EQ(drawn.size(), 3u);
  for (const json& row : drawn) {
    const auto text = row["text"].get<std::string>();
    EXPECT_EQ(text.size(), 5u) << text;
    EXPECT_EQ(text.find('|'), 2u) << text;
  }
  EXPECT_THAT(texts({"--prompt", "ab|"})[0]["text"].get<std::string>(),
              testing::MatchesRegex("ab\\|.."));
  const Outcome outcome = in_process({"sample", "--out-dir", folder / "out", "--prompt", "ab|abc"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("at most the 4 tokens of task copy, got 6"));
}

TEST(Sample, OfATaskTellsTheAnswerFromTheQuestion) {
  const Folder folder;
  test::train(folder / "out", {"--task", "copy", "--task-length", "2"});
  const auto text = [&](const std::string& prompt) {
    const Outcome outcome = in_process({"sample", "--out-dir", folder / "out", "--prompt", prompt});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  EXPECT_THAT(text("ab|"), testing::MatchesRegex("ab\\| -> [a-h|]{2}\n"));
  EXPECT_EQ(text("a b |\r\n"), text("ab|"));
}

TEST_F(SampleText, LineEndsAreThoseOfTexts) {
  EXPECT_EQ(sample({"--prompt", "mat\r\nand"}).out, sample({"--prompt", "mat\nand"}).out);
  EXPECT_EQ(sample({"--prompt", "mat\rand"}).out, sample({"--prompt", "mat\nand"}).out);
  EXPECT_THAT(sample({"--prompt", "mat\xff"}).err, HasSubstr("--prompt: expected UTF-8"));
}

TEST(Sample, CtrlCEndsItInALineOfItsOwn) {
  const Folder folder;
  test::train_text(folder);
  const Outcome outcome = test::in_child(
      [&] {
        return test::exec_program(
            {"sample", "--out-dir", folder / "out", "--max-new-tokens", "1000000"});
      },
      [](pid_t pid, int out) {
        char first = 0;
        EXPECT_EQ(read(out, &first, 1), 1);  // it has begun
        kill(pid, SIGINT);
      });
  EXPECT_EQ(outcome.code, 130);
  EXPECT_EQ(outcome.err, "error: interrupted\n");
  EXPECT_EQ(outcome.out.back(), '\n');
}

TEST(Vocabulary, TakesTheLongestEntryAndPassesOverBlanks) {
  const Vocabulary numbers({"0", "1", "12", "2"});
  EXPECT_THAT(numbers.encode("12 1 2\n0", "x"), ElementsAre(2, 1, 3, 0));
  EXPECT_EQ(numbers.decode(Tokens{2, 1, 0}), "12 1 0");
  const Vocabulary letters({"a", "b", "|"});
  EXPECT_THAT(letters.encode(" a b |\n", "x"), ElementsAre(0, 1, 2));
  EXPECT_EQ(letters.decode(Tokens{0, 1, 2}), "ab|");
  const Vocabulary line({"\n", "a"});
  EXPECT_THROW(line.encode("a a", "x"), cli::DataError);
  const Vocabulary pieces({" the", "t", "he", " "});
  EXPECT_THAT(pieces.encode("the the", "x"), ElementsAre(1, 2, 0));
  EXPECT_EQ(pieces.decode(Tokens{1, 2, 0}), "the the");
  EXPECT_THROW(pieces.encode("h", "x"), cli::DataError);
}

}  // namespace
}  // namespace experiments::training
