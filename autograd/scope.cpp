#include "autograd/scope.h"

namespace autograd {
namespace {

thread_local std::shared_ptr<const std::string> current;

}  // namespace

Scope::Scope(std::string_view name) : outer_(current) {
  std::string path = outer_ ? *outer_ + "." : std::string();
  path += name;
  current = std::make_shared<const std::string>(std::move(path));
}

Scope::~Scope() { current = std::move(outer_); }

const std::string& Scope::path() {
  static const std::string none;
  return current ? *current : none;
}

std::shared_ptr<const std::string> Scope::shared_path() { return current; }

}  // namespace autograd
