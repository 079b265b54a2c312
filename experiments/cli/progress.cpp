#include "experiments/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace experiments {
namespace {

void put(int fd, std::string_view text) {
  // A lost piece of a progress bar is no error.
  if (write(fd, text.data(), text.size()) < 0) return;
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
}

void Progress::show(double share) {
  if (!enabled_ || !(share >= 0 && share <= 1)) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  constexpr int kCells = 30;
  const int done = static_cast<int>(std::lround(share * kCells));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - start_).count();
  put(fd_, fmt::format("\r{} [{:#<{}}{:.<{}}] {:3.0f} %  {} s\x1b[K", label_, "", done, "",
                       kCells - done, 100 * share, seconds));
  drawn_ = true;
}

}  // namespace experiments
