#pragma once

#include <atomic>
#include <utility>

namespace autograd {

/// A reference count inside the object that is counted: a handle is one pointer, and the object one
/// block of memory (std::shared_ptr takes two pointers and often two blocks). It also has what
/// std::shared_ptr cannot promise: `unique()` loads with acquire, so that a writer who finds itself
/// alone also sees everything that the last other owner did. With use_count(), which loads relaxed,
/// writing in place would race with that owner's last reads.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void retain() const noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  /// True for the owner who was the last.
  bool release() const noexcept { return count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  bool unique() const noexcept { return count_.load(std::memory_order_acquire) == 1; }

 private:
  mutable std::atomic<int> count_{0};
};

/// A pointer that shares ownership of a RefCounted T. The last one to go calls T::destroy(T*).
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* p) noexcept : p_(p) {
    if (p_) p_->retain();
  }
  Ref(const Ref& other) noexcept : Ref(other.p_) {}
  Ref(Ref&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(p_, other.p_);
    return *this;
  }
  ~Ref() {
    if (p_ && p_->release()) T::destroy(p_);
  }

  T* get() const noexcept { return p_; }
  T* operator->() const noexcept { return p_; }
  T& operator*() const noexcept { return *p_; }
  explicit operator bool() const noexcept { return p_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) noexcept { return a.p_ == b.p_; }

 private:
  T* p_ = nullptr;
};

}  // namespace autograd
