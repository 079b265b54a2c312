#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace nn {

/// The system calls behind an AtomicFile, for tests that make one of them fail.
struct FileSystem {
  int (*open)(const char* path, int flags, mode_t mode);
  int (*flock)(int fd, int operation);
  int (*fchmod)(int fd, mode_t mode);
  ssize_t (*write)(int fd, const void* bytes, std::size_t count);
  int (*fsync)(int fd);
  int (*close)(int fd);
  int (*rename)(const char* from, const char* to);
};

const FileSystem& system_calls();

/// A file that appears whole or not at all. It is written as ".gradlab-<16 hex digits>.tmp" in the
/// folder of its target, reaches the disk, and then takes the target's name; until that moment the
/// old file stays as it is. Symbolic links are followed, an existing file's mode is kept. Drafts
/// that killed processes left in the folder are removed: a living one holds a lock on its own. A
/// target that is there and is no regular file (a device, a pipe, a folder) is refused, not
/// replaced.
class AtomicFile {
 public:
  /// `shown` begins the IoErrors: "cannot write 'a.csv'" gives "cannot write 'a.csv': Disk quota
  /// exceeded". IoError here if there can be no new file in the folder, or no file of that name.
  AtomicFile(const std::string& path, std::string shown, const FileSystem& system = system_calls());
  ~AtomicFile();  // without commit() nothing has happened
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);  // IoError, here and below
  void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }
  /// Call it once. Errors of closing the file and syncing its folder come when it is in place.
  void commit();

 private:
  bool exists(mode_t& mode) const;
  void create();
  void sync_folder();
  [[noreturn]] void fail() const;  // with errno

  const FileSystem& system_;
  std::string shown_;
  std::string target_;
  std::string folder_;
  std::string draft_;  // its path while it exists
  int fd_ = -1;
};

}  // namespace nn
