#pragma once

#include "autograd/graph/record.h"

namespace autograd {

/// What record() has just done.
struct Recording {
  const char* op;
  const Array& out;
  std::span<const Input> inputs;  // undefined ones (a missing bias) hold no tensor
  Fills fills;
  Node* node;  // null where nothing was recorded; its edges come after the observers
};

/// Someone who watches the ops and backward passes of the thread that made it, while it lives: the
/// gradient flow and the anomaly guard. There is none in the common case, and then the engine pays
/// for one look at a null pointer. Observers nest; each sees everything. One that throws stops the
/// op or the pass.
class Observer {
 public:
  virtual ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  /// An op computed its output.
  virtual void recorded(const Recording&) {}
  /// detach() was called on a tensor.
  virtual void detached(const TensorImpl&) {}
  /// Backward has the whole gradient of a node, hooks applied.
  virtual void arrived(const Node&, const Array& grad) { (void)grad; }
  /// A rule made the gradient `part` of one input from `grad`, that of the output.
  virtual void returned(const Node&, std::size_t edge, const Array& grad, const Array& part) {
    (void)edge, (void)grad, (void)part;
  }
  /// Whether returned() looks at parts: that of a rule that adds costs a copy.
  virtual bool wants_parts() const { return true; }

  /// The newest observer of this thread; null in the common case.
  static Observer* innermost() { return innermost_; }
  Observer* outer() const { return outer_; }

 protected:
  Observer();

 private:
  static thread_local constinit Observer* innermost_;
  Observer* outer_;
};

/// f(observer) for every observer of this thread, the newest first.
template <class F>
void tell_observers(F f) {
  for (Observer* o = Observer::innermost(); o; o = o->outer()) f(*o);
}

}  // namespace autograd
