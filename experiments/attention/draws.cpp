#include "experiments/attention/draws.h"

namespace experiments::attention {

autograd::RandomKey key_of(std::uint64_t seed, Draw draw, std::uint64_t index) {
  return {seed, (static_cast<std::uint64_t>(draw) << 56) | index};
}

autograd::Tensor normals(const autograd::Shape& shape, const Run& run, autograd::RandomKey key,
                         double stddev) {
  return autograd::Tensor(autograd::normal(shape, 0, stddev, run.dtype, key));
}

}  // namespace experiments::attention
