#include "nn/io/atomic_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <utility>

#include "nn/io/errors.h"

namespace nn {
namespace {

constexpr std::string_view kPrefix = ".gradlab-";
constexpr std::string_view kSuffix = ".tmp";
constexpr std::size_t kDigits = 16;

// Not derived from the target's name, which may already be as long as is allowed.
std::string new_draft_name() {
  std::random_device device;
  const std::uint64_t bits = std::uint64_t{device()} << 32 | device();
  return fmt::format("{}{:016x}{}", kPrefix, bits, kSuffix);
}

bool is_draft_name(std::string_view name) {
  if (name.size() != kPrefix.size() + kDigits + kSuffix.size()) return false;
  const std::string_view digits = name.substr(kPrefix.size(), kDigits);
  return name.starts_with(kPrefix) && name.ends_with(kSuffix) &&
         digits.find_first_not_of("0123456789abcdef") == digits.npos;
}

/// Whoever can lock a draft has outlived its owner.
void remove_leftovers(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  if (!entries) return;
  const int at = dirfd(entries.get());
  while (const dirent* entry = readdir(entries.get())) {
    if (!is_draft_name(entry->d_name)) continue;
    const int fd = openat(at, entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) unlinkat(at, entry->d_name, 0);
    close(fd);
  }
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// `path` with symbolic links at its end followed, even if the last one leads nowhere; ""
/// with errno if they go in a circle.
std::string resolved(std::string path) {
  for (int links = 0; links < 40; ++links) {
    char target[PATH_MAX];
    const ssize_t length = readlink(path.c_str(), target, sizeof target);
    if (length < 0) return path;
    const std::string next(target, static_cast<std::size_t>(length));
    path = next.starts_with('/') ? next : fmt::format("{}/{}", folder_of(path), next);
  }
  errno = ELOOP;
  return {};
}

/// Some file systems cannot sync folders or special files, and need not.
bool is_unsupported(int error) { return error == EINVAL || error == ENOTSUP; }

}  // namespace

const FileSystem& system_calls() {
  static const FileSystem calls = {
      .open = [](const char* path, int flags, mode_t mode) { return ::open(path, flags, mode); },
      .flock = ::flock,
      .fchmod = ::fchmod,
      .write = ::write,
      .fsync = ::fsync,
      .close = ::close,
      .rename = ::rename};
  return calls;
}

AtomicFile::AtomicFile(const std::string& path, std::string shown, const FileSystem& system)
    : system_(system), shown_(std::move(shown)), target_(resolved(path)) {
  if (target_.empty()) {
    if (path.empty()) errno = ENOENT;
    fail();
  }
  mode_t unused = 0;
  exists(unused);
  folder_ = folder_of(target_);
  remove_leftovers(folder_);
  create();
}

AtomicFile::~AtomicFile() {
  if (!draft_.empty()) unlink(draft_.c_str());
  if (fd_ >= 0) system_.close(fd_);
}

/// Whether there is a file to replace, and its mode.
bool AtomicFile::exists(mode_t& mode) const {
  struct stat at {};
  if (stat(target_.c_str(), &at) != 0) return false;
  if (S_ISDIR(at.st_mode)) {
    errno = EISDIR;
    fail();
  }
  if (!S_ISREG(at.st_mode)) throw IoError(shown_ + ": it is a device, a pipe or a socket");
  mode = at.st_mode;
  return true;
}

void AtomicFile::create() {
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::string name = fmt::format("{}/{}", folder_, new_draft_name());
    const int fd = system_.open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && (errno == EEXIST || errno == EINTR)) continue;
    if (fd < 0) fail();
    // Another process may have taken it for a leftover before it was locked. Where there are no
    // locks, nobody removes leftovers either.
    struct stat at {};
    const bool lost = system_.flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!lost && fstat(fd, &at) == 0 && at.st_nlink > 0) {
      draft_ = name;
      fd_ = fd;
      return;
    }
    unlink(name.c_str());
    system_.close(fd);
  }
  errno = EEXIST;
  fail();
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = system_.write(fd_, bytes.data(), bytes.size());
    if (written >= 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
    else if (errno != EINTR) fail();
  }
}

void AtomicFile::commit() {
  mode_t before = 0;
  if (exists(before) && system_.fchmod(fd_, before & 0777) != 0) fail();
  if (system_.fsync(fd_) != 0 && !is_unsupported(errno)) fail();
  if (system_.rename(draft_.c_str(), target_.c_str()) != 0) fail();
  draft_.clear();
  if (system_.close(std::exchange(fd_, -1)) != 0) fail();  // not before: it ends the lock
  sync_folder();
}

void AtomicFile::sync_folder() {
  const int fd = system_.open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (fd < 0 && errno == EACCES) return;  // a folder that may be written but not read
  if (fd < 0) fail();
  const int error = system_.fsync(fd) == 0 ? 0 : errno;
  system_.close(fd);
  if (error == 0 || is_unsupported(error)) return;
  errno = error;
  fail();
}

void AtomicFile::fail() const {
  throw IoError(fmt::format("{}: {}", shown_, std::strerror(errno)));
}

}  // namespace nn
