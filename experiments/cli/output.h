#pragma once

#include <string>
#include <string_view>

namespace experiments::cli {

/// Where the data goes: a stream, or a file that appears whole or not at all. A regular file is
/// written under another name in its folder and then renamed; devices, pipes and whatever
/// `stdout_fd` already stands for are written directly.
class Output {
 public:
  /// "-" is stdout_fd. IoError if `path` could not be written; leaves no file behind.
  Output(const std::string& path, int stdout_fd);
  void write(std::string_view text) const;  // IoError, ClosedPipe, Interrupted

 private:
  enum class Kind { stream, device, file };

  std::string path_;
  std::string shown_;
  int stdout_fd_;
  Kind kind_ = Kind::file;
};

/// Writes all of `text` to `fd`. `shown` names it in the IoError.
void write_all(int fd, std::string_view text, const std::string& shown);

}  // namespace experiments::cli
