#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "autograd/array/dual.h"
#include "autograd/errors.h"

namespace autograd {

/// f32, f64 and dual take part in arithmetic and carry gradients; i64 holds indices and labels; b8
/// masks. A dual number is an f64 with its derivative along one direction (dual.h).
enum class DType : std::uint8_t { f32, f64, i64, b8, dual };

const char* name(DType dtype);       // "f32"
std::size_t item_size(DType dtype);  // bytes per element
inline bool is_float(DType dtype) {  // what arithmetic takes
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::dual;
}

/// The DType whose elements are of C++ type T.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  else if constexpr (std::is_same_v<T, double>) return DType::f64;
  else if constexpr (std::is_same_v<T, std::int64_t>) return DType::i64;
  else if constexpr (std::is_same_v<T, Dual>) return DType::dual;
  else {
    static_assert(std::is_same_v<T, bool>, "an element is float, double, int64_t, bool or Dual");
    return DType::b8;
  }
}

// From a dtype, known at run time, to a type, known to the compiler: f is a generic lambda that
// gets a value of the type, and `using T = decltype(tag)` names it. The compiler makes f once per
// type, so that one loop over T serves all dtypes.

/// f(float{}), f(double{}) or f(Dual{}); DTypeError in the name of `op` for anything else.
template <class F>
decltype(auto) dispatch_float(DType dtype, const char* op, F&& f) {
  if (dtype == DType::f32) return f(float{});
  if (dtype == DType::f64) return f(double{});
  if (dtype == DType::dual) return f(Dual{});
  fail<DTypeError>("{}: expected f32 or f64, got {}", op, name(dtype));
}

/// The same for what has no meaning for dual numbers, such as the step of an optimizer.
template <class F>
decltype(auto) dispatch_real(DType dtype, const char* op, F&& f) {
  if (dtype == DType::f32) return f(float{});
  if (dtype == DType::f64) return f(double{});
  fail<DTypeError>("{}: expected f32 or f64, got {}", op, name(dtype));
}

/// f(T{}) for the element type T of any dtype.
template <class F>
decltype(auto) dispatch_any(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    case DType::i64: return f(std::int64_t{});
    case DType::dual: return f(Dual{});
    case DType::b8: break;
  }
  return f(bool{});
}

}  // namespace autograd
