#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nn/module.h"

namespace nn {

/// Children of one kind in a row, named "0", "1", ...; without a forward of its own:
/// `for (Block& block : blocks_) x = block(x);`.
template <class M = Module>
class ModuleList : public Module {
 public:
  class Iterator {
   public:
    explicit Iterator(M* const* at) : at_(at) {}
    M& operator*() const { return **at_; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    M* const* at_;
  };

  ModuleList() : Module("ModuleList") {}

  /// Makes one more child from `args`, at the end: list.append<Linear>(768, 3072).
  template <class T = M, class... Args>
  T& append(Args&&... args) {
    T& module = register_module<T>(std::to_string(items_.size()), std::forward<Args>(args)...);
    items_.push_back(&module);
    return module;
  }

  Index size() const { return static_cast<Index>(items_.size()); }
  /// ValueError unless 0 <= i < size().
  M& operator[](Index i) const {
    if (i < 0 || i >= size()) {
      autograd::fail<autograd::ValueError>("{}: {} is not in [0, {})", type(), i, size());
    }
    return *items_[static_cast<std::size_t>(i)];
  }
  Iterator begin() const { return Iterator(items_.data()); }
  Iterator end() const { return Iterator(items_.data() + items_.size()); }

 protected:
  explicit ModuleList(std::string type) : Module(std::move(type)) {}

 private:
  std::vector<M*> items_;
};

}  // namespace nn
