#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "nn/io/safetensors.h"
#include "tests/experiments/training/trained.h"
#include "tests/nn/io/safetensors_bytes.h"

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
  for (const char* bad : {"{}", "[1]", "5", R"({"a":13})", R"({"a":0,"b":0})", R"({"a":1})",
                          R"({"a":-1})", R"({"a":"0"})", "[\"a\"]", "nonsense"}) {
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

TEST_F(Convert, TakesTheFormsThatVocabulariesHave) {
  const std::string padded = folder_ / "padded";  // 16 rows
  test::train(padded, {"--task", "copy", "--task-length", "2", "--task-symbols", "15"});
  run({"convert", "--to", "nanogpt", "--input", padded, "--output", foreign_});
  const auto vocabulary = [&](const std::string& text, int code = 0) {
    test::put(folder_ / "list.json", text);
    run({"convert", "--input", foreign_, "--output", back_, "--n-head", "2", "--overwrite",
         "--vocabulary", folder_ / "list.json"},
        code);
    return RunFolder(back_).load().vocabulary;
  };
  const std::vector<std::string> few = vocabulary(R"(["a","b c"])");  // filled up to 16
  ASSERT_EQ(few.size(), 16u);
  EXPECT_THAT(std::vector(few.begin(), few.begin() + 3), testing::ElementsAre("a", "b c", ""));
  const std::vector<std::string> plain = vocabulary(R"({"b":1,"a b":0,"\u00e9":2})");
  EXPECT_THAT(std::vector(plain.begin(), plain.begin() + 3),
              testing::ElementsAre("a b", "b", "\xc3\xa9"));
  // GPT-2's alphabet of bytes: a blank, a line end, the first half of an e with an accent.
  const std::vector<std::string> bytes =
      vocabulary(R"({"\u0120the":0,"\u010a":1,"\u00c3":2,"<|endoftext|>":3,"\u0143":4})");
  EXPECT_THAT(std::vector(bytes.begin(), bytes.begin() + 5),
              testing::ElementsAre(" the", "\n", "\xc3", "<|endoftext|>", "\xad"));
  const Outcome sample =
      in_process({"sample", "--out-dir", back_, "--prompt", " the\r\n", "--max-new-tokens", "0"});
  EXPECT_EQ(sample.out, " the\n\n") << sample.err;
  std::string many = "[\"0\"";
  for (int i = 1; i < 17; ++i) many += ",\"" + std::to_string(i) + "\"";
  vocabulary(many + "]", 3);
}

/// The file with one more tensor at its end, whose header is `fields` and whose data is `data`.
void append_tensor(const std::string& path, const std::string& name, const std::string& dtype,
                   const std::vector<int>& shape, const std::string& data) {
  const std::string bytes = test::contents(path);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  auto header = nlohmann::json::parse(bytes.substr(8, length));
  const std::string rest = bytes.substr(8 + length);
  header[name] = {{"dtype", dtype},
                  {"shape", shape},
                  {"data_offsets", {rest.size(), rest.size() + data.size()}}};
  test::put(path, ::test::safetensors_bytes(header.dump(), rest + data));
}

TEST_F(Convert, MasksAreNotJudged) {
  const nn::State want = RunFolder(ours_).load().model;
  for (const char* dtype : {"U8", "I32", "I64", "F8_E4M3", "BOOL"}) {
    run({"convert", "--to", "nanogpt", "--input", ours_, "--output", foreign_, "--overwrite"});
    const std::string data(std::string(dtype) == "I64" ? 8 * 16 : 16, '\x02');
    append_tensor(foreign_, "transformer.h.0.attn.bias", dtype, {1, 1, 4, 4}, data);
    run({"convert", "--input", foreign_, "--output", back_, "--n-head", "2", "--overwrite"});
    const nn::State got = RunFolder(back_).load().model;
    ASSERT_EQ(got.size(), want.size()) << dtype;
    for (const auto& [name, tensor] : want) {
      EXPECT_TRUE(bit_equal(got.at(name).data(), tensor.data())) << dtype << ' ' << name;
    }
  }
  append_tensor(foreign_, "transformer.h.0.attn.more", "U8", {1}, "x");
  EXPECT_THAT(error({"--input", foreign_, "--output", back_, "--n-head", "2", "--overwrite"}),
              HasSubstr("unknown h.0.attn.more"));
}

TEST_F(Convert, OfATaskIsMeasuredOnItAndTrainedFurther) {
  run({"convert", "--to", "nanogpt", "--input", ours_, "--output", foreign_});
  const Words words = {"--input", foreign_, "--output",      back_, "--n-head",      "2",
                       "--task",  "copy",   "--task-length", "2",   "--task-symbols"};
  const auto with_symbols = [&](const char* symbols) {
    Words all = words;
    all.insert(all.end(), {symbols, "--overwrite"});
    return all;
  };
  EXPECT_THAT(
      error(with_symbols("11")),
      HasSubstr("expected 12 tokens and a block size of 4, as task copy has, got 13 and 4"));
  Words good = with_symbols("12");
  good.insert(good.begin(), "convert");
  run(good);
  const Outcome ours = in_process({"eval", "--out-dir", ours_, "--format", "csv"});
  const Outcome back = in_process({"eval", "--out-dir", back_, "--format", "csv"});
  EXPECT_EQ(ours.code, 0) << ours.err;
  EXPECT_EQ(back.out, ours.out) << back.err;
  run({"train", "--init-from", back_, "--out-dir", folder_ / "further", "--max-iters", "1",
       "--eval-iters", "1"});
  Words vocabulary = with_symbols("12");
  vocabulary.insert(vocabulary.end(), {"--vocabulary", foreign_});
  EXPECT_THAT(error(vocabulary), HasSubstr("2 error: --vocabulary: cannot be combined"));
  EXPECT_THAT(error({"--input", foreign_, "--output", back_, "--n-head", "2", "--task-length", "2",
                     "--overwrite"}),
              HasSubstr("2 error: --task-length: needs --task"));
}

TEST_F(Convert, RefusesWeightsThatAreNotFinite) {
  run({"convert", "--to", "nanogpt", "--input", ours_, "--output", foreign_});
  run({"convert", "--input", foreign_, "--output", back_, "--n-head", "2"});
  const std::string good = test::contents(RunFolder(back_).checkpoint_path());
  nn::Safetensors file = nn::read_safetensors(foreign_);
  const std::string name = "transformer.h.0.ln_1.weight";
  file.tensors[name] = file.tensors[name] / 0.0;
  nn::write_safetensors(foreign_, file);
  EXPECT_THAT(error({"--input", foreign_, "--output", back_, "--n-head", "2", "--overwrite"}),
              HasSubstr("5 error: '" + foreign_ + "': '" + name + "' is not finite"));
  EXPECT_EQ(test::contents(RunFolder(back_).checkpoint_path()), good);

  Checkpoint ours = RunFolder(ours_).load();
  ours.model["h.0.mlp.fc.weight"] = ours.model["h.0.mlp.fc.weight"] * std::nan("");
  RunFolder(ours_).save(ours);
  EXPECT_THAT(error({"--to", "gpt2", "--input", ours_, "--output", folder_ / "new"}),
              HasSubstr("'h.0.mlp.fc.weight' is not finite"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new"));
  const Outcome summary = in_process({"summary", "--out-dir", ours_});
  EXPECT_EQ(summary.code, 0);
  EXPECT_THAT(summary.err, HasSubstr("model.safetensors': 'h.0.mlp.fc.weight' is not finite"));
}

TEST_F(Convert, SaysWhatNoTensorShows) {
  const auto notes = [&](const Words& more) {
    Words words = {"convert", "--input",  foreign_, "--output",
                   back_,     "--n-head", "2",      "--overwrite"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = in_process(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::string text = outcome.out;
    std::ranges::replace(text, '\n', ' ');  // wherever its lines are broken
    return text;
  };
  const auto gelu = [&] {
    return nlohmann::json::parse(RunFolder(back_).load().config_json)["gelu"];
  };
  const std::string untied = folder_ / "untied";
  test::train(untied, {"--untied"});
  run({"convert", "--to", "nanogpt", "--input", untied, "--output", foreign_});
  EXPECT_THAT(notes({}), HasSubstr("gelu erf, as the file says"));
  EXPECT_THAT(error({"--input", foreign_, "--output", back_, "--n-head", "4", "--overwrite"}),
              HasSubstr("2 error: --n-head: '" + foreign_ + "' says '2', got 4"));
  nn::Safetensors bare = nn::read_safetensors(foreign_);
  bare.metadata.clear();
  nn::write_safetensors(foreign_, bare);
  EXPECT_THAT(notes({}), testing::AllOf(HasSubstr("gelu tanh: lm_head is not tied to wte"),
                                        HasSubstr("n_head is 2 because --n-head says so")));
  EXPECT_EQ(gelu(), "tanh");
  EXPECT_THAT(notes({"--gelu", "erf"}), HasSubstr("gelu erf, as --gelu says"));
  EXPECT_EQ(gelu(), "erf");
  bare.tensors.erase("lm_head.weight");
  nn::write_safetensors(foreign_, bare);
  EXPECT_THAT(notes({}), testing::AllOf(HasSubstr("no lm_head.weight, so it is taken to be tied"),
                                        HasSubstr("gelu erf: ")));
}

// Larger than memory: that it is no GPT shows in the header.
TEST_F(Convert, WhatIsNoGptIsNotRead) {
  const char* header =
      R"({"t":{"dtype":"F32","shape":[274877906944],"data_offsets":[0,1099511627776]}})";
  test::put(foreign_, ::test::safetensors_bytes(header));
  std::filesystem::resize_file(foreign_,
                               std::filesystem::file_size(foreign_) + (std::uintmax_t{1} << 40));
  EXPECT_THAT(error({"--input", foreign_, "--output", back_, "--n-head", "2"}),
              HasSubstr("not a GPT: missing"));
  EXPECT_THAT(error({"--to", "gpt2", "--input", foreign_, "--output", back_}),
              HasSubstr("'gradlab.checkpoint' is missing"));
}

}  // namespace
}  // namespace experiments::training
