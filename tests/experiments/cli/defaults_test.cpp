#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "autograd/machine/sanitizer.h"
#include "tests/experiments/command_run.h"

// What a command does when it is only named.

namespace experiments::cli {
namespace {

using test::Outcome;

/// Commands that are meant to take long, or that need a file.
bool is_work(const std::string& name) {
  constexpr const char* kNames[] = {"bench", "convert", "eval", "recall", "sample", "train"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

/// Seconds of processor time of the children so far.
double processor_seconds() {
  rusage use{};
  getrusage(RUSAGE_CHILDREN, &use);
  return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

struct Timed {
  Outcome outcome;
  double seconds;  // on the wall or, if less, of processor time: what it takes with no other work
};

Timed timed(const std::string& name, const char* locale) {
  const auto start = std::chrono::steady_clock::now();
  const double before = processor_seconds();
  Outcome outcome = test::execute({name}, [locale] { setenv("LC_ALL", locale, 1); });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return {std::move(outcome), std::min(took.count(), processor_seconds() - before)};
}

TEST(Defaults, EveryCommandAnswersInTimeAndWithin100Columns) {
#if GRADLAB_ASAN
  GTEST_SKIP() << "takes minutes under the sanitizers, where each command has smaller tests";
#endif
  for (const Entry& entry : registry()) {
    if (is_work(entry.name)) continue;
    double seconds = HUGE_VAL;
    for (const char* locale : {"C.UTF-8", "C"}) {
      const Timed run = timed(entry.name, locale);
      EXPECT_EQ(run.outcome.code, 0) << entry.name << run.outcome.err;
      EXPECT_EQ(run.outcome.err, "") << entry.name;
      test::expect_narrow(run.outcome.out);
      seconds = std::min(seconds, run.seconds);
    }
#ifdef NDEBUG
    EXPECT_LT(seconds, 5) << entry.name;
#endif
    RecordProperty(entry.name, std::to_string(seconds));
  }
}

}  // namespace
}  // namespace experiments::cli
