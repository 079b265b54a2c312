#include "experiments/cli/signals.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <csignal>

#include "experiments/cli/errors.h"
#include "experiments/cli/exit_code.h"

namespace experiments::cli {
namespace {

std::atomic<bool> signal_came{false}, clears_line{false};
std::atomic<int> unhurried{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

constexpr suseconds_t kPatience = 300'000;  // microseconds

/// Rings once; never for 0.
void set_alarm(suseconds_t microseconds) {
  const itimerval once{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = microseconds}};
  setitimer(ITIMER_REAL, &once, nullptr);
}

extern "C" void on_signal(int) {
  signal_came = true;
  set_alarm(kPatience);
}

extern "C" void on_alarm(int) {
  if (unhurried > 0) return;  // ~Unhurried sets the next one
  constexpr char kText[] = "\r\x1b[Kerror: interrupted\n";
  const std::size_t skipped = clears_line ? 0 : 4;
  if (write(STDERR_FILENO, kText + skipped, sizeof kText - 1 - skipped) < 0) _exit(kInterrupted);
  _exit(kInterrupted);
}

void* take_signals(void*) {
  for (;;) pause();
}

/// The kernel gives a signal to the main thread if that takes it. It does not during a long matrix
/// product, as handlers must not run there; then they run on this thread. Where a limit forbids it,
/// a signal waits for the end of the product.
void start_signal_thread() {
  pthread_attr_t small;
  if (pthread_attr_init(&small) != 0) return;
  pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&small, std::max<std::size_t>(PTHREAD_STACK_MIN, 64 << 10));
  pthread_t thread;
  pthread_create(&thread, &small, take_signals, nullptr);
  pthread_attr_destroy(&small);
}

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
  struct sigaction alarm {};
  alarm.sa_handler = on_alarm;
  alarm.sa_flags = static_cast<int>(SA_RESTART);
  sigaction(SIGALRM, &alarm, nullptr);
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_IGN);
  start_signal_thread();
}

void reserve_standard_descriptors() {
  // Read-only for output and the reverse, so that their use still fails.
  for (int fd = 0; fd <= 2; ++fd)
    if (fcntl(fd, F_GETFD) == -1) open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

Unhurried::Unhurried() { ++unhurried; }

Unhurried::~Unhurried() {
  if (--unhurried == 0 && signal_came) set_alarm(kPatience);
}

void clear_line_when_interrupted(bool clears) { clears_line = clears; }

void answer_interrupt() { set_alarm(0); }

bool interrupted() { return signal_came; }

void throw_if_interrupted() {
  if (interrupted()) throw Interrupted{};
}

}  // namespace experiments::cli
