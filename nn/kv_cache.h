#pragma once

#include <map>

#include "nn/module.h"

namespace nn {

/// While it lives, the causal attention layers of this thread keep the keys and values that they
/// compute, and a GPT goes on behind the tokens that it was given before:
///   const nn::EvalMode eval(model);
///   nn::KVCache cache;
///   Tensor logits = model(prompt);  // (B, T) -> (B, T, V)
///   logits = model(next);           // (B, 1) -> (B, 1, V), as token T, which sees the T before it
/// The logits are those of one call with all tokens, to rounding, for the work of the new ones. It
/// serves one model, without gradients, of which each layer runs once a call; at most block_size
/// tokens fit, as the next would move all others to other positions. If there are several, only the
/// newest works.
class KVCache {
 public:
  KVCache();
  ~KVCache();
  KVCache(const KVCache&) = delete;
  KVCache& operator=(const KVCache&) = delete;

  static KVCache* newest();  // of this thread; null if there is none

  /// How many positions it holds; ValueError where not the same of every layer, as after a call
  /// that ended early.
  Index length() const;
  void clear() { layers_.clear(); }  // and begin anew

  /// What a layer has seen: (B, H, room, D) of which the first `length` positions count.
  struct Seen {
    Tensor k, v;
    Index length = 0;
  };
  /// The same with k and v (B, H, T, D) behind it. GraphError while gradients are recorded,
  /// ShapeError and DTypeError unless they fit to what is there.
  Seen append(const Module& layer, const Tensor& k, const Tensor& v);

 private:
  KVCache* outer_;
  std::map<const Module*, Seen> layers_;
};

}  // namespace nn
