#include "nn/io/atomic_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <thread>

#include "nn/io/errors.h"
#include "nn/io/safetensors.h"
#include "tests/support/process.h"
#include "tests/support/tensors.h"

namespace nn {
namespace {

using test::contents;
using test::Folder;
using testing::ElementsAre;

void save(const std::string& path, const std::string& text,
          const FileSystem& system = system_calls()) {
  AtomicFile file(path, "cannot write it", system);
  file.write(text);
  file.commit();
}

/// Counts the calls; the one before which `left` is 0 fails with `error`.
struct Failing {
  static inline int left = 0;
  static inline int error = 0;
  static inline std::size_t most = 0;  // bytes that one write() takes

  static bool fails() {
    if (left-- != 0) return false;
    errno = error;
    return true;
  }
  template <class F, class... Args>
  static auto call(F f, Args... args) -> decltype(f(args...)) {
    return fails() ? -1 : f(args...);
  }

  static const FileSystem& system() {
    static const FileSystem calls = {
        .open = [](const char* path, int flags,
                   mode_t mode) { return call(system_calls().open, path, flags, mode); },
        .flock = [](int fd, int operation) { return call(::flock, fd, operation); },
        .fchmod = [](int fd, mode_t mode) { return call(::fchmod, fd, mode); },
        .write = [](int fd, const void* bytes,
                    std::size_t n) { return call(::write, fd, bytes, std::min(n, most)); },
        .fsync = [](int fd) { return call(::fsync, fd); },
        .close =
            [](int fd) {
              const bool failed = fails();
              ::close(fd);  // Linux lets go of it either way
              return failed ? -1 : 0;
            },
        .rename = [](const char* from, const char* to) { return call(::rename, from, to); }};
    return calls;
  }
};

TEST(AtomicFile, AppearsOnlyWhenItIsWhole) {
  const Folder folder;
  test::put(folder / "x", "old");
  {
    AtomicFile file(folder / "x", "x");
    file.write("new");
    EXPECT_EQ(contents(folder / "x"), "old");
    EXPECT_EQ(folder.names().size(), 2u);
    file.commit();
  }
  EXPECT_EQ(contents(folder / "x"), "new");
  { AtomicFile(folder / "x", "x").write("never"); }
  EXPECT_EQ(contents(folder / "x"), "new");
  EXPECT_THAT(folder.names(), ElementsAre("x"));
}

TEST(AtomicFile, ModeIsTheOldFilesOrTheUmasks) {
  const Folder folder;
  const auto mode = [&] {
    struct stat at {};
    stat((folder / "x").c_str(), &at);
    return at.st_mode & 07777u;
  };
  const mode_t before = umask(027);
  save(folder / "x", "a");
  umask(before);
  EXPECT_EQ(mode(), 0640u);
  chmod((folder / "x").c_str(), 0604);
  save(folder / "x", "b");
  EXPECT_EQ(mode(), 0604u);
}

TEST(AtomicFile, FollowsLinks) {
  const Folder folder;
  ASSERT_EQ(symlink("real", (folder / "link").c_str()), 0);
  save(folder / "link", "text");
  EXPECT_EQ(contents(folder / "real"), "text");
  EXPECT_THAT(folder.names(), ElementsAre("link", "real"));
}

TEST(AtomicFile, RefusesWhatIsNoRegularFile) {
  const Folder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  ASSERT_EQ(symlink("pipe", (folder / "link").c_str()), 0);
  for (const char* name : {"pipe", "link"}) {
    EXPECT_EQ(test::message_of<IoError>([&] { save(folder / name, "text"); }),
              "cannot write it: it is a device, a pipe or a socket");
  }
  struct stat at {};
  ASSERT_EQ(stat((folder / "pipe").c_str(), &at), 0);
  EXPECT_TRUE(S_ISFIFO(at.st_mode));
  EXPECT_EQ(test::message_of<IoError>([&] { save(folder.path(), "text"); }),
            "cannot write it: Is a directory");
  {
    AtomicFile late(folder / "new", "new");  // what comes meanwhile is not replaced either
    ASSERT_EQ(mkfifo((folder / "new").c_str(), 0600), 0);
    EXPECT_THROW(late.commit(), IoError);
  }
  EXPECT_THAT(folder.names(), ElementsAre("link", "new", "pipe"));
}

TEST(AtomicFile, RemovesWhatTheDeadLeftAndNothingElse) {
  const Folder folder;
  const std::string dead = ".gradlab-0123456789abcdef.tmp";
  const std::vector<std::string> others = {".gradlab-0123456789abcdeX.tmp", ".gradlab-1.tmp",
                                           "gradlab-0123456789abcdef.tmp"};
  test::put(folder / dead, "");
  for (const std::string& name : others) test::put(folder / name, "");
  AtomicFile alive(folder / "y", "y");
  save(folder / "x", "text");
  EXPECT_THAT(folder.names(), testing::Not(testing::Contains(dead)));
  EXPECT_THAT(folder.names(), testing::IsSupersetOf(others));
  alive.write("slow");
  alive.commit();
  EXPECT_EQ(contents(folder / "y"), "slow");
}

TEST(AtomicFile, WhicheverCallFailsTheFileIsOldOrNew) {
  const Folder folder;
  const std::string path = folder / "x", longer = "0123456789";
  Failing::most = 3;
  Failing::error = EIO;
  int refused = 0;
  for (int k = 0;; ++k) {
    test::put(path, "old");
    Failing::left = k;
    try {
      save(path, longer, Failing::system());
      EXPECT_EQ(contents(path), longer) << k;
    } catch (const IoError& error) {
      EXPECT_STREQ(error.what(), "cannot write it: Input/output error") << k;
      EXPECT_THAT(contents(path), testing::AnyOf("old", longer)) << k;
      ++refused;
    }
    EXPECT_THAT(folder.names(), ElementsAre("x")) << k;
    if (Failing::left >= 0) break;  // k calls are more than there are
    ASSERT_LT(k, 100);
  }
  // open, fchmod, 4 x write, fsync, rename, close, and open and fsync of the folder; a file system
  // without locks will do, and so will one that cannot close a folder.
  EXPECT_EQ(refused, 11);
}

TEST(AtomicFile, UntilTheRenameAFailureLeavesTheOldFile) {
  const Folder folder;
  test::put(folder / "x", "old");
  Failing::most = 1000;
  Failing::error = ENOSPC;
  for (const int k : {0, 2, 3, 4, 5}) {  // open, fchmod, write, fsync, rename
    Failing::left = k;
    EXPECT_EQ(test::message_of<IoError>([&] { save(folder / "x", "new", Failing::system()); }),
              "cannot write it: No space left on device");
    EXPECT_EQ(contents(folder / "x"), "old") << k;
    EXPECT_THAT(folder.names(), ElementsAre("x")) << k;
  }
}

TEST(AtomicFile, AnInterruptedWriteGoesOn) {
  const Folder folder;
  Failing::most = 300;
  Failing::error = EINTR;
  Failing::left = 3;  // open, flock, write, write
  save(folder / "x", std::string(1000, 'n'), Failing::system());
  EXPECT_LT(Failing::left, 0);
  EXPECT_EQ(contents(folder / "x"), std::string(1000, 'n'));
}

TEST(AtomicFile, SafetensorsAreOldOrNewWhicheverCallFails) {
  const Folder folder;
  const std::string path = folder / "x";
  const auto content = [](double value) {
    return Safetensors{{{"a", test::f64({value, value})}, {"b", test::f64({value})}}, {}};
  };
  Failing::most = 64;
  Failing::error = ENOSPC;
  for (int k = 0; k == 0 || Failing::left < 0; ++k) {
    write_safetensors(path, content(1));
    Failing::left = k;
    try {
      write_safetensors(path, content(2), Failing::system());
    } catch (const IoError& error) {
      EXPECT_EQ(error.what(), "cannot write '" + path + "': No space left on device");
    }
    const Safetensors loaded = read_safetensors(path);
    EXPECT_EQ(loaded.tensors.at("a").at({1}), loaded.tensors.at("b").item());
    EXPECT_THAT(folder.names(), ElementsAre("x"));
    ASSERT_LT(k, 100);
  }
}

TEST(AtomicFile, AKilledProcessLeavesAFileThatLoads) {
  const Folder folder;
  const std::string path = folder / "x";
  const auto content = [](std::int64_t value) {
    const autograd::Array many = autograd::Array::full({50000}, 1.0 * value, autograd::DType::f64);
    return Safetensors{{{"a", autograd::Tensor(many)}, {"b", test::f64({1.0 * value})}}, {}};
  };
  write_safetensors(path, content(0));
  std::mt19937 random(7);
  double newest = 0;
  for (int kill = 0; kill < 40; ++kill) {
    const auto start = static_cast<std::int64_t>(newest);
    const test::Outcome outcome = test::in_child(
        [&] {
          for (std::int64_t step = start + 1;; ++step) write_safetensors(path, content(step));
          return 0;
        },
        [&](pid_t pid, int) {
          std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
          ::kill(pid, SIGKILL);
        });
    ASSERT_EQ(outcome.code, 1000 + SIGKILL) << outcome.err;
    const Safetensors loaded = read_safetensors(path);
    const autograd::Tensor a = loaded.tensors.at("a");
    ASSERT_EQ(a.at({0}), loaded.tensors.at("b").item());
    ASSERT_EQ(a.at({-1}), a.at({0}));
    ASSERT_GE(a.at({0}), newest);
    newest = a.at({0});
  }
  EXPECT_GT(newest, 0);
  write_safetensors(path, content(0));
  EXPECT_THAT(folder.names(), ElementsAre("x"));
}

}  // namespace
}  // namespace nn
