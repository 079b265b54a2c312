#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nn/gpt.h"

// What a GPT is made of and costs, told by its modules without a weight being allocated.

namespace experiments::training {

/// A module of the tree; numbers are its own, without those of the modules below it.
struct Layer {
  std::string name;        // "h.0.attn.qkv"; "" for the whole
  std::string type;        // "Linear"
  std::string about = {};  // "768 -> 2304"
  autograd::Shape output = {};
  std::int64_t parameters = 0;
  double flops = 0;  // of its matrix products
  double kept = 0;   // bytes that its ops keep for backward

  int depth() const;  // in the tree: 0 for the whole
};

/// All modules but those of Dropout, a parent before its children, as named_modules() has them; the
/// head comes also where it is tied, and then has no parameters. FLOPs and bytes are those of the
/// forward of one sequence of block_size tokens in training: 2 m n k FLOPs for the product of
/// (m, k) and (k, n), and nothing for what is done element by element. What a causal mask hides
/// counts as well, although the engine skips most of it. The loss is in the head.
std::vector<Layer> gpt_layers(const nn::GPTOptions& options);

/// The sums over a layer and all below it.
struct LayerTotal {
  std::int64_t parameters = 0;
  double flops = 0;
  double kept = 0;
};
LayerTotal total(const std::vector<Layer>& layers, std::size_t first);

}  // namespace experiments::training
