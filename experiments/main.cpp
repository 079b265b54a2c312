#include <string>
#include <vector>

#include "experiments/cli/program.h"
#include "experiments/cli/signals.h"

int main(int argc, char** argv) {
  experiments::cli::reserve_standard_descriptors();
  experiments::cli::install_signal_handlers();
  return experiments::cli::run_program(std::vector<std::string>(argv + (argc > 0), argv + argc));
}
