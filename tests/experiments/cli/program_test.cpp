#include "experiments/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <new>

#include "autograd/errors.h"
#include "autograd/machine/parallel.h"
#include "experiments/cli/errors.h"
#include "experiments/cli/signals.h"
#include "tests/experiments/run.h"

namespace experiments::cli {
namespace {

using test::Fake;
using test::Folder;
using test::Outcome;
using testing::HasSubstr;
using testing::IsEmpty;

template <class E>
std::unique_ptr<Experiment> make_throwing() {
  auto fake = std::make_unique<Fake>();
  fake->body = [](const Run&) -> Report {
    if constexpr (std::is_constructible_v<E, const char*>) throw E("op: what came\nin two lines");
    else throw E();
  };
  return fake;
}

std::unique_ptr<Experiment> make_failing_check() {
  auto fake = std::make_unique<Fake>();
  fake->body = [](const Run&) {
    report::Report report;
    report.columns = {{"x", "x"}};
    report.rows = {{1.5}};
    report.checks = {{"Var(q.k) = d", report::CheckKind::identity, 3, 4, 0.5, false}};
    return report;
  };
  return fake;
}

std::unique_ptr<Experiment> make_huge() {
  auto fake = std::make_unique<Fake>();
  fake->bytes = 4e18;
  fake->body = [](const Run&) -> Report { throw std::logic_error("ran"); };
  return fake;
}

std::unique_ptr<Experiment> make_long_message() {
  auto fake = std::make_unique<Fake>();
  fake->body = [](const Run&) -> Report { throw UsageError("--x: " + std::string(10000, 'y')); };
  return fake;
}

struct NoException {};

constexpr Entry kEntries[] = {
    {"alloc", "", "", make_throwing<std::bad_alloc>},
    {"check", "", "", make_failing_check},
    {"data", "", "", make_throwing<DataError>},
    {"engine", "", "", make_throwing<autograd::ShapeError>},
    {"huge", "", "", make_huge},
    {"io", "", "", make_throwing<IoError>},
    {"long", "", "", make_long_message},
    {"logic", "", "", make_throwing<std::logic_error>},
    {"numeric", "", "", make_throwing<autograd::NumericError>},
    {"strange", "", "", make_throwing<NoException>},
    {"usage", "", "", make_throwing<UsageError>},
};

TEST(Program, EveryErrorHasItsExitCodeOneLineAndNoOutput) {
  const struct {
    const char* command;
    int code;
    const char* named;
  } cases[] = {{"alloc", 70, "out of memory"},
               {"data", 3, "op: what came"},
               {"engine", 70, "internal error: op"},
               {"huge", 2, "80 %"},
               {"io", 4, "op: what came"},
               {"logic", 70, "internal error"},
               {"long", 2, "--x: yyy"},
               {"numeric", 5, "op: what came"},
               {"strange", 70, "internal error"},
               {"usage", 2, "op: what came"}};
  for (const auto& c : cases) {
    const Folder folder;
    const Outcome outcome = test::in_process({c.command, "--out", folder / "x"}, kEntries);
    EXPECT_EQ(outcome.code, c.code) << c.command;
    EXPECT_EQ(outcome.out, "") << c.command;
    EXPECT_TRUE(test::is_one_error_line(outcome.err)) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(c.named));
    EXPECT_THAT(folder.names(), IsEmpty()) << c.command;
  }
}

TEST(Program, MemoryIsRefusedWithTheNumber) {
  const Outcome outcome = test::in_process({"huge"}, kEntries);
  EXPECT_THAT(outcome.err, HasSubstr("these sizes need 4 EB, more than 80 % of the "));
}

TEST(Program, AFailedCheckGivesTheReportAndExitCodeOne) {
  const Outcome outcome = test::in_process({"check", "--format", "csv"}, kEntries);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "x\n1.5\n");
  EXPECT_EQ(outcome.err, "error: 1 of 1 checks failed: Var(q.k) = d\n");
}

TEST(Program, ColourNeedsATerminalOrAWord) {
  const auto out = [](const test::Words& words) { return test::in_process(words, kEntries).out; };
  EXPECT_THAT(out({"check"}), testing::Not(HasSubstr("\x1b")));
  EXPECT_THAT(out({"check", "--color", "always"}), HasSubstr("\x1b[1;31mFAIL\x1b[0m"));
  EXPECT_THAT(out({"check", "--color", "never"}), testing::Not(HasSubstr("\x1b")));
  EXPECT_THAT(out({"check", "--color", "always", "--format", "csv"}),
              testing::Not(HasSubstr("\x1b")));
  EXPECT_THAT(out({"check", "--color", "always", "--format", "json"}),
              testing::Not(HasSubstr("\x1b")));
}

TEST(Program, RunsItsDefaultCommand) {
  EXPECT_EQ(test::in_process({"--help"}).out, test::in_process({"help"}).out);
  const Outcome outcome = test::in_process({}, std::span(kEntries).subspan(1));
  EXPECT_EQ(outcome.code, 1) << outcome.err;
}

std::unique_ptr<Experiment> make_endless() {
  auto fake = std::make_unique<Fake>();
  fake->body = [](const Run& run) -> Report {
    if (write(1, "!", 1) != 1) _exit(99);  // says that it runs
    try {
      while (true) run.progress(0.5);
    } catch (const std::exception&) {
      _exit(98);  // an interrupt must not look like an error of the work
    }
  };
  return fake;
}

