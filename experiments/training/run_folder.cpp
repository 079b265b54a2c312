#include "experiments/training/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
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

/// The lines of `path` about what came before iteration `first`, up to the first that is no such
/// line.
Kept lines_before(const std::string& path, std::int64_t first) {
  std::ifstream in(path);
  Kept kept;
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("iter") || !json["iter"].is_number_integer()) break;
    const auto iter = json["iter"].get<std::int64_t>();
    const bool evaluates = json.contains("val_loss") && json.value("final", 0) == 0;
    if (iter > first || (iter == first && !evaluates)) continue;
    kept.lines += line + '\n';
    if (evaluates) kept.last_evaluation = iter;
  }
  return kept;
}

}  // namespace

bool RunFolder::has_checkpoint() const { return access(checkpoint_path().c_str(), F_OK) == 0; }

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
