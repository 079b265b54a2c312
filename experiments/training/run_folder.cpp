#include "experiments/training/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "experiments/cli/errors.h"
#include "experiments/cli/output.h"
#include "experiments/report/text.h"
#include "nn/io/atomic_file.h"

namespace experiments::training {
namespace {

[[noreturn]] void fail_io(const std::string& shown) {
  throw cli::IoError(fmt::format("cannot write {}: {}", shown, std::strerror(errno)));
}

struct Kept {
  std::string lines;
  std::int64_t last_evaluation = -1;
};

/// Whether `line` is one that MetricsLog writes, as far as its reader has to know.
bool is_log_line(const nlohmann::json& line) {
  if (!line.is_object() || !line.contains("iter")) return false;
  const auto& iter = line["iter"];
  if (!iter.is_number_integer() || iter.get<std::int64_t>() < 0) return false;
  return !line.contains("final") || line["final"] == 0 || line["final"] == 1;
}

/// Its lines about what came before iteration `first`.
Kept lines_before(const std::string& path, std::int64_t first) {
  const std::string shown = report::quote(path, report::kPathShown);
  struct stat at {};
  if (stat(path.c_str(), &at) != 0 && errno == ENOENT) return {};
  if (!S_ISREG(at.st_mode)) throw cli::DataError(shown + ": expected a regular file");
  std::ifstream in(path);
  Kept kept;
  std::int64_t number = 1;
  for (std::string line; std::getline(in, line); ++number) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!is_log_line(json)) {
      if (in.eof()) break;  // as a process that was killed, or a full disk, cuts it short
      throw cli::DataError(fmt::format(
          "{}: line {}: expected an object with a whole iter, and a final, if any, of 0 or 1, got "
          "{}",
          shown, number, report::quote(line, 30)));
    }
    const auto iter = json["iter"].get<std::int64_t>();
    const bool evaluates = json.contains("val_loss") && json.value("final", 0) == 0;
    if (iter > first || (iter == first && !evaluates)) continue;
    kept.lines += line + '\n';
    if (evaluates) kept.last_evaluation = iter;
  }
  if (in.bad() || !in.eof()) {
    throw cli::IoError(fmt::format("cannot read {}: {}", shown, std::strerror(errno)));
  }
  return kept;
}

/// ", process 4711" as the lock says; "" if it does not.
std::string holder(int fd) {
  char text[24] = {};
  if (pread(fd, text, sizeof text - 1, 0) <= 0) return "";
  const std::string_view digits = std::string_view(text).substr(0, std::strspn(text, "0123456789"));
  return digits.empty() ? "" : fmt::format(", process {}", digits);
}

}  // namespace

std::string RunFolder::checkpoint_path() const {
  std::error_code error;
  if (std::filesystem::is_regular_file(path_, error)) return path_;
  return path_ + "/model.safetensors";
}

bool RunFolder::has_checkpoint() const {
  const std::string path = path_ + "/model.safetensors";
  if (access(path.c_str(), F_OK) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  throw cli::IoError(fmt::format("cannot read {}: {}", report::quote(path, report::kPathShown),
                                 std::strerror(errno)));
}

void RunFolder::create() const {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error || !std::filesystem::is_directory(path_, error)) {
    throw cli::IoError(fmt::format("cannot make the folder {}: {}", report::quote(path_),
                                   error ? error.message() : "it is a file"));
  }
}

void RunFolder::write(const std::string& file, const std::string& text) const {
  const std::string target = path_ + '/' + file;
  nn::AtomicFile out(target, fmt::format("cannot write {}", report::quote(target)));
  out.write(text);
  out.commit();
}

void RunFolder::remove(const std::string& file) const {
  const std::string target = path_ + '/' + file;
  struct stat at {};
  if (lstat(target.c_str(), &at) == 0 && !S_ISREG(at.st_mode) && !S_ISLNK(at.st_mode)) {
    throw cli::IoError(fmt::format("cannot replace {}: it is no regular file",
                                   report::quote(target, report::kPathShown)));
  }
  if (unlink(target.c_str()) != 0 && errno != ENOENT) fail_io(report::quote(target));
}

FolderLock::FolderLock(const RunFolder& folder) {
  const std::string path = folder.path() + "/.lock";
  fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0) fail_io(report::quote(path));
  if (flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    const std::string who = holder(fd_);
    close(fd_);
    throw cli::IoError(fmt::format("{} is in use by another run{}; expected a folder of its own",
                                   report::quote(folder.path(), report::kPathShown), who));
  }
  const std::string id = fmt::format("{}\n", getpid());
  if (ftruncate(fd_, 0) != 0 || pwrite(fd_, id.data(), id.size(), 0) < 0)
    return;  // held all the same
}

FolderLock::~FolderLock() { close(fd_); }

MetricsLog::MetricsLog(const RunFolder& folder, std::int64_t first) {
  const std::string path = folder.path() + "/metrics.jsonl";
  shown_ = report::quote(path);
  const Kept kept = first > 0 ? lines_before(path, first) : Kept{};
  last_evaluation_ = kept.last_evaluation;
  folder.write("metrics.jsonl", kept.lines);
  fd_ = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd_ < 0) fail_io(shown_);
}

MetricsLog::~MetricsLog() { close(fd_); }

void MetricsLog::add(const std::vector<Field>& fields) {
  nlohmann::ordered_json json;
  for (const Field& field : fields)
    std::visit([&](const auto& v) { json[field.first] = v; }, field.second);
  write_line(json.dump());
}

void MetricsLog::add_watch(std::int64_t iteration, const std::vector<StatsRow>& rows) {
  nlohmann::ordered_json watch;
  for (const StatsRow& row : rows) {
    nlohmann::ordered_json values;
    for (const auto& [key, value] : row.values) values[key] = value;
    if (!row.level.empty()) values["level"] = row.level;
    watch[row.name] = std::move(values);
  }
  nlohmann::ordered_json line;
  line["iter"] = iteration;
  line["watch"] = std::move(watch);
  write_line(line.dump());
}

void MetricsLog::write_line(const std::string& object) {
  cli::write_all(fd_, object + '\n', shown_);
}

}  // namespace experiments::training
