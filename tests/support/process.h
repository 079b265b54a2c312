#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

// Child processes and files for tests.

namespace test {

struct Outcome {
  int code = -1;  // exit code; 1000 + the signal that ended the process
  std::string out;
  std::string err;
};

/// A function of a child process: its streams are pipes, `during` runs in the parent meanwhile.
Outcome in_child(const std::function<int()>& child,
                 const std::function<void(pid_t, int out)>& during = {});

/// A folder of its own, gone in the end.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + '/' + name; }
  const std::string& path() const { return path_; }
  std::vector<std::string> names() const;  // of the files in it, sorted

 private:
  std::string path_;
};

std::string contents(const std::string& path);
void put(const std::string& path, const std::string& text);

}  // namespace test
