#include "autograd/array/dtype.h"

namespace autograd {

const char* name(DType dtype) {
  switch (dtype) {
    case DType::f32: return "f32";
    case DType::f64: return "f64";
    case DType::i64: return "i64";
    case DType::dual: return "dual";
    case DType::b8: break;
  }
  return "b8";
}

std::size_t item_size(DType dtype) {
  return dispatch_any(dtype, [](auto tag) { return sizeof(tag); });
}

}  // namespace autograd
