#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "experiments/experiment.h"

// Running the program: in this process with experiments of a test's own, or as the real executable.

namespace experiments::test {

struct Outcome {
  int code = -1;  // exit code; 1000 + the signal that ended the process
  std::string out;
  std::string err;
};

using Words = std::vector<std::string>;

/// run_program() on memory files.
Outcome in_process(const Words& words);
Outcome in_process(const Words& words, std::span<const Entry> entries);

/// The executable. `before` runs in the child just before exec, to redirect and limit things.
Outcome execute(const Words& words, const std::function<void()>& before = {});

/// Turns this process into the executable; 127 if that fails.
int exec_program(const Words& words);

/// A function of a child process: its streams are pipes, `during` runs in the parent meanwhile.
Outcome in_child(const std::function<int()>& child,
                 const std::function<void(pid_t, int out)>& during = {});

/// Whether `err` is "error: ...\n": one line, printable, at most 200 characters.
bool is_one_error_line(const std::string& err);

/// An experiment made of functions.
struct Fake : Experiment {
  std::function<Report(const Run&)> body = [](const Run&) { return Report{}; };
  std::function<void(Options&)> options = [](Options&) {};
  double bytes = 0;

  void add_options(Options& o) override { options(o); }
  double bytes_needed(const Run&) const override { return bytes; }
  Report run(const Run& r) override { return body(r); }
};

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

}  // namespace experiments::test
