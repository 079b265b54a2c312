#include "tests/support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace test {
namespace {

/// Both pipes at once, so that neither fills up.
void read_all(int out, int err, Outcome& outcome) {
  pollfd pipes[2] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
  std::string* texts[2] = {&outcome.out, &outcome.err};
  for (int open = 2; open > 0;) {
    poll(pipes, 2, -1);
    for (int i = 0; i < 2; ++i) {
      if (pipes[i].fd < 0 || pipes[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t n = read(pipes[i].fd, buffer, sizeof buffer);
      if (n > 0) {
        texts[i]->append(buffer, static_cast<std::size_t>(n));
      } else {
        pipes[i].fd = -1;
        --open;
      }
    }
  }
}

}  // namespace

Outcome in_child(const std::function<int()>& child,
                 const std::function<void(pid_t, int out)>& during) {
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  const pid_t pid = fork();
  if (pid == 0) {
    // Whoever runs the tests may ignore signals, as nohup does; and nothing runs for ever.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
    alarm(120);
    dup2(out[1], 1);
    dup2(err[1], 2);
    _exit(child());
  }
  close(out[1]);
  close(err[1]);
  if (during) during(pid, out[0]);
  Outcome outcome;
  read_all(out[0], err[0], outcome);
  close(out[0]);
  close(err[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  return outcome;
}

Folder::Folder() {
  std::string path = std::filesystem::temp_directory_path() / "gradlab-test-XXXXXX";
  if (!mkdtemp(path.data())) throw std::runtime_error("mkdtemp");
  path_ = path;
}

Folder::~Folder() { std::filesystem::remove_all(path_); }

std::vector<std::string> Folder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void put(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace test
