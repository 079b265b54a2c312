#include "experiments/train/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "experiments/checkpoint/atomic_file.h"
#include "experiments/cli/errors.h"
#include "experiments/cli/output.h"
#include "experiments/report/text.h"

namespace experiments {
namespace {

[[noreturn]] void fail_io(const std::string& shown) {
  throw IoError(fmt::format("cannot write {}: {}", shown, std::strerror(errno)));
}

/// The lines of `path` whose "iter" is below `first`, up to the first that is no such line.
std::string lines_before(const std::string& path, std::int64_t first) {
  std::ifstream in(path);
  std::string kept;
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("iter") || !json["iter"].is_number_integer()) break;
    if (json["iter"].get<std::int64_t>() < first) kept += line + '\n';
  }
  return kept;
}

}  // namespace

bool RunFolder::has_checkpoint() const { return access(checkpoint_path().c_str(), F_OK) == 0; }

void RunFolder::create() const {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error || !std::filesystem::is_directory(path_, error)) {
    throw IoError(fmt::format("cannot make the folder {}: {}", quote(path_),
                              error ? error.message() : "it is a file"));
  }
}

void RunFolder::write(const std::string& file, const std::string& text) const {
  const std::string target = path_ + '/' + file;
  AtomicFile out(target, fmt::format("cannot write {}", quote(target)));
  out.write(text);
  out.commit();
}

MetricsLog::MetricsLog(const RunFolder& folder, std::int64_t first) {
  const std::string path = folder.path() + "/metrics.jsonl";
  shown_ = quote(path);
  folder.write("metrics.jsonl", first > 0 ? lines_before(path, first) : "");
  fd_ = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd_ < 0) fail_io(shown_);
}

MetricsLog::~MetricsLog() { close(fd_); }

void MetricsLog::add(const std::vector<Field>& fields) {
  nlohmann::ordered_json json;
  for (const auto& [key, value] : fields) std::visit([&](const auto& v) { json[key] = v; }, value);
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

void MetricsLog::write_line(const std::string& object) { write_all(fd_, object + '\n', shown_); }

}  // namespace experiments
