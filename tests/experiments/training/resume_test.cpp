#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/training/run_folder.h"
#include "tests/experiments/training/tiny_run.h"

// Runs that begin with what another one left: --resume and --init-from.

namespace experiments::training {
namespace {

using test::execute;
using test::expect_same;
using test::Folder;
using test::Outcome;
using test::tiny;
using test::Words;
using testing::HasSubstr;
using testing::Not;

Outcome run(const Words& words, int code = 0) {
  const Outcome outcome = execute(words);
  EXPECT_EQ(outcome.code, code) << outcome.err;
  if (code != 0) {
    EXPECT_TRUE(test::is_one_error_line(outcome.err)) << outcome.err;
  }
  return outcome;
}

Words resume(const std::string& folder, const Words& more = {}) {
  Words words = {"train", "--resume", "--out-dir", folder, "--format", "csv"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// A text of three characters, in another order for each seed.
std::string text_of(unsigned seed) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "abc"[(seed = seed * 1103515245 + 12345) >> 16 & 1];
  return text + "c" + text;
}

/// A run on the text of a file in `folder`.
Words on_text(const Folder& folder, const Words& more = {}) {
  Words words = {"train",
                 "--out-dir",
                 folder / "run",
                 "--data",
                 folder / "text",
                 "--block-size",
                 "4",
                 "--n-layer",
                 "1",
                 "--n-head",
                 "2",
                 "--n-embd",
                 "8",
                 "--batch-size",
                 "4",
                 "--eval-interval",
                 "10",
                 "--eval-iters",
                 "2",
                 "--warmup-iters",
                 "2",
                 "--max-iters",
                 "5"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// --- bit for bit

TEST(Resume, ContinuesTheLogToTheLastByte) {
  const Folder folder;
  const Words same = {"--watch", "7", "--dropout", "0.1", "--lr-decay-iters", "60"};
  const auto with = [&same](const std::string& out, const char* iterations) {
    Words words = tiny(out, same);
    words.insert(words.end(), {"--max-iters", iterations});
    return words;
  };
  run(with(folder / "whole", "60"));
  run(with(folder / "parts", "27"));
  const Outcome middle = run(resume(folder / "parts", {"--max-iters", "30"}));
  const Outcome rest = run(resume(folder / "parts", {"--max-iters", "60"}));
  EXPECT_EQ(test::contents(folder / "parts/metrics.jsonl"),
            test::contents(folder / "whole/metrics.jsonl"));
  // The table begins with what was seen last.
  EXPECT_THAT(rest.out, HasSubstr("\n30,"));
  EXPECT_THAT(rest.out, Not(HasSubstr("nan")));
  EXPECT_THAT(middle.out, Not(HasSubstr("nan")));
}

// --- what --resume refuses

TEST(Resume, RefusesAnotherSeedOrType) {
  const Folder folder;
  run(tiny(folder / "run", {"--max-iters", "1"}));
  EXPECT_THAT(run(resume(folder / "run", {"--seed", "1"}), 2).err,
              HasSubstr("--seed: expected '0', as in the run that --resume continues, got '1'"));
  EXPECT_THAT(run(resume(folder / "run", {"--dtype", "f64"}), 2).err,
              HasSubstr("--dtype: expected 'f32', as in the run that --resume continues"));
  run(resume(folder / "run", {"--seed", "0", "--dtype", "f32"}));
}

TEST(Resume, SaysWhichFileHoldsADamagedConfig) {
  const Folder folder;
  run(tiny(folder / "run", {"--max-iters", "1"}));
  const RunFolder files(folder / "run");
  const std::string good = files.load().config_json;
  const auto refuse = [&](const std::string& from, const std::string& to) {
    Checkpoint checkpoint = files.load();
    checkpoint.config_json = good;
    checkpoint.config_json.replace(good.find(from), from.size(), to);
    files.save(checkpoint);
    EXPECT_THAT(run(resume(folder / "run"), 3).err, HasSubstr("model.safetensors'")) << to;
  };
  refuse("\"n-head\": 2", "\"n-head\": 3");
  refuse("\"n-layer\": 1", "\"n-layer\": 0");
  refuse("\"n-layer\": 1", "\"n-layer\": 1000");
  refuse("\"n-embd\": 8", "\"n-embd\": 100000");
  refuse("\"norm\": \"pre\"", "\"norm\": \"none\"");
  refuse("\"min-lr\": null", "\"min-lr\": 5.0");
  refuse("\"n-embd\"", "\"n-emb\"");
  for (const char* seed : {"-1", "1.5", "true", "18446744073709551616"}) {
    refuse("\"seed\": 0", fmt::format("\"seed\": {}", seed));
  }
  refuse("\"n-layer\": 1", "\"n-layer\": 1.5");
  refuse("\"n-layer\": 1", "\"n-layer\": true");
  refuse("\"n-layer\": 1", "\"n-layer\": 18446744073709551615");
  refuse("\"dropout\": 0.0", "\"dropout\": false");
}

TEST(Resume, TellsThatTheTextChanged) {
  const Folder folder;
  const std::string warning = "is not the text that the run was trained on so far";
  test::put(folder / "text", text_of(1));
  run(on_text(folder));
  EXPECT_THAT(run(resume(folder / "run", {"--max-iters", "6"})).err, Not(HasSubstr(warning)));
  test::put(folder / "text", text_of(2));
  EXPECT_THAT(run(resume(folder / "run", {"--max-iters", "7"})).err, HasSubstr(warning));
  EXPECT_THAT(run(resume(folder / "run", {"--max-iters", "8"})).err, Not(HasSubstr(warning)));
  test::put(folder / "text", text_of(2) + "d");
  EXPECT_THAT(run(resume(folder / "run"), 3).err,
              HasSubstr("text': 'd' at byte 801 is not in the model's vocabulary of 3"));
}

// --- from weights alone

TEST(InitFrom, StartsFromTheWeightsOfARun) {
  const Folder folder;
  const std::string first = folder / "run", second = folder / "second";
  run(tiny(first, {"--max-iters", "5", "--bias", "--scale", "none"}));
  const Words from = {"train", "--init-from", first, "--out-dir", second, "--eval-iters", "1"};
  const auto with = [&from](Words more) {
    more.insert(more.begin(), from.begin(), from.end());
    return more;
  };
  run(with({"--max-iters", "0"}));
  const Checkpoint theirs = load_checkpoint(first + "/model.safetensors");
  const Checkpoint ours = load_checkpoint(second + "/model.safetensors");
  expect_same(ours.model, theirs.model);
  EXPECT_EQ(ours.step, 0);
  EXPECT_EQ(ours.optimizer.at("step").item(), 0);
  EXPECT_EQ(nlohmann::json::parse(ours.config_json)["scale"], "none");
  run(with({"--max-iters", "3", "--overwrite", "--dtype", "f64"}));
  run(resume(second, {"--max-iters", "6"}));
  run({"train", "--init-from", first + "/model.safetensors", "--out-dir", folder / "third",
       "--max-iters", "1"});
  EXPECT_THAT(run(with({"--overwrite", "--n-embd", "16"}), 2).err,
              HasSubstr("--n-embd: expected '8', as in the weights of --init-from, got '16'"));
  EXPECT_THAT(run(with({"--overwrite", "--task", "reverse"}), 3).err, HasSubstr("does not fit"));
  EXPECT_THAT(run({"train", "--init-from", folder / "none", "--out-dir", second}, 4).err,
              HasSubstr("none"));
}

TEST(InitFrom, ReadsATextWithTheVocabularyOfTheWeights) {
  const Folder folder;
  test::put(folder / "text", text_of(1));
  run(on_text(folder));
  test::put(folder / "other", std::string(200, 'b'));  // not all characters that the model knows
  const std::string second = folder / "second";
  run({"train", "--init-from", folder / "run", "--data", folder / "other", "--out-dir", second,
       "--max-iters", "2"});
  EXPECT_EQ(load_checkpoint(second + "/model.safetensors").vocabulary.size(), 3u);
  run(resume(second, {"--max-iters", "4"}));
}

TEST(InitFrom, TakesAConvertedModelWhichNoRunCanContinue) {
  const Folder folder;
  test::put(folder / "text", text_of(1));
  test::put(folder / "words.json", R"(["a","b","c"])");
  run(on_text(folder));
  run({"convert", "--to", "nanogpt", "--input", folder / "run", "--output", folder / "gpt"});
  run({"convert", "--input", folder / "gpt", "--n-head", "2", "--vocabulary", folder / "words.json",
       "--output", folder / "new"});
  EXPECT_THAT(run(resume(folder / "new"), 3).err,
              HasSubstr("holds weights alone; train --init-from " + (folder / "new")));
  const Words from = {"train", "--init-from", folder / "new", "--out-dir", folder / "tuned"};
  EXPECT_THAT(run(from, 2).err, HasSubstr("expected --data FILE or --task NAME"));
  Words tuned = from;
  tuned.insert(tuned.end(), {"--data", folder / "text", "--max-iters", "2"});
  run(tuned);
  run(resume(folder / "tuned", {"--max-iters", "3"}));
}

// --- defaults that follow, and text that is hostile

TEST(Train, LeastRateFollowsThePeak) {
  const Folder folder;
  const auto last_rate = [&](const Words& more) {
    Words words =
        tiny(folder / "run", {"--max-iters", "6", "--lr-decay-iters", "3", "--overwrite"});
    words.insert(words.end(), more.begin(), more.end());
    run(words);
    double rate = 0;
    for (const auto& line : test::lines_of(folder / "run/metrics.jsonl"))
      if (line.contains("lr")) rate = line["lr"];
    return rate;
  };
  EXPECT_DOUBLE_EQ(last_rate({"--learning-rate", "3e-5"}), 3e-6);
  EXPECT_DOUBLE_EQ(last_rate({}), 1e-4);
  EXPECT_DOUBLE_EQ(last_rate({"--min-lr", "2e-4"}), 2e-4);
  run({"train", "--out-dir", folder / "x", "--schedule", "constant", "--learning-rate", "3e-5",
       "--max-iters", "1"});
  EXPECT_THAT(
      run({"train", "--out-dir", folder / "y", "--schedule", "constant", "--min-lr", "1e-5"}, 2)
          .err,
      HasSubstr("--min-lr: cannot be combined with --schedule constant"));
}

TEST(Train, EscapesControlCharactersOfItsText) {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 60; ++i) text += "\x1b[31m\x07\xe2\x80\xae\n";
  test::put(folder / "text", text);
  const std::string out = run(on_text(folder)).out;
  for (const char* raw : {"\x1b", "\x07", "\xe2\x80\xae"}) EXPECT_THAT(out, Not(HasSubstr(raw)));
  EXPECT_THAT(test::contents(folder / "run/samples.txt"), HasSubstr("\x1b"));
}

}  // namespace
}  // namespace experiments::training
