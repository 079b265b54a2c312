#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "autograd/machine/parallel.h"
#include "tests/experiments/training/tiny_run.h"

// The command train, as a person and as a script use it.

namespace experiments::training {
namespace {

using test::expect_same;
using test::Folder;
using test::in_process;
using test::lines_of;
using test::Outcome;
using test::tiny;
using test::Words;
using testing::ElementsAre;
using testing::HasSubstr;

Checkpoint run(const std::string& folder, const Words& more) {
  const Outcome outcome = in_process(tiny(folder, more));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return load_checkpoint(folder + "/model.safetensors");
}

/// Its evaluations, the ones that both runs of a pair make: at the multiples of the interval.
std::vector<nlohmann::json> evaluations(const std::string& path) {
  std::vector<nlohmann::json> lines;
  for (const auto& line : lines_of(path)) {
    if (line.contains("val_loss") && line["iter"].get<int>() % 10 == 0) lines.push_back(line);
  }
  return lines;
}

// --- what a run leaves behind

TEST(Train, LeavesARunFolder) {
  const Folder folder;
  const Outcome outcome = in_process(tiny(folder / "run", {"--max-iters", "20"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("iter 20: train loss"));
  EXPECT_THAT(outcome.out, HasSubstr("baselines without a network: uniform"));
  const std::string config = test::contents(folder / "run/config.json");
  EXPECT_EQ(nlohmann::json::parse(config)["n-embd"], 8);
  EXPECT_THAT(test::contents(folder / "run/samples.txt"), HasSubstr(" -> "));
  const auto lines = lines_of(folder / "run/metrics.jsonl");
  Index iterations = 0, evaluations = 0;
  for (const auto& line : lines) {
    iterations += line.contains("loss");
    evaluations += line.contains("val_loss");
  }
  EXPECT_EQ(iterations, 20);
  EXPECT_EQ(evaluations, 3);
}

TEST(Train, LearnsToCopy) {
  const Folder folder;
  const Outcome outcome =
      in_process({"train", "--out-dir", folder / "run", "--task-length", "2", "--task-symbols", "4",
                  "--n-embd", "32", "--n-layer", "2", "--max-iters", "300", "--learning-rate",
                  "0.003", "--eval-interval", "300", "--format", "csv"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string last = outcome.out.substr(outcome.out.rfind("\n300,"));
  EXPECT_THAT(outcome.err, HasSubstr("(100.0 % right)")) << last;
}

// --- the same bits, however a run comes about

TEST(Train, ResumesBitForBit) {
  for (const char* optimizer : {"adamw", "adam", "sgd"}) {
    const Folder folder;
    const Words same = {"--optimizer", optimizer, "--dropout", "0.2", "--lr-decay-iters", "20"};
    const auto with = [&](Words more) {
      more.insert(more.begin(), same.begin(), same.end());
      return more;
    };
    const Checkpoint whole = run(folder / "whole", with({"--max-iters", "20"}));
    run(folder / "parts", with({"--max-iters", "7"}));
    const Outcome middle =
        in_process({"train", "--out-dir", folder / "parts", "--resume", "--max-iters", "10"});
    ASSERT_EQ(middle.code, 0) << middle.err;
    const Outcome rest =
        in_process({"train", "--out-dir", folder / "parts", "--resume", "--max-iters", "20"});
    ASSERT_EQ(rest.code, 0) << rest.err;
    const Checkpoint parts = load_checkpoint(folder / "parts/model.safetensors");
    EXPECT_EQ(parts.step, 20);
    expect_same(whole.model, parts.model);
    expect_same(whole.optimizer, parts.optimizer);
    EXPECT_EQ(whole.generators, parts.generators);
    EXPECT_EQ(evaluations(folder / "parts/metrics.jsonl"),
              evaluations(folder / "whole/metrics.jsonl"));
  }
}

TEST(Train, HasTheSameBitsOnAnyNumberOfThreadsAndWatchedOrNot) {
  const Folder folder;
  const autograd::SmallPieces small;  // else a model of this size would stay on one thread
  const Words plain = {"--max-iters", "12", "--dropout", "0.1"};
  Words one_thread = plain, more = plain;
  one_thread.insert(one_thread.end(), {"--threads", "1"});
  const Checkpoint one = run(folder / "1", one_thread);
  more.insert(more.end(), {"--threads", "3", "--watch", "5"});
  const Checkpoint watched = run(folder / "2", more);
  expect_same(one.model, watched.model);
  Index looks = 0;
  for (const auto& line : lines_of(folder / "2/metrics.jsonl")) {
    if (!line.contains("watch")) continue;
    ++looks;
    EXPECT_GT(line["watch"]["h.0.attn.1"]["logit_std"], 0);
    EXPECT_GT(line["watch"]["h.0.mlp.fc.weight"]["update_ratio"], 0);
  }
  EXPECT_EQ(looks, 3);
}

TEST(Train, AccumulatesGradientsOverMicroBatches) {
  const Folder folder;
  const Checkpoint more =
      run(folder / "a", {"--max-iters", "3", "--gradient-accumulation-steps", "3"});
  EXPECT_EQ(more.step, 3);
  const Checkpoint plain = run(folder / "b", {"--max-iters", "3"});
  EXPECT_FALSE(bit_equal(more.model.at("wte.weight").data(), plain.model.at("wte.weight").data()));
}

TEST(Train, TakesUnderscoresInNames) {
  const Folder folder;
  const Outcome outcome = in_process({"train", "--out_dir", folder / "run", "--max_iters", "1",
                                      "--n_embd", "8", "--n_layer", "1", "--eval_iters", "1"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

/// A model that sees its evaluation interrupted saves, and does that evaluation when it goes on.
TEST(Train, StopsInAnEvaluation) {
  const Folder folder;
  const Outcome outcome = test::in_child(
      [&] {
        return test::exec_program(
            {"train", "--out-dir", folder / "run", "--eval-iters", "1000000", "--max-iters", "5"});
      },
      [](pid_t pid, int) {
        usleep(700'000);
        kill(pid, SIGINT);
      });
  EXPECT_EQ(outcome.code, 130);
  EXPECT_EQ(load_checkpoint(folder / "run/model.safetensors").step, 0);
  const Outcome rest =
      in_process({"train", "--out-dir", folder / "run", "--resume", "--eval-iters", "2"});
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(evaluations(folder / "run/metrics.jsonl").front()["iter"], 0);
}

// --- what goes wrong

TEST(Train, StopsBeforeTheUpdateThatIsNotFinite) {
  const Folder folder;
  const Outcome outcome =
      in_process(tiny(folder / "run", {"--max-iters", "50", "--optimizer", "sgd", "--learning-rate",
                                       "1e6", "--grad-clip", "0"}));
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("error: iteration "));
  EXPECT_THAT(outcome.err, HasSubstr("GPT"));
  const Checkpoint last = load_checkpoint(folder / "run/model.safetensors");
  for (const auto& [name, value] : last.model) EXPECT_TRUE(all_finite(value.data())) << name;
}

void expect_refusal(const Words& words, int code, const std::string& text) {
  const Outcome outcome = in_process(words);
  EXPECT_EQ(outcome.code, code) << text;
  EXPECT_THAT(outcome.err, HasSubstr(text));
  EXPECT_TRUE(test::is_one_error_line(outcome.err)) << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

TEST(Train, RefusesToLoseARun) {
  const Folder folder;
  run(folder / "run", {"--max-iters", "1"});
  expect_refusal(tiny(folder / "run"), 2, "--resume continues it, --overwrite replaces it");
  expect_refusal(tiny(folder / "run", {"--resume", "--overwrite"}), 2,
                 "cannot be combined with --overwrite");
  expect_refusal({"train", "--resume", "--out-dir", folder / "none"}, 2, "found no");
  run(folder / "run", {"--max-iters", "2", "--overwrite"});
}

TEST(Train, RefusesOptionsThatDoNotFit) {
  const Folder folder;
  expect_refusal({"train", "--out-dir", folder / "x", "--n-head", "2", "--n-head", "4"}, 2,
                 "--n-head: expected once");
  expect_refusal({"train", "--out-dir", folder / "x", "--n-embd", "64", "--n-head", "5"}, 2,
                 "--n-head 5 does not divide --n-embd 64");
  expect_refusal({"train", "--out-dir", folder / "x", "--n-embd", "4", "--n-head", "8"}, 2,
                 "--n-head 8 does not divide --n-embd 4");
  expect_refusal({"train", "--out-dir", folder / "x", "--min-lr", "0.01"}, 2, "--min-lr");
  expect_refusal({"train", "--out-dir", folder / "x", "--preset", "shakespeare-cpu"}, 2,
                 "expected --data FILE");
  expect_refusal({"train", "--out-dir", folder / "x", "--momentum", "0.5"}, 2,
                 "--momentum: needs --optimizer sgd");
  expect_refusal({"train", "--out-dir", folder / "x", "--block-size", "9"}, 2,
                 "--block-size: needs --data");
  expect_refusal({"train", "--out-dir", folder / "x", "--task", "sort", "--data", "x"}, 2,
                 "--task: cannot be combined with --data");
  expect_refusal({"train", "--out-dir", folder / "x", "--scale", "rt"}, 2,
                 "--scale: expected none");
  expect_refusal({"train", "--out-dir", folder / "x", "--drop-out", "0.1"}, 2,
                 "did you mean '--dropout'");
  expect_refusal({"train", "--out-dir", folder / "x", "--n-embd", "65536", "--n-layer", "1000"}, 2,
                 "GB");
  expect_refusal(
      {"train", "--out-dir", folder / "x", "--batch-size", "1000000", "--task-length", "1000"}, 2,
      "GB");
  EXPECT_TRUE(folder.names().empty());
}

TEST(Train, RefusesDataThatDoesNotFit) {
  const Folder folder;
  const auto refuse = [&](const std::string& text, int code, const std::string& message) {
    test::put(folder / "data", text);
    expect_refusal(
        {"train", "--out-dir", folder / "x", "--data", folder / "data", "--block-size", "8"}, code,
        message);
  };
  refuse("hello", 3, "data has 5 tokens, but block size 8 needs at least 9");
  refuse("", 3, "tokens");
  refuse(std::string("ab\0cd", 5), 3, "data");
  refuse("\xff\xfe\xfd", 3, "data");
  expect_refusal({"train", "--out-dir", folder / "x", "--data", folder / "none"}, 4, "none");
  expect_refusal({"train", "--out-dir", folder / "x", "--data", folder.path()}, 4, "directory");
  expect_refusal({"train", "--out-dir", folder / "x", "--data", "/dev/zero"}, 4, "a device");
  expect_refusal({"train", "--out-dir", folder / "x", "--data", "b\xff"}, 2, "--data: expected");
  expect_refusal({"train", "--out-dir", folder / "data"}, 4, "cannot make the folder");
  EXPECT_THAT(folder.names(), ElementsAre("data"));
}

TEST(Train, OfADamagedCheckpointIsRefused) {
  const Folder folder;
  run(folder / "run", {"--max-iters", "1"});
  const std::string path = folder / "run/model.safetensors", whole = test::contents(path);
  test::put(path, whole.substr(0, whole.size() - 1));
  expect_refusal({"train", "--resume", "--out-dir", folder / "run"}, 3, "model.safetensors");
  test::put(path, whole);
  const Words resume = {"train", "--resume", "--out-dir", folder / "run"};
  const auto with = [&](Words more) {
    more.insert(more.begin(), resume.begin(), resume.end());
    return more;
  };
  expect_refusal(with({"--n-embd", "16"}), 2,
                 "expected '8', as in the run that --resume continues, got '16'");
  expect_refusal(with({"--task", "sort"}), 2,
                 "--task: expected '', as in the run that --resume continues, got 'sort'");
  expect_refusal(with({"--preset", "shakespeare-cpu", "--data", "x"}), 2,
                 "a run keeps its options");
}

TEST(Train, SavesWhenInterrupted) {
  const Folder folder;
  const std::string path = folder / "run/model.safetensors", log = folder / "run/metrics.jsonl";
  const auto lines = [&log] {
    const std::string text = access(log.c_str(), F_OK) == 0 ? test::contents(log) : "";
    return std::ranges::count(text, '\n');
  };
  const Outcome outcome = test::in_child(
      [&] {
        return test::exec_program(tiny(folder / "run", {"--max-iters", "1000000"}));
      },
      [&](pid_t pid, int) {
        for (int i = 0; i < 2000 && lines() < 5; ++i) usleep(10'000);
        kill(pid, SIGINT);
      });
  EXPECT_EQ(outcome.code, 130);
  EXPECT_THAT(outcome.err, HasSubstr("--resume continues"));
  EXPECT_THAT(outcome.err, HasSubstr("error: interrupted"));
  EXPECT_GT(load_checkpoint(path).step, 0);
  auto metrics = lines_of(log);
  std::erase_if(metrics, [](const auto& line) { return line.contains("val_loss"); });
  EXPECT_EQ(metrics.back()["iter"], load_checkpoint(path).step - 1);
}

/// Nothing of an iteration that was begun remains, nor is what was done before it lost.
TEST(Train, SavesWithoutWaitingForALongIteration) {
  const Folder folder;
  const std::string path = folder / "run/metrics.jsonl";
  const Words same = {"--dropout", "0.2",          "--gradient-accumulation-steps",
                      "10000",     "--batch-size", "64"};
  const auto with = [&](Words more) {
    more.insert(more.begin(), same.begin(), same.end());
    return more;
  };
  const Outcome outcome = test::in_child(
      [&] {
        return test::exec_program(tiny(folder / "run", with({"--max-iters", "1000"})));
      },
      [&](pid_t pid, int) {
        for (int i = 0; i < 2000 && access(path.c_str(), F_OK) != 0; ++i) usleep(10'000);
        usleep(100'000);
        kill(pid, SIGINT);
      });
  EXPECT_EQ(outcome.code, 130);
  EXPECT_THAT(outcome.err, HasSubstr("stopped after 0 iterations; --resume continues"));
  const Checkpoint begun = load_checkpoint(folder / "run/model.safetensors");
  const Checkpoint fresh = run(folder / "fresh", with({"--max-iters", "0"}));
  expect_same(begun.model, fresh.model);
  EXPECT_EQ(begun.generators, fresh.generators);
}

}  // namespace
}  // namespace experiments::training
