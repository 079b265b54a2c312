#include "experiments/cli/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "experiments/cli/errors.h"
#include "experiments/cli/signals.h"
#include "experiments/report/text.h"
#include "nn/io/atomic_file.h"

namespace experiments::cli {
namespace {

[[noreturn]] void fail(const std::string& shown, int error) {
  if (error == EPIPE) throw ClosedPipe{};
  throw IoError(fmt::format("{}: {}", shown, std::strerror(error)));
}

/// A descriptor that is closed at the end.
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
  shown_ = fmt::format("--out: cannot write {}", report::quote(path, 100));
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
    const nn::AtomicFile trial(path_, shown_);
  }
}

void Output::write(std::string_view text) const {
  if (kind_ == Kind::file) {
    nn::AtomicFile file(path_, shown_);
    file.write(text);
    file.commit();
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

}  // namespace experiments::cli