std::unique_ptr<Experiment> make_deaf() {
  auto fake = std::make_unique<Fake>();
  fake->body = [](const Run&) -> Report {
    if (write(1, "!", 1) != 1) _exit(99);
    while (true) pause();
  };
  return fake;
}

/// As make_deaf(), in a long product: the thread takes no signals.
std::unique_ptr<Experiment> make_multiplying() {
  auto fake = std::make_unique<Fake>();
  fake->body = [](const Run&) -> Report {
    const autograd::LibraryCall call;
    if (write(1, "!", 1) != 1) _exit(99);
    for (int i = 0; i < 1000; ++i) usleep(10'000);
    _exit(97);
  };
  return fake;
}

/// As make_deaf(), but what it does takes 1.2 s, and then it is done with a file.
std::unique_ptr<Experiment> make_writing() {
  auto fake = std::make_unique<Fake>();
  fake->body = [](const Run& run) -> Report {
    if (write(1, "!", 1) != 1) _exit(99);
    {
      const Unhurried writing;
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1200);
      while (std::chrono::steady_clock::now() < end) usleep(10'000);
    }
    if (write(1, "written", 7) != 7) _exit(99);
    run.progress(1);
    return {};
  };
  return fake;
}

constexpr Entry kEndless[] = {{"deaf", "", "", make_deaf},
                              {"endless", "", "", make_endless},
                              {"multiplying", "", "", make_multiplying},
                              {"writing", "", "", make_writing}};

Outcome interrupted(const char* command, const std::string& file, const std::vector<int>& signals) {
  const auto child = [&] {
    install_signal_handlers();
    World world;
    world.entries = kEndless;
    return run_program(test::Words{command, "--out", file}, world);
  };
  return test::in_child(child, [&](pid_t pid, int out) {
    char c = 0;
    if (read(out, &c, 1) != 1) return;
    for (const int signal : signals) {
      kill(pid, signal);
      usleep(50'000);
    }
  });
}

TEST(Program, AnInterruptEndsARunWithNothingHalfWritten) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const Folder folder;
    test::put(folder / "x", "kept");
    const Outcome outcome = interrupted("endless", folder / "x", {signal});
    EXPECT_EQ(outcome.code, 130);
    EXPECT_EQ(outcome.err, "error: interrupted\n");
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(folder.names(), testing::ElementsAre("x"));
    EXPECT_EQ(test::contents(folder / "x"), "kept");
  }
}

TEST(Program, AnInterruptEndsWhatDoesNotLook) {
  for (const char* command : {"deaf", "multiplying"}) {
    const Folder folder;
    test::put(folder / "x", "kept");
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = interrupted(command, folder / "x", {SIGINT});
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));  // 0.3, if idle
    EXPECT_EQ(outcome.code, 130) << command;
    EXPECT_EQ(outcome.err, "error: interrupted\n");
    EXPECT_THAT(folder.names(), testing::ElementsAre("x"));
    EXPECT_EQ(test::contents(folder / "x"), "kept");
  }
}

TEST(Program, AnInterruptWaitsForAFile) {
  const Folder folder;
  const Outcome outcome = interrupted("writing", folder / "x", {SIGINT});
  EXPECT_EQ(outcome.code, 130);
  EXPECT_EQ(outcome.err, "error: interrupted\n");
  EXPECT_EQ(outcome.out, "written");
}

TEST(Program, ASecondInterruptEndsTheProcessAtOnce) {
  const Folder folder;
  EXPECT_EQ(interrupted("deaf", folder / "x", {SIGINT, SIGINT}).code, 1000 + SIGINT);
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(Program, TheRealProgramIsInterruptedToo) {
  // Long enough to run for minutes.
  const Outcome outcome = test::in_child(
      [] {
        return test::exec_program({"gradcheck", "--trials", "10000", "--threads", "2"});
      },
      [](pid_t pid, int) {
        usleep(500'000);
        kill(pid, SIGINT);
      });
  EXPECT_EQ(outcome.code, 130);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "error: interrupted\n");
}

TEST(Program, RunsOnASmallStackOrSaysSo) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer itself needs more";
#endif
  for (const rlim_t kilobytes : {64, 128, 256, 1024}) {
    for (const rlim_t most : {rlim_t{8192}, kilobytes}) {
      const Outcome outcome = test::execute({"scaling", "--quick", "--threads", "2"}, [&] {
        const rlimit small{kilobytes << 10, most << 10};
        setrlimit(RLIMIT_STACK, &small);
      });
      if (outcome.code == 0) continue;
      EXPECT_LT(most, 1024u) << outcome.err;  // and this process may not raise it
      EXPECT_EQ(outcome.code, 2) << kilobytes;
      EXPECT_THAT(outcome.err, HasSubstr("expected a stack of at least 1024 kB"));
      EXPECT_TRUE(test::is_one_error_line(outcome.err)) << outcome.err;
    }
  }
}

TEST(Program, TheSameSeedGivesTheSameBytesForAnyThreadCount) {
  for (const char* format : {"csv", "table"}) {
    const test::Words words = {"scaling",  "--quick", "--seed",   "7",
                               "--format", format,    "--threads"};
    std::string first;
    for (const char* threads : {"1", "2", "3", "4"}) {
      test::Words all = words;
      all.push_back(threads);
      const Outcome outcome = test::in_process(all);
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      if (first.empty()) first = outcome.out;
      EXPECT_EQ(outcome.out, first) << threads;
    }
  }
}

}  // namespace
}  // namespace experiments::cli
