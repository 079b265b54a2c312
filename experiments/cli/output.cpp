#include "experiments/cli/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "experiments/cli/errors.h"
#include "experiments/cli/signals.h"
#include "experiments/report/text.h"

namespace experiments {
namespace {

[[noreturn]] void fail(const std::string& shown, int error) {
  if (error == EPIPE) throw ClosedPipe{};
  throw IoError(fmt::format("{}: {}", shown, std::strerror(error)));
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// `path` with symbolic links at its end followed, also where the last one leads to nothing.
std::string resolved(std::string path, const std::string& shown) {
  for (int links = 0; links < 40; ++links) {
    char target[PATH_MAX];
    const ssize_t length = readlink(path.c_str(), target, sizeof target);
    if (length < 0) return path;
    const std::string next(target, static_cast<std::size_t>(length));
    path = next.starts_with('/') ? next : fmt::format("{}/{}", folder_of(path), next);
  }
  fail(shown, ELOOP);
}

/// A descriptor, closed in the end.
class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }
  int close() {  // 0, or -1 with errno
    const int fd = fd_;
    fd_ = -1;
    return ::close(fd);
  }

 private:
  int fd_;
};

/// A new file beside `path`, removed in the end unless it was renamed to it.
class Draft {
 public:
  Draft(const std::string& path, const std::string& shown)
      : target_(path), shown_(shown), file_(create()) {}
  ~Draft() {
    if (!name_.empty()) unlink(name_.c_str());
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  void commit(std::string_view text) {
    struct stat before {};
    if (stat(target_.c_str(), &before) == 0 && fchmod(file_.fd(), before.st_mode & 0777) != 0)
      fail(shown_, errno);
    write_all(file_.fd(), text, shown_);
    if (fsync(file_.fd()) != 0 && errno != EINVAL) fail(shown_, errno);
    if (file_.close() != 0) fail(shown_, errno);
    if (std::rename(name_.c_str(), target_.c_str()) != 0) fail(shown_, errno);
    name_.clear();
  }

 private:
  int create() {
    for (int i = 0; i < 100; ++i) {
      // Not made of the target's name, which may already have the longest that is allowed.
      name_ = fmt::format("{}/.gradlab-{}-{}.tmp", folder_of(target_), getpid(), i);
      const int fd = open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd >= 0) return fd;
      if (errno != EEXIST) break;
    }
    const int error = errno;
    name_.clear();
    fail(shown_, error);
  }

  std::string target_;
  std::string shown_;
  std::string name_;
  File file_;
};

void wait_writable(int fd) {
  pollfd request{fd, POLLOUT, 0};
  poll(&request, 1, -1);
}

}  // namespace

void write_all(int fd, std::string_view text, const std::string& shown) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EINTR) {
      throw_if_interrupted();
    } else if (errno == EAGAIN) {
      wait_writable(fd);
      throw_if_interrupted();
    } else {
      fail(shown, errno);
    }
  }
}

Output::Output(const std::string& path, int stdout_fd)
    : path_(path), shown_("stdout"), stdout_fd_(stdout_fd) {
  if (path == "-") {
    kind_ = Kind::stream;
    return;
  }
  shown_ = fmt::format("--out: cannot write {}", quote(path, 100));
  struct stat at {
  }, stream{};
  const bool exists = stat(path.c_str(), &at) == 0;
  if (!exists && errno != ENOENT) fail(shown_, errno);
  if (exists ? S_ISDIR(at.st_mode) : path.ends_with('/')) fail(shown_, EISDIR);
  if (exists && access(path.c_str(), W_OK) != 0) fail(shown_, errno);
  const bool is_stdout = exists && fstat(stdout_fd, &stream) == 0 && at.st_dev == stream.st_dev &&
                         at.st_ino == stream.st_ino;
  if (is_stdout) {
    kind_ = Kind::stream;
  } else if (exists && !S_ISREG(at.st_mode)) {
    kind_ = Kind::device;
  } else {
    path_ = resolved(path, shown_);
    const Draft trial(path_, shown_);
  }
}

void Output::write(std::string_view text) const {
  if (kind_ == Kind::file) {
    Draft(path_, shown_).commit(text);
    return;
  }
  const int fd = kind_ == Kind::device ? open(path_.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC)
                                       : dup(stdout_fd_);
  if (fd < 0) {
    throw_if_interrupted();
    fail(shown_, errno);
  }
  File file(fd);
  write_all(file.fd(), text, shown_);
  if (file.close() != 0) fail(shown_, errno);
}

}  // namespace experiments
