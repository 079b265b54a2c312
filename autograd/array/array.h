#pragma once

#include <initializer_list>
#include <span>
#include <utility>

#include "autograd/array/dtype.h"
#include "autograd/array/shape.h"
#include "autograd/machine/pool.h"
#include "autograd/machine/ref.h"

namespace autograd {

/// A block of element memory, 64-byte aligned, behind a header that counts the Arrays which share
/// it. Only Array touches it.
class Buffer : public RefCounted {
 public:
  static Ref<Buffer> allocate(std::size_t bytes);  // uninitialised
  static void destroy(Buffer* buffer) noexcept;
  std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this) + pool::kAlignment; }

 private:
  explicit Buffer(std::size_t bytes) : bytes_(bytes) {}
  std::size_t bytes_;  // with this header
};

/// Numbers, a shape, a dtype, nothing else: our NumPy array. Always row-major and contiguous.
/// Copies share memory until one of them is written (copy-on-write), so an Array saved somewhere
/// never changes under its owner: what an op saved for backward is safe from an optimizer that
/// updates the parameter in place. Reading is free of locks; one Array object must not be written
/// while another thread uses that same object.
class Array {
 public:
  Array() : Array(empty(Shape{0}, DType::f32)) {}

  static Array empty(const Shape& shape, DType dtype);  // uninitialised
  static Array full(const Shape& shape, double value, DType dtype);
  static Array zeros(const Shape& shape, DType dtype) { return full(shape, 0.0, dtype); }
  static Array scalar(double value, DType dtype) { return full(Shape{}, value, dtype); }
  /// Copies `values`, row-major; ShapeError unless there are shape.numel() of them.
  template <class T>
  static Array from(std::span<const T> values, const Shape& shape);

  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  int rank() const { return shape_.rank(); }
  Index numel() const { return shape_.numel(); }
  std::size_t bytes() const { return static_cast<std::size_t>(numel()) * item_size(dtype_); }

  /// The elements, row-major; DTypeError if T is not the element type.
  template <class T>
  std::span<const T> read() const& {
    check_dtype(dtype_of<T>());
    return {reinterpret_cast<const T*>(buffer_->data()), static_cast<std::size_t>(numel())};
  }

  template <class T>
  std::span<const T> read() const&& = delete;  // elements of a temporary would be gone at once

  /// Calls f(std::span<T>) on elements that no other Array shares. Un-sharing happens here, on the
  /// calling thread; never call it inside parallel_for.
  template <class T, class F>
  void write(F&& f) {
    check_dtype(dtype_of<T>());
    unshare();
    std::forward<F>(f)(
        std::span<T>{reinterpret_cast<T*>(buffer_->data()), static_cast<std::size_t>(numel())});
  }

  /// A new array whose elements `fill(std::span<T>)` writes, all of them.
  template <class T, class F>
  static Array build(const Shape& shape, F&& fill) {
    Array a = empty(shape, dtype_of<T>());
    a.write<T>(std::forward<F>(fill));
    return a;
  }

  /// The same elements under another shape of equal numel (shares memory); ShapeError otherwise.
  Array reshape(const Shape& shape) const;
  /// Converted to another dtype; the same array if it already has it. A float to i64 truncates. A
  /// dual number does not become f32 or f64, which would lose its tangent: DTypeError.
  Array to(DType dtype) const;
  /// One element as a double, by its row-major position in [0, numel). DTypeError if it is dual.
  double at(Index position) const;
  /// Whether both hold the same memory; for tests.
  bool shares_memory_with(const Array& other) const { return buffer_ == other.buffer_; }

 private:
  Array(const Shape& shape, DType dtype, Ref<Buffer> buffer)
      : shape_(shape), dtype_(dtype), buffer_(std::move(buffer)) {}
  void check_dtype(DType wanted) const;
  void unshare();

  Shape shape_;
  DType dtype_;
  Ref<Buffer> buffer_;
};

/// Dual numbers from their parts, two f64 arrays of one shape, and the parts again.
Array dual(const Array& value, const Array& tangent);
Array value_of(const Array& a);
Array tangent_of(const Array& a);

/// Same shape, same dtype, same bits.
bool bit_equal(const Array& a, const Array& b);

}  // namespace autograd
