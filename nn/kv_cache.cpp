#include "nn/kv_cache.h"

#include <utility>

namespace nn {
namespace {

thread_local KVCache* newest_cache = nullptr;

/// Writes `part` behind the first `length` positions of `whole`, which doubles where it is full: so
/// a position costs the same, however many there are.
void put_behind(Tensor& whole, Index length, const Tensor& part) {
  const Index count = part.size(2);
  if (whole.defined() && length + count <= whole.size(2)) {
    for (Index t = 0; t < count; ++t) whole.select_(2, length + t) = part.select(2, t);
    return;
  }
  const Shape room = part.shape().with(2, length + count);
  const Tensor empty = autograd::zeros(room, part.dtype());
  whole = length == 0 ? autograd::concat({part, empty}, 2)
                      : autograd::concat({whole.narrow(2, 0, length), part, empty}, 2);
}

}  // namespace

KVCache::KVCache() : outer_(std::exchange(newest_cache, this)) {}

KVCache::~KVCache() { newest_cache = outer_; }

KVCache* KVCache::newest() { return newest_cache; }

Index KVCache::length() const {
  if (layers_.empty()) return 0;
  const Index length = layers_.begin()->second.length;
  for (const auto& [layer, seen] : layers_) {
    if (seen.length != length) {
      autograd::fail<autograd::ValueError>(
          "KVCache: {} holds {} positions and {} {}, as a call ended early; expected clear() first",
          layers_.begin()->first->path(), length, layer->path(), seen.length);
    }
  }
  return length;
}

KVCache::Seen KVCache::append(const Module& layer, const Tensor& k, const Tensor& v) {
  if (autograd::grad_enabled()) {
    autograd::fail<autograd::GraphError>(
        "KVCache: keys and values are kept without their graph; expected NoGrad or EvalMode");
  }
  Seen& seen = layers_[&layer];
  if (seen.length > 0 && seen.k.shape().with(2, k.size(2)) != k.shape()) {
    autograd::fail<autograd::ShapeError>("KVCache: expected keys that continue {}, got {}",
                                         seen.k.narrow(2, 0, seen.length).shape().str(),
                                         k.shape().str());
  }
  put_behind(seen.k, seen.length, k);
  put_behind(seen.v, seen.length, v);
  seen.length += k.size(2);
  return seen;
}

}  // namespace nn
