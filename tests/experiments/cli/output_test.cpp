#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "experiments/cli/signals.h"
#include "tests/experiments/run.h"

namespace experiments::cli {
namespace {

using test::contents;
using test::execute;
using test::Folder;
using test::Outcome;
using test::Words;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Words kInfo = {"info", "--format", "csv"};

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string expected() {
  static const std::string text = execute(kInfo).out;
  return text;
}

void expect_io_error(const Outcome& outcome, const Words& named) {
  EXPECT_EQ(outcome.code, 4) << outcome.err;
  EXPECT_TRUE(test::is_one_error_line(outcome.err)) << outcome.err;
  for (const std::string& name : named) EXPECT_THAT(outcome.err, HasSubstr(name));
}

/// A command that must not be reached: its --out is checked before it runs.
std::unique_ptr<Experiment> make_unreachable() {
  auto fake = std::make_unique<test::Fake>();
  fake->body = [](const Run&) -> Report {
    ADD_FAILURE() << "ran";
    return {};
  };
  return fake;
}
constexpr Entry kUnreachable[] = {{"unreachable", "", "", make_unreachable}};

TEST(Output, AFileHasExactlyWhatStdoutWouldHave) {
  const Folder folder;
  const Outcome outcome = execute(with(kInfo, {"--out", folder / "new.csv"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(contents(folder / "new.csv"), expected());
  EXPECT_THAT(folder.names(), ElementsAre("new.csv"));
}

TEST(Output, ReplacesAFileAndKeepsItsMode) {
  const Folder folder;
  test::put(folder / "old.csv", std::string(100000, 'x'));
  chmod((folder / "old.csv").c_str(), 0640);
  EXPECT_EQ(execute(with(kInfo, {"--out", folder / "old.csv"})).code, 0);
  EXPECT_EQ(contents(folder / "old.csv"), expected());
  struct stat at {};
  stat((folder / "old.csv").c_str(), &at);
  EXPECT_EQ(at.st_mode & 07777u, 0640u);
  EXPECT_THAT(folder.names(), ElementsAre("old.csv"));
}

TEST(Output, FollowsLinksAlsoToAFileToBe) {
  const Folder folder;
  mkdir((folder / "sub").c_str(), 0755);
  ASSERT_EQ(symlink("sub/real.csv", (folder / "link.csv").c_str()), 0);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(execute(with(kInfo, {"--out", folder / "link.csv"})).code, 0);
    EXPECT_EQ(contents(folder / "sub/real.csv"), expected());
    EXPECT_THAT(folder.names(), ElementsAre("link.csv", "sub"));
  }
  ASSERT_EQ(symlink("loop", (folder / "loop").c_str()), 0);
  expect_io_error(execute(with(kInfo, {"--out", folder / "loop"})), {"--out", "symbolic links"});
}

TEST(Output, TakesTheLongestNameThereIs) {
  const Folder folder;
  const std::string name(255, 'n');
  EXPECT_EQ(execute(with(kInfo, {"--out", folder / name})).code, 0);
  EXPECT_EQ(contents(folder / name), expected());
  expect_io_error(execute(with(kInfo, {"--out", folder / (name + "n")})), {"--out", "too long"});
}

TEST(Output, WhatCannotBeAFileIsRefusedBeforeTheRun) {
  const Folder folder;
  test::put(folder / "file", "kept");
  for (const std::string& path :
       {folder / "missing/x.csv", folder.path(), folder / "file/x.csv", folder / "new/",
        std::string("/proc/x.csv"), std::string("/"), std::string(".")}) {
    expect_io_error(test::in_process({"--out", path}, kUnreachable), {"--out", "cannot write"});
    EXPECT_THAT(folder.names(), ElementsAre("file"));
  }
  EXPECT_EQ(contents(folder / "file"), "kept");
}

TEST(Output, AFileOrFolderThatMayNotBeWrittenIsRefused) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everything";
  const Folder folder;
  test::put(folder / "file", "kept");
  chmod((folder / "file").c_str(), 0444);
  expect_io_error(execute(with(kInfo, {"--out", folder / "file"})), {"--out", "denied"});
  EXPECT_EQ(contents(folder / "file"), "kept");
  chmod(folder.path().c_str(), 0555);
  expect_io_error(execute(with(kInfo, {"--out", folder / "new"})), {"--out", "denied"});
  chmod(folder.path().c_str(), 0755);
}

TEST(Output, AFullDiskLeavesTheOldFileAndNothingElse) {
  const Folder folder;
  test::put(folder / "old.csv", "kept");
  const Outcome outcome = execute(with(kInfo, {"--out", folder / "old.csv"}), [] {
    const rlimit limit = {16, 16};
    setrlimit(RLIMIT_FSIZE, &limit);
  });
  expect_io_error(outcome, {"--out", "old.csv", "File too large"});
  EXPECT_EQ(contents(folder / "old.csv"), "kept");
  EXPECT_THAT(folder.names(), ElementsAre("old.csv"));
}

TEST(Output, FullDevicesAreReported) {
  expect_io_error(execute(with(kInfo, {"--out", "/dev/full"})),
                  {"--out", "/dev/full", "No space left on device"});
  for (const Words& words : {kInfo, Words{"--help"}, {"--version"}, {"info", "--help"}}) {
    const Outcome outcome = execute(words, [] { dup2(open("/dev/full", O_WRONLY), 1); });
    expect_io_error(outcome, {"stdout", "No space left on device"});
  }
}

TEST(Output, AFullStderrChangesNothing) {
  const Outcome outcome = execute({"scalin"}, [] { dup2(open("/dev/full", O_WRONLY), 2); });
  EXPECT_EQ(outcome.code, 2);
}

TEST(Output, AClosedStdoutIsReported) {
  expect_io_error(execute(kInfo, [] { close(1); }), {"stdout", "Bad file descriptor"});
}

TEST(Output, NoFileTakesTheDescriptorOfAStream) {
  const Outcome outcome = test::in_child([] {
    close(0);
    close(1);
    close(2);
    reserve_standard_descriptors();
    const bool later = open("/dev/null", O_WRONLY) > 2;
    const bool unusable = ::write(1, "x", 1) == -1 && ::write(2, "x", 1) == -1;
    return later && unusable ? 0 : 1;
  });
  EXPECT_EQ(outcome.code, 0);
  const Folder folder;
  const Outcome file = execute(with(kInfo, {"--out", folder / "x"}), [] {
    close(0);
    close(1);
    close(2);
  });
  EXPECT_EQ(file.code, 0);
  EXPECT_EQ(contents(folder / "x"), expected());
}

TEST(Output, AReaderThatLeavesIsNoError) {
  const Outcome outcome = execute(kInfo, [] {
    int ends[2];
    if (pipe(ends) != 0) _exit(99);
    close(ends[0]);
    dup2(ends[1], 1);
  });
  EXPECT_EQ(outcome.code, 4);
  EXPECT_EQ(outcome.err, "");
}

TEST(Output, DevicesAndPipesAreWrittenDirectly) {
  const Folder folder;
  EXPECT_EQ(execute(with(kInfo, {"--out", "/dev/null"})).code, 0);
  struct stat at {};
  stat("/dev/null", &at);
  EXPECT_TRUE(S_ISCHR(at.st_mode));
  EXPECT_EQ(execute(with(kInfo, {"--out", "/dev/stdout"})).out, expected());
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = contents(folder / "fifo"); });
  EXPECT_EQ(execute(with(kInfo, {"--out", folder / "fifo"})).code, 0);
  reader.join();
  EXPECT_EQ(read, expected());
}

TEST(Output, ToTheFileThatStdoutIsAppends) {
  const Folder folder;
  test::put(folder / "log", "before\n");
  const std::string log = folder / "log";
  for (const std::string& path : {std::string("/dev/stdout"), log}) {
    test::put(log, "before\n");
    const Outcome outcome = execute(with(kInfo, {"--out", path}),
                                    [&log] { dup2(open(log.c_str(), O_WRONLY | O_APPEND), 1); });
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(contents(log), "before\n" + expected());
  }
}

TEST(Output, AnOrdinaryNameWithStrangeCharactersIsKept) {
  const Folder folder;
  for (const std::string& name : {std::string("[a,b]"), std::string("a b\n"), std::string("-x"),
                                  std::string("{}"), std::string("\xff"), std::string("a=b")}) {
    EXPECT_EQ(execute(with(kInfo, {"--out=" + (folder / name)})).code, 0);
    EXPECT_EQ(contents(folder / name), expected()) << name;
  }
  EXPECT_EQ(folder.names().size(), 6u);
}

}  // namespace
}  // namespace experiments::cli
