#include <string>
#include <vector>

#include "experiments/cli/program.h"
#include "experiments/cli/signals.h"

int main(int argc, char** argv) {
  experiments::reserve_standard_descriptors();
  experiments::install_signal_handlers();
  return experiments::run_program(std::vector<std::string>(argv + (argc > 0), argv + argc));
}
