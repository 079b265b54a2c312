#pragma once

#include <memory>
#include <optional>
#include <string>

#include "autograd/graph/observer.h"

namespace autograd {

/// Why a leaf learns nothing: no backward reached it, or what arrived was zero everywhere.
enum class CutKind { none_reached, all_zero };

enum class CutReason {
  // of none_reached
  unused,       // no op took the leaf
  detach,       // Tensor::detach
  no_grad,      // an op under NoGrad
  no_gradient,  // an op that has none, as argmax
  not_reached,  // recorded, but no backward came by
  // of all_zero
  zero_rule,  // an op was given a gradient and returned zeros
  cancelled,  // parts from several ops sum to zero, or a hook returned zeros
  zero_seed,  // backward began with zeros
};

/// Where the path of a gradient ends.
struct Cut {
  CutKind kind = CutKind::none_reached;
  CutReason reason = CutReason::unused;
  std::string op = {};     // "relu"; "" for unused
  std::string scope = {};  // "GPT.h.1.mlp"; "" outside any
  Shape shape = {};        // of the input at which the op cuts
};
/// "no gradient; cut at detach of (2, 8) in GPT.h.1.mlp"
std::string describe(const Cut& cut);

/// While it lives, this thread's ops and backward passes leave a trail: who took what, and whether
/// what flowed back was zero everywhere. Keeps names, shapes and ids, no arrays; costs a look at
/// every gradient, up to its first element that is not zero.
class GradientFlow final : public Observer {
 public:
  GradientFlow();
  ~GradientFlow() override;

  /// What stopped the gradient of a leaf, nearest to it; nothing where one arrived that is not all
  /// zero. Before any backward that is what would keep one out. GraphError unless the tensor
  /// requires a gradient.
  std::optional<Cut> cut_of(const TensorRef& leaf) const;

  void recorded(const Recording& recording) override;
  void detached(const TensorImpl& input) override;
  void arrived(const Node& node, const Array& grad) override;
  void returned(const Node& node, std::size_t edge, const Array& grad, const Array& part) override;

 private:
  struct Trail;
  std::unique_ptr<Trail> trail_;
};

}  // namespace autograd
