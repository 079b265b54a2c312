#include "experiments/cli/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "experiments/cli/errors.h"

namespace experiments::cli {
namespace {

std::atomic<bool> signal_came{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void on_signal(int) { signal_came = true; }

}  // namespace

void install_signal_handlers() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;  // as nohup sets it
    struct sigaction action {};
    action.sa_handler = on_signal;
    // A blocked write returns, and the second signal does what signals do.
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_IGN);
}

void reserve_standard_descriptors() {
  // Read-only for output and the reverse, so that their use still fails.
  for (int fd = 0; fd <= 2; ++fd)
    if (fcntl(fd, F_GETFD) == -1) open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

bool interrupted() { return signal_came; }

void throw_if_interrupted() {
  if (interrupted()) throw Interrupted{};
}

}  // namespace experiments::cli
