#include "experiments/training/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "tests/experiments/training/tiny_run.h"

// What the program leaves in the folder of a run, whatever happens to it.

namespace experiments::training {
namespace {

using test::execute;
using test::Folder;
using test::lines_of;
using test::Outcome;
using test::tiny;
using test::Words;
using testing::HasSubstr;
using testing::Not;

struct TinyRun {
  Folder folder;
  std::string path = folder / "run";
  RunFolder files{path};

  explicit TinyRun(const Words& more = {"--max-iters", "20"}) {
    const Outcome outcome = execute(tiny(path, more));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }
  Outcome resume(const Words& more = {}) const {
    Words words = {"train", "--resume", "--out-dir", path};
    words.insert(words.end(), more.begin(), more.end());
    return execute(words);
  }
  std::string model() const { return test::contents(files.checkpoint_path()); }
  /// Something about its checkpoint changed.
  template <class F>
  void change(F how) const {
    Checkpoint checkpoint = files.load();
    how(checkpoint);
    files.save(checkpoint);
  }
};

nn::Tensor filled(const nn::Tensor& like, double value) {
  return autograd::full(like.shape(), value, like.dtype());
}

bool is_finite(const Checkpoint& checkpoint) {
  const auto finite = [](const auto& entry) { return all_finite(entry.second.data()); };
  return std::ranges::all_of(checkpoint.model, finite) &&
         std::ranges::all_of(checkpoint.optimizer, finite);
}

/// Waits until there is a file at `path`.
void wait_for(const std::string& path) {
  for (int i = 0; i < 6000 && access(path.c_str(), F_OK) != 0; ++i) usleep(10'000);
}

// --- nothing that is not finite

TEST(RunFolder, NeverHoldsAModelThatIsNotFinite) {
  int failures = 0;
  for (const char* iterations : {"1", "2", "3", "5", "8"}) {
    const Folder folder;
    const Outcome outcome = execute(
        tiny(folder / "run", {"--max-iters", iterations, "--optimizer", "sgd", "--learning-rate",
                              "1e6", "--grad-clip", "0", "--eval-interval", "1"}));
    EXPECT_TRUE(is_finite(load_checkpoint(folder / "run/model.safetensors"))) << iterations;
    EXPECT_THAT(outcome.err + outcome.out, Not(HasSubstr("loss nan"))) << iterations;
    EXPECT_THAT(outcome.err + outcome.out, Not(HasSubstr("-nan"))) << iterations;
    EXPECT_TRUE(outcome.code == 0 || outcome.code == 5) << outcome.code;
    failures += outcome.code == 5;
  }
  EXPECT_GT(failures, 0);
}

TEST(RunFolder, OfAModelThatIsNotFiniteStaysAsItIs) {
  const std::vector<std::pair<std::string, double>> bad = {
      {"wte.weight", std::nan("")},
      {"optimizer.exp_avg.wte.weight", HUGE_VAL},
      {"optimizer.exp_avg_sq.wte.weight", std::nan("")},
      {"optimizer.exp_avg_sq.wte.weight", -1}};
  const TinyRun run;
  const std::string good = run.model();
  for (const auto& [name, value] : bad) {
    test::put(run.files.checkpoint_path(), good);
    run.change([&, key = name, number = value](Checkpoint& checkpoint) {
      const bool of_model = !key.starts_with("optimizer.");
      nn::Tensor& tensor =
          of_model ? checkpoint.model.at(key) : checkpoint.optimizer.at(key.substr(10));
      tensor = filled(tensor, number);
    });
    const std::string before = run.model();
    for (const char* iterations : {"20", "40"}) {  // nothing left to do, and more to do
      const Outcome outcome = run.resume({"--max-iters", iterations});
      EXPECT_EQ(outcome.code, 5) << name << outcome.err;
      EXPECT_THAT(outcome.err, HasSubstr(name.substr(name.rfind("wte")))) << outcome.err;
      EXPECT_EQ(run.model(), before) << name;
    }
  }
}

// --- one process at a time

TEST(RunFolder, IsWrittenByOneProcessAtATime) {
  const Folder folder;
  const std::string path = folder / "run", model = path + "/model.safetensors";
  std::string log;
  const Outcome first = test::in_child(
      [&] {
        return test::exec_program(tiny(path, {"--max-iters", "100000000"}));
      },
      [&](pid_t pid, int) {
        wait_for(model);
        const Words resume = {"train", "--resume", "--out-dir", path};
        for (const Words& words : {tiny(path, {"--overwrite"}), resume}) {
          const Outcome second = execute(words);
          EXPECT_EQ(second.code, 4) << second.err;
          EXPECT_THAT(second.err,
                      HasSubstr("in use by another run, process " + std::to_string(pid)));
          EXPECT_TRUE(test::is_one_error_line(second.err)) << second.err;
        }
        kill(pid, SIGKILL);
      });
  EXPECT_EQ(first.code, 1000 + SIGKILL);
  const Outcome next = execute({"train", "--resume", "--out-dir", path, "--max-iters", "1"});
  EXPECT_EQ(next.code, 0) << next.err;  // the dead hold nothing
}

TEST(RunFolder, IsReadWhileItIsWritten) {
  const TinyRun run;
  const FolderLock lock(run.files);
  EXPECT_EQ(execute({"eval", "--out-dir", run.path}).code, 0);
}

// --- devices and pipes

TEST(RunFolder, ReplacesNoPipe) {
  for (const char* name :
       {"samples.txt", "config.json", "metrics.jsonl", "model_best.safetensors"}) {
    const TinyRun run;
    const std::string path = run.path + '/' + name;
    run.files.remove(name);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    const Outcome outcome = run.resume({"--max-iters", "40"});
    EXPECT_EQ(outcome.code, name == std::string("metrics.jsonl") ? 3 : 4) << name << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(name));
    struct stat at {};
    ASSERT_EQ(stat(path.c_str(), &at), 0);
    EXPECT_TRUE(S_ISFIFO(at.st_mode)) << name;
  }
}

TEST(RunFolder, RemovesNoPipe) {
  for (const char* name : {"samples.txt", "model_best.safetensors"}) {
    const Folder folder;
    const std::string path = folder / name;
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    const Outcome outcome = execute(tiny(folder.path(), {"--max-iters", "1"}));
    EXPECT_EQ(outcome.code, 4) << name << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(name));
    struct stat at {};
    ASSERT_EQ(stat(path.c_str(), &at), 0);
    EXPECT_TRUE(S_ISFIFO(at.st_mode)) << name;
  }
}

TEST(RunFolder, ThatCannotBeLookedIntoIsNoMissingRun) {
  const Folder folder;
  const std::string loop = folder / "loop";
  ASSERT_EQ(symlink(loop.c_str(), loop.c_str()), 0);
  for (const Words& more : {Words{"--resume"}, Words{}}) {
    Words words = {"train", "--out-dir", loop};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = execute(words);
    EXPECT_EQ(outcome.code, 4);
    EXPECT_THAT(outcome.err, HasSubstr("loop/model.safetensors': Too many levels"));
  }
}

// --- a log that is damaged

TEST(RunFolder, OfADamagedLogSaysWhichLine) {
  const TinyRun run;
  const std::string log = run.path + "/metrics.jsonl", good = test::contents(log);
  const std::size_t second = good.find('\n') + 1;
  for (const char* bad : {R"({"iter": 0, "val_loss": 2, "final": "no"})",
                          R"({"iter": 0, "val_loss": 2, "final": null})",
                          R"({"iter": 0, "val_loss": 2, "final": [1]})", R"({"iter": 0.5})",
                          R"({"iter": -1})", R"({})", R"([])", "x", "", R"({"iter": 0)"}) {
    const std::string damaged = good.substr(0, second) + bad + '\n' + good.substr(second);
    test::put(log, damaged);
    const Outcome outcome = run.resume({"--max-iters", "30"});
    EXPECT_EQ(outcome.code, 3) << bad << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("metrics.jsonl': line 2: expected an object"));
    EXPECT_EQ(test::contents(log), damaged) << bad;
  }
  test::put(log, good + R"({"iter": 20, "lo)");  // as a killed process leaves it
  const Outcome outcome = run.resume({"--max-iters", "21"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(lines_of(log).back()["iter"], 21);
}

// --- what an older run loses, and when

TEST(RunFolder, KeepsARunUntilThereIsSomethingInItsPlace) {
  const TinyRun run;
  const auto all = [&] {
    std::string text;
    for (const char* name : {"model.safetensors", "model_best.safetensors", "config.json",
                             "metrics.jsonl", "samples.txt"}) {
      text += test::contents(run.path + '/' + name);
    }
    return text;
  };
  const std::string before = all();
  for (const int signal : {SIGKILL, SIGINT}) {
    const Outcome outcome = test::in_child(
        [&] {
          return test::exec_program({"train", "--out-dir", run.path, "--overwrite", "--eval-iters",
                                     "1000000", "--n-embd", "16"});
        },
        [signal](pid_t pid, int) {
          usleep(1'500'000);
          kill(pid, signal);
        });
    EXPECT_EQ(outcome.code, signal == SIGINT ? 130 : 1000 + SIGKILL) << outcome.err;
    EXPECT_EQ(all(), before);
  }
  EXPECT_EQ(run.resume({"--max-iters", "21"}).code, 0);
}

TEST(RunFolder, KeepsTheStepsBeforeALogThatCannotBeWritten) {
  const Folder folder;
  const Words words = tiny(folder / "run", {"--max-iters", "100000", "--eval-interval", "100000"});
  const Outcome outcome = execute(words, [] {
    const rlimit limit{60'000, 60'000};  // bytes of a file: more than the model, less than the log
    setrlimit(RLIMIT_FSIZE, &limit);
  });
  EXPECT_EQ(outcome.code, 4) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("/run/metrics.js"));
  const std::int64_t step = load_checkpoint(folder / "run/model.safetensors").step;
  EXPECT_GT(step, 100);
  const Outcome rest = execute(
      {"train", "--resume", "--out-dir", folder / "run", "--max-iters", std::to_string(step + 5)});
  EXPECT_EQ(rest.code, 0) << rest.err;
}

// --- the best model

TEST(RunFolder, KeepsTheBestModelToo) {
  // Its rate rises for long and then is far too high.
  const TinyRun run({"--max-iters", "100", "--optimizer", "sgd", "--schedule", "constant",
                     "--warmup-iters", "90", "--learning-rate", "40"});
  double best = HUGE_VAL, iter = -1;
  for (const auto& line : lines_of(run.path + "/metrics.jsonl")) {
    if (!line.contains("val_loss") || line["final"] == 1 || line["val_loss"] >= best) continue;
    best = line["val_loss"];
    iter = line["iter"];
  }
  ASSERT_LT(iter, 100);
  const Checkpoint kept = load_checkpoint(run.files.best_path());
  EXPECT_EQ(static_cast<double>(kept.step), iter);
  EXPECT_EQ(kept.metrics.at("best_val_loss"), best);
  EXPECT_EQ(run.files.load().metrics.at("best_val_loss"), best);
  const Outcome again = run.resume();
  EXPECT_THAT(again.out, HasSubstr("Best on validation was iteration " +
                                   std::to_string(static_cast<int>(iter)) + ": "));
  EXPECT_EQ(load_checkpoint(run.files.best_path()).step, kept.step);
  EXPECT_EQ(execute({"eval", "--out-dir", run.files.best_path()}).code, 0);
}

}  // namespace
}  // namespace experiments::training
