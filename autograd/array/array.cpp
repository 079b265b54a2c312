#include "autograd/array/array.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "autograd/machine/sanitizer.h"

namespace autograd {
namespace {

// Under the sanitizers fresh memory is NaN (and no valid bool), so that what is read before it was
// written shows in every test.
void poison(Buffer& buffer, std::size_t bytes) {
#if GRADLAB_ASAN
  std::memset(buffer.data(), 0xff, bytes);
#else
  (void)buffer, (void)bytes;
#endif
}

// A conversion that C++ leaves undefined, a NaN or a float too large for an integer, is an error.
template <class To, class From>
To converted(From v) {
  if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, std::int64_t>) {
    if (!(v >= From(-0x1p63) && v < From(0x1p63))) {
      fail<ValueError>("to: expected a number that fits into i64, got {}", v);
    }
  }
  return static_cast<To>(v);
}

// f(value, tangent) of each element of a dual array, as an array of f64.
template <class F>
Array part_of(const Array& a, F f) {
  const std::span<const Dual> x = a.read<Dual>();
  return Array::build<double>(
      a.shape(), [&](std::span<double> y) { std::transform(x.begin(), x.end(), y.begin(), f); });
}

}  // namespace

Ref<Buffer> Buffer::allocate(std::size_t bytes) {
  static_assert(sizeof(Buffer) <= pool::kAlignment);  // the header fits before the first element
  const std::size_t all = pool::kAlignment + bytes;
  Ref<Buffer> buffer(new (pool::allocate(all)) Buffer(all));
  poison(*buffer, bytes);
  return buffer;
}

void Buffer::destroy(Buffer* buffer) noexcept {
  const std::size_t bytes = buffer->bytes_;
  buffer->~Buffer();
  pool::release(buffer, bytes);
}

// A Shape guarantees that its element count fits into Index; the count of bytes is checked here.
Array Array::empty(const Shape& shape, DType dtype) {
  const auto item = static_cast<Index>(item_size(dtype));
  const Index limit = std::numeric_limits<Index>::max() - static_cast<Index>(pool::kAlignment);
  if (shape.numel() > limit / item) {
    fail<ShapeError>("array of shape {}: {} elements of {} bytes are beyond the address space",
                     shape.str(), shape.numel(), item);
  }
  return Array(shape, dtype, Buffer::allocate(static_cast<std::size_t>(shape.numel() * item)));
}

Array Array::full(const Shape& shape, double value, DType dtype) {
  return dispatch_any(dtype, [&](auto tag) {
    using T = decltype(tag);
    return build<T>(shape,
                    [&](std::span<T> x) { std::fill(x.begin(), x.end(), converted<T>(value)); });
  });
}

template <class T>
Array Array::from(std::span<const T> values, const Shape& shape) {
  if (static_cast<Index>(values.size()) != shape.numel()) {
    fail<ShapeError>("from_values: shape {} takes {} values, got {}", shape.str(), shape.numel(),
                     values.size());
  }
  return build<T>(shape,
                  [&](std::span<T> x) { std::copy(values.begin(), values.end(), x.begin()); });
}
template Array Array::from(std::span<const float>, const Shape&);
template Array Array::from(std::span<const double>, const Shape&);
template Array Array::from(std::span<const std::int64_t>, const Shape&);
template Array Array::from(std::span<const bool>, const Shape&);
template Array Array::from(std::span<const Dual>, const Shape&);

// Row-major and contiguous, always: another shape of as many elements is the same memory.
Array Array::reshape(const Shape& shape) const {
  if (shape.numel() != numel()) {
    fail<ShapeError>("reshape: {} has {} elements, {} has {}", shape_.str(), numel(), shape.str(),
                     shape.numel());
  }
  return Array(shape, dtype_, buffer_);
}

Array Array::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  if (dtype_ == DType::dual) {
    if (!is_float(dtype)) return value_of(*this).to(dtype);  // constant between jumps: tangent 0
    fail<DTypeError>("to: {} would lose the tangent of dual; value_of and tangent_of say which",
                     name(dtype));
  }
  return dispatch_any(dtype_, [&](auto from_tag) {
    return dispatch_any(dtype, [&](auto to_tag) {
      using From = decltype(from_tag);
      using To = decltype(to_tag);
      if constexpr (std::is_same_v<From, Dual>) {
        return *this;  // never reached
      } else {
        const std::span<const From> x = read<From>();
        return build<To>(shape_, [&](std::span<To> y) {
          std::transform(x.begin(), x.end(), y.begin(), [](From v) { return converted<To>(v); });
        });
      }
    });
  });
}

double Array::at(Index position) const {
  if (position < 0 || position >= numel()) {
    fail<ValueError>("at: expected a position in [0, {}), got {}", numel(), position);
  }
  return dispatch_any(dtype_, [&](auto tag) -> double {
    const auto v = read<decltype(tag)>()[static_cast<std::size_t>(position)];
    if constexpr (std::is_same_v<decltype(tag), Dual>) {
      fail<DTypeError>(
          "at: a dual number, here {} + {} e, is no double; value_of and tangent_of give its parts",
          v.value, v.tangent);
    } else {
      return static_cast<double>(v);
    }
  });
}

Array dual(const Array& value, const Array& tangent) {
  if (value.dtype() != DType::f64 || tangent.dtype() != DType::f64) {
    fail<DTypeError>("dual: expected a value and a tangent of f64, got {} and {}",
                     name(value.dtype()), name(tangent.dtype()));
  }
  if (value.shape() != tangent.shape()) {
    fail<ShapeError>("dual: expected a tangent of shape {}, got {}", value.shape().str(),
                     tangent.shape().str());
  }
  const std::span<const double> v = value.read<double>(), t = tangent.read<double>();
  return Array::build<Dual>(value.shape(), [&](std::span<Dual> x) {
    std::transform(v.begin(), v.end(), t.begin(), x.begin(),
                   [](double a, double b) { return Dual(a, b); });
  });
}

Array value_of(const Array& a) {
  return part_of(a, [](Dual x) { return x.value; });
}
Array tangent_of(const Array& a) {
  return part_of(a, [](Dual x) { return x.tangent; });
}

void Array::check_dtype(DType wanted) const {
  if (dtype_ != wanted) {
    fail<DTypeError>("array of shape {}: expected {}, it is {}", shape_.str(), name(wanted),
                     name(dtype_));
  }
}

// The copy of copy-on-write. unique() loads the count with acquire, so that the writes of this
// thread come after the last reads of an owner that let go on another one (see RefCounted). A count
// that is 1 stays 1 meanwhile: only an owner can make another, and this Array is the only one.
void Array::unshare() {
  if (buffer_->unique()) return;
  Ref<Buffer> own = Buffer::allocate(bytes());
  std::memcpy(own->data(), buffer_->data(), bytes());
  buffer_ = std::move(own);
}

// By bits, so that NaN equals itself and 0 is not -0, which == would have the other way round.
bool bit_equal(const Array& a, const Array& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  return dispatch_any(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    return std::memcmp(a.read<T>().data(), b.read<T>().data(), a.bytes()) == 0;
  });
}

}  // namespace autograd
