#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/experiments/training/trained.h"

namespace experiments::training {
namespace {

using test::Folder;
using test::in_process;
using test::Outcome;
using test::Words;
using testing::HasSubstr;

class Convert : public testing::Test {
 protected:
  Convert() {
    test::train(ours_, {"--task", "copy", "--task-length", "2", "--task-symbols", "12"});
  }
  static void run(const Words& words, int code = 0) {
    const Outcome outcome = in_process(words);
    EXPECT_EQ(outcome.code, code) << outcome.err;
  }
  std::string error(Words words) const {
    words.insert(words.begin(), "convert");
    const Outcome outcome = in_process(words);
    EXPECT_TRUE(test::is_one_error_line(outcome.err)) << outcome.err;
    return std::to_string(outcome.code) + ' ' + outcome.err;
  }

  Folder folder_;
  std::string ours_ = folder_ / "ours", foreign_ = folder_ / "gpt.safetensors",
              back_ = folder_ / "back";
};

TEST_F(Convert, ThereAndBackIsTheSame) {
  const nn::State want = RunFolder(ours_).load().model;
  for (const char* to : {"nanogpt", "gpt2"}) {
    run({"convert", "--to", to, "--input", ours_, "--output", foreign_, "--overwrite"});
    const autograd::Shape shape =
        nn::read_safetensors(foreign_).tensors.at("transformer.h.0.attn.c_attn.weight").shape();
    EXPECT_EQ(shape[0], std::string(to) == "gpt2" ? 16 : 48);
    run({"convert", "--input", foreign_, "--output", back_, "--n-head", "2", "--overwrite"});
    const nn::State got = RunFolder(back_).load().model;
    ASSERT_EQ(got.size(), want.size());
    for (const auto& [name, tensor] : want) {
      EXPECT_TRUE(bit_equal(got.at(name).data(), tensor.data())) << to << ' ' << name;
    }
  }
}

TEST_F(Convert, WithoutAVocabularyTokensAreNumbers) {
  run({"convert", "--to", "nanogpt", "--input", ours_ + "/model.safetensors", "--output",
       foreign_});
  run({"convert", "--input", foreign_, "--output", back_, "--n-head", "2"});
  const Outcome greedy = in_process({"sample", "--out-dir", back_, "--prompt", "11 3",
                                     "--max-new-tokens", "3", "--temperature", "0"});
  EXPECT_THAT(greedy.out, testing::MatchesRegex("11 3( [0-9]+){3}\n"));
  std::string numbers;
  for (int i = 0; i < 200; ++i) numbers += std::to_string(i % 13) + ' ';
  test::put(folder_ / "numbers.txt", numbers);
  run({"eval", "--out-dir", back_, "--data", folder_ / "numbers.txt"});
  const Outcome none = in_process({"eval", "--out-dir", back_});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("names no text of its own"));
}

TEST_F(Convert, TakesAVocabulary) {
  run({"convert", "--to", "nanogpt", "--input", ours_, "--output", foreign_});
  const Words words = {"convert",  "--input", foreign_,       "--output",           back_,
                       "--n-head", "2",       "--vocabulary", folder_ / "list.json"};
  for (const char* bad : {"{}", "[1]", "[\"a\"]", "nonsense"}) {
    test::put(folder_ / "list.json", bad);
    run(words, 3);
  }
  EXPECT_FALSE(RunFolder(back_).has_checkpoint());
  test::put(folder_ / "list.json", R"(["a","b","c","d","e","f","g","h","i","j","k","l","|"])");
  run(words);
  EXPECT_EQ(RunFolder(back_).load().vocabulary, RunFolder(ours_).load().vocabulary);
}

TEST_F(Convert, RefusesInOneLine) {
  EXPECT_THAT(error({}), HasSubstr("2 error: --input: expected"));
  EXPECT_THAT(error({"--input", foreign_, "--output", back_}), HasSubstr("2 error: --n-head"));
  EXPECT_THAT(error({"--to", "gpt2", "--input", ours_, "--output", ours_}),
              HasSubstr("already exists; --overwrite replaces it"));
  EXPECT_THAT(error({"--input", foreign_, "--output", back_, "--n-head", "2"}),
              HasSubstr("4 error: cannot read"));
  EXPECT_THAT(error({"--input", ours_ + "/model.safetensors", "--output", back_, "--n-head", "2"}),
              HasSubstr("3 error: "));
  run({"convert", "--to", "nanogpt", "--input", ours_, "--output", foreign_});
  EXPECT_THAT(error({"--input", foreign_, "--output", back_, "--n-head", "3"}),
              HasSubstr("2 error: --n-head 3 does not divide the n_embd 16"));
  const std::string unscaled = folder_ / "unscaled";
  test::train(unscaled, {"--scale", "none"});
  EXPECT_THAT(error({"--to", "gpt2", "--input", unscaled, "--output", foreign_, "--overwrite"}),
              HasSubstr("has scale none; nanoGPT and GPT-2 support only sqrt_dk"));
}

}  // namespace
}  // namespace experiments::training
