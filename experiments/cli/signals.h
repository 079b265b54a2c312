#pragma once

namespace experiments::cli {

/// For main(): SIGINT, SIGTERM and SIGHUP set a flag, and a second one ends the process at once;
/// writing to a closed pipe or past a size limit returns an error instead of ending it; descriptors
/// 0 to 2 are kept open, so that no file of ours is mistaken for a stream.
void install_signal_handlers();
void reserve_standard_descriptors();

bool interrupted();
void throw_if_interrupted();  // Interrupted

}  // namespace experiments::cli
