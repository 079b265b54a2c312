#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "experiments/cli/program.h"
#include "tests/experiments/run.h"

// The real program on a pseudo-terminal: colours and the progress bar.

namespace experiments::cli {
namespace {

using test::Folder;
using test::Outcome;
using test::Words;
using testing::HasSubstr;
using testing::Not;

/// What arrives on a terminal that is descriptor `fd` of the program.
std::string on_terminal(int fd, const std::function<int()>& program) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return "no terminal";
  const std::string name = ptsname(master);
  const int keep_open = open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  const Outcome outcome = test::in_child([&] {
    dup2(open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC), fd);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    return program();
  });
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::string text;
  for (pollfd request{master, POLLIN, 0}; poll(&request, 1, 0) > 0;) {
    char buffer[4096];
    const ssize_t n = read(master, buffer, sizeof buffer);
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  close(keep_open);
  close(master);
  return text;
}

std::string stdout_of(const Words& words, const std::function<void()>& before = {}) {
  return on_terminal(1, [&] {
    if (before) before();
    return test::exec_program(words);
  });
}

const Words kInfo = {"info"};

TEST(Terminal, HasColoursUnlessToldOtherwise) {
  EXPECT_THAT(stdout_of(kInfo), HasSubstr("\x1b[1m"));
  EXPECT_THAT(stdout_of(kInfo, [] { setenv("NO_COLOR", "1", 1); }), Not(HasSubstr("\x1b")));
  EXPECT_THAT(stdout_of(kInfo, [] { setenv("NO_COLOR", "", 1); }), HasSubstr("\x1b[1m"));
  EXPECT_THAT(stdout_of(kInfo, [] { setenv("TERM", "dumb", 1); }), Not(HasSubstr("\x1b")));
  EXPECT_THAT(stdout_of(kInfo, [] { unsetenv("TERM"); }), Not(HasSubstr("\x1b")));
  EXPECT_THAT(stdout_of({"info", "--color", "never"}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(stdout_of({"info", "--color", "always"}, [] { setenv("NO_COLOR", "1", 1); }),
              HasSubstr("\x1b[1m"));
  for (const char* format : {"csv", "json"})
    EXPECT_THAT(stdout_of({"info", "--format", format}), Not(HasSubstr("\x1b")));
}

TEST(Terminal, AFileGetsNoColoursFromIt) {
  const Folder folder;
  EXPECT_EQ(stdout_of({"info", "--out", folder / "x"}), "");
  EXPECT_THAT(test::contents(folder / "x"), Not(HasSubstr("\x1b")));
}

/// Works for longer than it takes until the bar is drawn.
std::unique_ptr<Experiment> make_slow() {
  auto fake = std::make_unique<test::Fake>();
  fake->body = [](const Run& run) {
    for (int i = 0; i <= 70; ++i) {
      run.progress(i / 70.0);
      usleep(10'000);
    }
    return report::Report{};
  };
  return fake;
}
constexpr Entry kSlow[] = {{"slow", "", "", make_slow}};

int run_slow() {
  World world;
  world.entries = kSlow;
  return run_program(Words{"slow"}, world);
}

TEST(Terminal, ProgressIsErasedInTheEnd) {
  const std::string text = on_terminal(2, run_slow);
  EXPECT_THAT(text, HasSubstr("slow ["));
  EXPECT_THAT(text, HasSubstr(" %"));
  EXPECT_THAT(text, testing::EndsWith("\r\x1b[K"));
}

TEST(Terminal, ProgressStaysWithinTheWidth) {
  for (const unsigned short width : {4, 12, 20, 31, 80}) {
    const std::string text = on_terminal(2, [width] {
      winsize size{};
      size.ws_col = width;
      if (ioctl(2, TIOCSWINSZ, &size) != 0) return 99;
      return run_slow();
    });
    std::size_t widest = 0;
    for (std::size_t begin = text.find('\r'); begin != text.npos;) {
      const std::size_t end = text.find("\x1b[K", begin);
      widest = std::max(widest, end - begin - 1);
      begin = text.find('\r', begin + 1);
    }
    EXPECT_LT(widest, width) << text;
    EXPECT_GT(widest, 0u);
    EXPECT_EQ(text.find("[####") != text.npos, width >= 31) << text;
  }
}

TEST(Terminal, ProgressIsShownNowhereElse) {
  const Outcome outcome = test::in_child(run_slow);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(on_terminal(2,
                        [] {
                          setenv("TERM", "dumb", 1);
                          return run_slow();
                        }),
            "");
}

}  // namespace
}  // namespace experiments::cli
