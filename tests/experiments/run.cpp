#include "tests/experiments/run.h"

#include <sys/mman.h>
#include <unistd.h>

#include "experiments/cli/program.h"
#include "experiments/report/text.h"

namespace experiments::test {
namespace {

std::string read_back(int fd) {
  std::string text(static_cast<std::size_t>(lseek(fd, 0, SEEK_END)), '\0');
  if (pread(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) text = "?";
  close(fd);
  return text;
}

Outcome in_process(const Words& words, cli::World world) {
  world.out = memfd_create("out", 0);
  world.err = memfd_create("err", 0);
  Outcome outcome;
  outcome.code = cli::run_program(words, world);
  outcome.out = read_back(world.out);
  outcome.err = read_back(world.err);
  return outcome;
}

}  // namespace

Outcome in_process(const Words& words) { return in_process(words, cli::World{}); }

Outcome in_process(const Words& words, std::span<const Entry> entries) {
  cli::World world;
  world.entries = entries;
  world.default_command = entries[0].name;
  return in_process(words, world);
}

int exec_program(const Words& words) {
  std::string program = GRADLAB_PROGRAM;
  Words copy = words;
  std::vector<char*> argv = {program.data()};
  for (std::string& word : copy) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  return 127;
}

Outcome execute(const Words& words, const std::function<void()>& before) {
  return in_child([&] {
    if (before) before();
    return exec_program(words);
  });
}

bool is_one_error_line(const std::string& err) {
  if (!err.starts_with("error: ") || !err.ends_with('\n')) return false;
  const std::string line = err.substr(0, err.size() - 1);
  return report::printable(line) == line && report::display_width(line) <= 200;
}

}  // namespace experiments::test
