#pragma once

#include <span>
#include <vector>

#include "autograd/graph/node.h"

namespace autograd {

/// Whether a graph keeps its rules after backward, so that it can run backward again.
enum class Retain : bool { no, yes };

/// While it lives, no other thread runs a pass, or reads or writes gradients and hooks. Nests, as a
/// hook may do either. Passes hold it themselves. Why all of a pass and not its last step alone:
/// another thread may be about to drop the rules of a node that both share.
class GradientLock {
 public:
  GradientLock();
  ~GradientLock();
  GradientLock(const GradientLock&) = delete;
  GradientLock& operator=(const GradientLock&) = delete;
};

/// Adds d(root . seed)/d(leaf) to every leaf's grad, newest node first. Leaves change only after
/// the whole pass succeeded. Runs under NoGrad.
void run_backward(const Ref<Node>& root, const Array& seed, Retain retain);

/// The gradients of the targets instead, touching no leaf; nodes that lead to no target are not
/// visited. GraphError for a target that the root does not depend on.
std::vector<Array> run_grad(const Ref<Node>& root, const Array& seed,
                            std::span<const Ref<Node>> targets, Retain retain);

}  // namespace autograd
