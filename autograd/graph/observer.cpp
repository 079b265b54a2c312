#include "autograd/graph/observer.h"

#include <utility>

namespace autograd {

thread_local constinit Observer* Observer::innermost_ = nullptr;

// Observers are a stack, linked through outer_, as their lifetimes nest.
Observer::Observer() : outer_(std::exchange(innermost_, this)) {}
Observer::~Observer() { innermost_ = outer_; }

}  // namespace autograd
