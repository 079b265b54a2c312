#pragma once

#include <chrono>
#include <string>

namespace experiments::cli {

/// A bar on a terminal, drawn at most ten times a second and erased at the end; elsewhere nothing.
class Progress {
 public:
  Progress(int fd, std::string label);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(double share);
  void show(const std::string& text);  // in place of the bar, cut to the terminal's width
  void say(const std::string& line);   // a line that stays, on a terminal or not

 private:
  using Clock = std::chrono::steady_clock;
  bool is_due();
  void draw(const std::string& text);

  int fd_;
  bool enabled_;
  bool drawn_ = false;
  std::string label_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::milliseconds(300);
};

/// Whether `fd` is a terminal that knows escape sequences.
bool is_capable_terminal(int fd);

}  // namespace experiments::cli
