#pragma once

namespace autograd {

/// Whether ops of this thread record a graph; true at first.
bool grad_enabled();

/// While it lives, ops of this thread record nothing: same values, no nodes, and memory that is
/// free as soon as the handles are gone. For evaluation, and for updates of parameters. Nests.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

}  // namespace autograd
