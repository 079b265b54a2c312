#pragma once

#include <span>
#include <vector>

#include "autograd/graph/node.h"

namespace autograd {

/// Whether a graph keeps its rules after backward, so that it can run backward again.
enum class Retain : bool { no, yes };

/// Adds d(root . seed)/d(leaf) to every leaf's grad, newest node first. Leaves change only after
/// the whole pass succeeded. Runs under NoGrad. Several threads may run passes at once, over the
/// same leaves and nodes too: sums lose no part, and where one pass has dropped the rules that
/// another needs, the other fails as if it had come later.
void run_backward(const Ref<Node>& root, const Array& seed, Retain retain);

/// The gradients of the targets instead, touching no leaf; nodes that lead to no target are not
/// visited. GraphError for a target that the root does not depend on.
std::vector<Array> run_grad(const Ref<Node>& root, const Array& seed,
                            std::span<const Ref<Node>> targets, Retain retain);

}  // namespace autograd
