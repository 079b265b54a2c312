#include "nn/sequential.h"

namespace nn {

Tensor Sequential::forward(const Tensor& x) {
  Tensor y = x;
  for (Module& module : *this) y = module(y);
  return y;
}

}  // namespace nn
