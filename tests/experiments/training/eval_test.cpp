#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "experiments/training/text_data.h"
#include "tests/experiments/training/trained.h"

namespace experiments::training {
namespace {

using nlohmann::json;
using test::Folder;
using test::in_process;
using test::Outcome;
using test::Words;
using testing::HasSubstr;

json row_of(Words words) {
  words.insert(words.begin(), "eval");
  words.insert(words.end(), {"--format", "json"});
  const Outcome outcome = in_process(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.code == 0 ? json::parse(outcome.out)["rows"][0] : json();
}

/// val_loss and val_accuracy of the last row that train printed.
std::pair<double, double> last_of(const Outcome& trained) {
  std::stringstream lines(trained.out);
  std::string line, cell;
  for (std::string next; std::getline(lines, next);) line = next;
  std::stringstream cells(line);
  std::vector<double> values;
  while (std::getline(cells, cell, ',')) values.push_back(std::stod(cell));
  return {values.at(2), values.at(3)};
}

TEST(Eval, OfATextIsTheLastEvaluationOfTraining) {
  const Folder folder;
  const auto [loss, accuracy] = last_of(test::train_text(folder));
  const json row = row_of({"--out-dir", folder / "out"});
  EXPECT_NEAR(row["loss"], loss, 1e-12);
  EXPECT_NEAR(row["accuracy"], accuracy, 1e-12);
  EXPECT_NEAR(row["perplexity"], std::exp(loss), 1e-9);
  EXPECT_NEAR(row["bits_per_character"], loss / std::log(2.0), 1e-12);
  const TextData data(read_text(folder / "text.txt"), 8);
  EXPECT_EQ(row["tokens"], 8 * data.window_count(Split::validation));
  EXPECT_NEAR(row["uniform"], std::log(static_cast<double>(data.vocabulary().size())), 1e-12);
  EXPECT_LT(row["bigram"], row["unigram"]);
}

TEST(Eval, OfATaskAsksTheQuestionsOfItsSeed) {
  const Folder folder;
  const auto [loss, accuracy] =
      last_of(test::train(folder / "out", {"--task", "copy", "--task-length", "2", "--seed", "5"}));
  const json row = row_of({"--out-dir", folder / "out"});
  EXPECT_NEAR(row["loss"], loss, 1e-12);
  EXPECT_NEAR(row["accuracy"], accuracy, 1e-12);
  EXPECT_FALSE(row.contains("bigram"));
  EXPECT_NE(row_of({"--out-dir", folder / "out", "--seed", "6"})["loss"], row["loss"]);
}

TEST(Eval, OfAnotherTextInTheSameCharacters) {
  const Folder folder;
  test::train_text(folder);
  std::string text;
  for (int i = 0; i < 60; ++i) text += "dog on mat\n";
  test::put(folder / "other.txt", text);
  const json row = row_of({"--out-dir", folder / "out", "--data", folder / "other.txt"});
  EXPECT_GT(row["loss"], 0);
  EXPECT_EQ(row["tokens"], 60 * 11 - 1);  // all but the first, and a window of 3 at the end
  EXPECT_EQ(row["data_tokens"], 60 * 11);
  EXPECT_FALSE(row.contains("unigram"));
  // The parts are measured alike: two tokens that follow each other give the loss of their pair.
  test::put(folder / "pair.txt", "do");
  const json pair = row_of({"--out-dir", folder / "out", "--data", folder / "pair.txt"});
  EXPECT_EQ(pair["tokens"], 1);
  const auto fails = [&](const std::string& data) {
    test::put(folder / "bad.txt", data);
    const Outcome outcome =
        in_process({"eval", "--out-dir", folder / "out", "--data", folder / "bad.txt"});
    EXPECT_EQ(outcome.code, 3);
    EXPECT_TRUE(test::is_one_error_line(outcome.err));
    return outcome.err;
  };
  EXPECT_THAT(fails("dog \xc3\xbc"), HasSubstr("bad.txt': '\xc3\xbc' at byte 4 is not in"));
  EXPECT_THAT(fails("d"), HasSubstr("bad.txt': expected at least 2 tokens to measure on, got 1"));
}

TEST(Eval, OfTheTextThatItWasTrainedOnIsTheLastTenthByAnyName) {
  const Folder folder;
  test::train_text(folder);
  const json own = row_of({"--out-dir", folder / "out"});
  EXPECT_LT(own["tokens"], own["data_tokens"].get<int>() / 9);
  ASSERT_EQ(symlink("text.txt", (folder / "link.txt").c_str()), 0);
  EXPECT_EQ(row_of({"--out-dir", folder / "out", "--data", folder / "link.txt"}), own);
}

TEST(Eval, ADashIsStandardInput) {
  const Folder folder;
  test::train_text(folder);
  test::put(folder / "other.txt", "dog on mat\r\nthe cat");
  const auto from = [&](const std::string& data) {
    const Outcome outcome =
        test::execute({"eval", "--out-dir", folder / "out", "--format", "csv", "--data", data},
                      [&] { dup2(open((folder / "other.txt").c_str(), O_RDONLY), 0); });
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  EXPECT_EQ(from("-"), from(folder / "other.txt"));
  const auto train = [&](const std::string& out) {
    return test::execute({"train", "--out-dir", out, "--n-layer", "1", "--n-head", "2", "--n-embd",
                          "16", "--max-iters", "2", "--block-size", "8", "--data", "-"},
                         [&] { dup2(open((folder / "text.txt").c_str(), O_RDONLY), 0); });
  };
  const Outcome trained = train(folder / "piped");
  EXPECT_EQ(trained.code, 0) << trained.err;
  const Outcome outcome = in_process({"eval", "--out-dir", folder / "piped"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("was trained on standard input; expected its text"));
}

TEST(Eval, NamesTheFileThatIsMissing) {
  const Folder folder;
  const Outcome none = in_process({"eval", "--out-dir", folder / "no"});
  EXPECT_EQ(none.code, 4);
  EXPECT_THAT(none.err, HasSubstr("/no/model.safetensors'"));
  test::train_text(folder);
  std::remove((folder / "text.txt").c_str());
  const Outcome outcome = in_process({"eval", "--out-dir", folder / "out"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("text.txt': No such file"));
}

// What claims to be large is refused before it is made.
TEST(Eval, ConfigAndTensorsHaveToAgree) {
  const Folder folder;
  test::train_text(folder);
  const std::string out = folder / "out", whole = RunFolder(out).load().config_json;
  const auto fails = [&](const std::string& key, const json& value) {
    test::change(out, [&](Checkpoint& checkpoint) {
      json config = json::parse(whole);
      config[key] = value;
      checkpoint.config_json = config.dump();
    });
    const Outcome outcome = in_process({"eval", "--out-dir", out});
    EXPECT_EQ(outcome.code, 3) << key;
    EXPECT_THAT(outcome.err, HasSubstr("out/model.safetensors': ")) << key;
    return outcome.err;
  };
  EXPECT_THAT(fails("n-embd", 100000), HasSubstr("wte.weight: expected (16, 100000) by its config, "
                                                 "got (16, 16)"));
  EXPECT_THAT(fails("n-layer", 1000), HasSubstr("has no tensor 'h.1.ln_1.weight'"));
  EXPECT_THAT(fails("n-layer", 1e12), HasSubstr("its config"));
  EXPECT_THAT(fails("n-head", 0), HasSubstr("--n-head"));
  EXPECT_THAT(fails("n-head", 3), HasSubstr("--n-head 3 does not divide --n-embd 16"));
  EXPECT_THAT(fails("dtype", "f32"), HasSubstr("expected f32 by its config, got f64"));
  EXPECT_THAT(fails("scale", "much"), HasSubstr("--scale"));
  test::change(out, [&](Checkpoint& checkpoint) {
    checkpoint.config_json = whole;
    checkpoint.model["extra"] = autograd::ones({1});
  });
  EXPECT_THAT(in_process({"eval", "--out-dir", out}).err, HasSubstr("has a tensor 'extra'"));
  test::change(out, [](Checkpoint& checkpoint) { checkpoint.vocabulary.pop_back(); });
  EXPECT_THAT(in_process({"eval", "--out-dir", out}).err,
              HasSubstr("wte.weight: expected (15, 16) by its config, got (16, 16)"));
}

}  // namespace
}  // namespace experiments::training
