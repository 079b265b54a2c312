#pragma once

namespace experiments::cli {

/// For main(): SIGINT, SIGTERM and SIGHUP set a flag, and a second one ends the process at once;
/// writing to a closed pipe or past a size limit returns an error instead of ending it; descriptors
/// 0 to 2 are kept open, so that no file of ours is mistaken for a stream.
void install_signal_handlers();
void reserve_standard_descriptors();

/// While one lives, an interrupt waits for as long as it takes: files are being written. Elsewhere
/// a program that has not ended 0.3 s after the signal, because what it computes does not look, is
/// ended there: nothing of it is half done.
class Unhurried {
 public:
  Unhurried();
  ~Unhurried();
  Unhurried(const Unhurried&) = delete;
  Unhurried& operator=(const Unhurried&) = delete;
};

/// Whether a line stands on the terminal that has to go before the message of that end.
void clear_line_when_interrupted(bool clears);
/// The program says by itself that it was interrupted, and ends.
void answer_interrupt();

bool interrupted();
void throw_if_interrupted();  // Interrupted

}  // namespace experiments::cli
