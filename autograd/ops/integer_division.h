#pragma once

#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

// What floor_divide and remainder share: division that rounds to minus infinity, as in Python.

namespace autograd::detail {

/// f(a, b) of i64 elements, b not 0; DTypeError and ValueError in the name of `op`.
template <class F>
Tensor integer_division(const char* op, const Tensor& a, const Tensor& b, F f) {
  check_same_dtype(a.data(), b.data(), op);
  if (a.dtype() != DType::i64) fail<DTypeError>("{}: expected i64, got {}", op, name(a.dtype()));
  const Array divisors = b.data();
  for (const std::int64_t n : divisors.read<std::int64_t>()) {
    if (n == 0) fail<ValueError>("{}: expected divisors other than 0, got 0", op);
  }
  return record(op, zip_typed<std::int64_t, std::int64_t>(a.data(), divisors, op, f),
                {{a, {}}, {b, {}}});
}

/// A divisor for all elements, of shape ().
inline Tensor integer(std::int64_t n) {
  return from_values(std::span<const std::int64_t>(&n, 1), {});
}

}  // namespace autograd::detail
