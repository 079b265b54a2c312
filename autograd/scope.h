#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace autograd {

/// A dotted label for the code that runs now: while a Scope lives, its name is one more part of the
/// path that nodes, errors and the anomaly guard quote ("gpt.block.1.attn"). Modules push theirs
/// before forward. Thread-local; scopes end in the reverse order of their beginning.
class Scope {
 public:
  explicit Scope(std::string_view name);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  /// The whole path, "" outside any scope.
  static const std::string& path();
  /// The same, shared with whoever keeps it longer; null outside any scope.
  static std::shared_ptr<const std::string> shared_path();

 private:
  std::shared_ptr<const std::string> outer_;
};

}  // namespace autograd
