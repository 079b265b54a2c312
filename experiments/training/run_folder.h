#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "experiments/training/checkpoint.h"
#include "experiments/training/watch.h"

namespace experiments::training {

/// The folder of a training run:
///   config.json              the options of the run
///   model.safetensors        the checkpoint of the last evaluation, always whole
///   model_best.safetensors   the one with the lowest validation loss
///   metrics.jsonl            one object per line: every iteration, evaluation and look of --watch
///   samples.txt              what the model writes at the end
///   .lock                    held by the process that writes here, whose id it contains
/// To read, the path of one checkpoint does as well.
class RunFolder {
 public:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string checkpoint_path() const;
  std::string best_path() const { return path_ + "/model_best.safetensors"; }
  /// Of the last evaluation. IoError where it cannot be told.
  bool has_checkpoint() const;

  /// Makes the folder where it is missing. IoError.
  void create() const;
  void save(const Checkpoint& checkpoint) const { save_checkpoint(checkpoint_path(), checkpoint); }
  void save_best(const Checkpoint& checkpoint) const { save_checkpoint(best_path(), checkpoint); }
  Checkpoint load() const { return load_checkpoint(checkpoint_path()); }
  void write(const std::string& file, const std::string& text) const;  // whole or not at all
  void remove(const std::string& file) const;                          // if it is there; IoError

 private:
  std::string path_;
};

/// While it lives, no other process writes to the run. It ends with the process, however that ends;
/// where the file system knows no locks, nothing is held.
class FolderLock {
 public:
  /// The folder is there. IoError, naming the process that holds it.
  explicit FolderLock(const RunFolder& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

/// The metrics of a run, appended line by line; a number that is not finite is written as null.
class MetricsLog {
 public:
  using Field = std::pair<std::string, std::variant<double, std::int64_t, std::string>>;

  /// Keeps the lines of iterations below `first` and an evaluation before it that was not the last
  /// of a run; starts anew where `first` is 0. A last line that was cut short goes. DataError with
  /// its number for any other line that is not the log's, before anything is changed; IoError.
  MetricsLog(const RunFolder& folder, std::int64_t first);
  ~MetricsLog();
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;

  std::int64_t last_evaluation() const { return last_evaluation_; }  // -1: none in the file
  void add(const std::vector<Field>& fields);                        // IoError
  /// {"iter": i, "watch": {"h.0.attn.0": {"logit_std": ..., "level": "fine"}, ...}}
  void add_watch(std::int64_t iteration, const std::vector<StatsRow>& rows);

 private:
  void write_line(const std::string& object);

  std::string shown_;
  int fd_;
  std::int64_t last_evaluation_ = -1;
};

}  // namespace experiments::training
