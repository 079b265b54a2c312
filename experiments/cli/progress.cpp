#include "experiments/cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "experiments/cli/signals.h"
#include "experiments/report/text.h"

namespace experiments::cli {
namespace {

void put(int fd, std::string_view text) {
  // Losing a piece of a progress bar is not an error.
  if (write(fd, text.data(), text.size()) < 0) return;
}

std::size_t width_of(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

}  // namespace

bool is_capable_terminal(int fd) {
  const char* term = std::getenv("TERM");
  return isatty(fd) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

Progress::Progress(int fd, std::string label)
    : fd_(fd), enabled_(is_capable_terminal(fd)), label_(std::move(label)) {}

Progress::~Progress() {
  if (drawn_) put(fd_, "\r\x1b[K");
  clear_line_when_interrupted(false);
}

bool Progress::is_due() {
  const Clock::time_point now = Clock::now();
  if (!enabled_ || now < next_) return false;
  next_ = now + std::chrono::milliseconds(100);
  return true;
}

void Progress::draw(const std::string& text) {
  put(fd_, fmt::format("\r{}\x1b[K", text));
  drawn_ = true;
  clear_line_when_interrupted(true);
}

void Progress::show(double share) {
  if (!(share >= 0 && share <= 1) || !is_due()) return;
  constexpr int kCells = 30;
  const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start_);
  const std::string numbers = fmt::format(" {:3.0f} %  {} s", 100 * share, elapsed.count());
  const auto room = static_cast<int>(width_of(fd_)) - 1;
  const auto text = static_cast<int>(label_.size() + numbers.size() + 3);  // " [" and "]"
  const int cells = std::clamp(room - text, 0, kCells);
  const int done = static_cast<int>(std::lround(share * cells));
  const std::string bar =
      cells > 0 ? fmt::format(" [{:#<{}}{:.<{}}]", "", done, "", cells - done) : "";
  draw(report::fitted(label_ + bar + numbers, static_cast<std::size_t>(room)));
}

void Progress::show(const std::string& text) {
  if (is_due()) draw(report::fitted(text, width_of(fd_) - 1));
}

void Progress::say(const std::string& line) {
  put(fd_, fmt::format("{}{}\n", drawn_ ? "\r\x1b[K" : "", line));
  drawn_ = false;
  clear_line_when_interrupted(false);
}

}  // namespace experiments::cli
