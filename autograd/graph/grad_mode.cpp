#include "autograd/graph/grad_mode.h"

namespace autograd {
namespace {

thread_local bool enabled = true;

}  // namespace

bool grad_enabled() { return enabled; }

NoGrad::NoGrad() : before_(enabled) { enabled = false; }
NoGrad::~NoGrad() { enabled = before_; }

}  // namespace autograd
