#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autograd/array/order.h"
#include "autograd/array/random.h"
#include "autograd/array/reduce.h"
#include "autograd/graph/backward.h"
#include "autograd/graph/grad_mode.h"
#include "autograd/graph/record.h"

namespace autograd {

enum class RequiresGrad : bool { no, yes };

class SliceRef;
struct Sorted;
enum class Largest : bool { no, yes };
enum class Replacement : bool { no, yes };

/// A handle on a value and its place in a graph: our PyTorch tensor. Copies of a handle are the
/// same tensor; clone() and detach() make another. The dims of member functions may be negative.
///
/// Threads may share tensors and graphs: each pass (backward or grad()) adds all of its gradient to
/// a shared leaf, and a graph that is not retained runs once and then throws. grad(), set_grad()
/// and zero_grad() may run beside passes. Who writes values (write, set_data, select_, the step of
/// an optimizer, clipping) or changes hooks or requires_grad_() has to see to it that no other
/// thread uses the tensor meanwhile.
class Tensor {
 public:
  using Hook = std::function<Tensor(const Tensor& grad)>;

  Tensor() = default;           // undefined: no value at all
  explicit Tensor(Array data);  // a constant
  Tensor(TensorRef impl) noexcept : impl_(std::move(impl)) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  // Not on temporaries: `x.narrow(0, 0, 1) = y` would change nothing.
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;

  // --- what it is
  bool defined() const { return static_cast<bool>(impl_); }
  const Array& data() const&;  // GraphError if undefined, as for everything below
  Array data() && { return std::as_const(*this).data(); }
  const Shape& shape() const { return data().shape(); }
  DType dtype() const { return data().dtype(); }
  int rank() const { return shape().rank(); }
  Index numel() const { return shape().numel(); }
  Index size(int dim) const;
  /// The sizes as an array: `const auto [B, T, C] = x.dims<3>("attention: x is (B, T, C)")`.
  /// ShapeError with that text and the shape if the rank is not N.
  template <int N>
  std::array<Index, N> dims(const char* what) const {
    check_rank(N, what);
    std::array<Index, N> sizes{};
    for (int i = 0; i < N; ++i) sizes[i] = shape()[i];
    return sizes;
  }
  // item() and at() give a double, which rounds an i64 beyond 2^53; data().read<std::int64_t>()
  // does not. DTypeError for a dual number, which is two doubles.
  double item() const;                                  // the value of a one-element tensor
  double at(std::initializer_list<Index> index) const;  // one element; negative counts from the end
  std::string op() const;                               // "softmax"; "" for a leaf

  // --- writing, which the graph does not see
  /// f(std::span<T>) on the elements. GraphError on a result of recorded ops (its gradient would
  /// silently be wrong): detach() it, or clone() it under NoGrad. Values saved for backward are
  /// never affected.
  template <class T, class F>
  void write(F&& f) {
    check_writable("write");
    impl_->data.write<T>(std::forward<F>(f));
  }
  void set_data(Array data);  // same shape and dtype
  /// Converts a leaf in place, for all its handles. Its gradient and its hooks go.
  void convert_(DType dtype);
  /// x.select_(1, 0) += 1.0 is PyTorch's x[:, 0, :] += 1.
  SliceRef select_(int dim, Index index);

  // --- gradients
  bool requires_grad() const;
  bool is_leaf() const;  // made by the user rather than by a recorded op
  /// For leaves of floats: whether ops that take the tensor from now on are recorded. What was
  /// recorded before still brings its gradient, and a gradient that is there stays.
  Tensor& requires_grad_(RequiresGrad on = RequiresGrad::yes);
  /// Undefined until a backward reached this leaf (or retain_grad() tensor). A constant: a recorded
  /// op that takes it as an operand throws GraphError; detach() it first.
  Tensor grad() const;
  void set_grad(const Tensor& grad);
  void zero_grad();    // drops it
  void retain_grad();  // keep the gradient of an intermediate too
  /// Adds to the grad of every leaf below. Without a seed the tensor must have one element.
  void backward(Retain retain = Retain::no) const;
  void backward(const Tensor& seed, Retain retain = Retain::no) const;
  /// Same value (shared until written), no history. A detached gradient may enter a graph.
  Tensor detach() const;
  Tensor clone() const;  // a differentiable copy
  /// Called with the whole gradient of this tensor before it flows on; what it returns replaces
  /// that gradient, unless undefined. Returns an id for remove_hook. A hook that holds the tensor
  /// itself keeps it alive until it is removed.
  Index register_hook(Hook hook);
  void remove_hook(Index id);

  // --- members where PyTorch has them; ops.h documents each
  Tensor reshape(std::initializer_list<Index> sizes) const;  // one size may be -1
  Tensor reshape(const Shape& shape) const;
  Tensor view(std::initializer_list<Index> sizes) const;  // reshape: no result changes with x
  Tensor transpose(int dim0, int dim1) const;
  Tensor permute(std::initializer_list<int> dims) const;
  Tensor squeeze(int dim) const;
  Tensor unsqueeze(int dim) const;
  Tensor expand(const Shape& shape) const;
  Tensor narrow(int dim, Index start, Index length) const;
  Tensor select(int dim, Index index) const;
  Tensor unfold(int dim, Index size, Index step) const;
  Tensor index_select(int dim, const Tensor& index) const;
  Tensor gather(int dim, const Tensor& index) const;
  Tensor scatter_add(int dim, const Tensor& index, const Tensor& src) const;
  Sorted sort(int dim = -1, Descending descending = Descending::no) const;
  Tensor argsort(int dim = -1, Descending descending = Descending::no) const;
  Sorted topk(Index k, int dim = -1, Largest largest = Largest::yes) const;
  Tensor cumsum(int dim) const;
  Tensor multinomial(Index num_samples, Replacement replacement = Replacement::no,
                     Generator& generator = default_generator()) const;
  Tensor operator[](Index index) const;  // select(0, index): a value, not a place to write to
  Tensor matmul(const Tensor& other) const;
  Tensor sum(Dims dims = {}, KeepDim keep = KeepDim::no) const;
  Tensor mean(Dims dims = {}, KeepDim keep = KeepDim::no) const;
  Tensor var(Dims dims = {}, KeepDim keep = KeepDim::no, double correction = 1) const;
  Tensor logsumexp(Dims dims, KeepDim keep = KeepDim::no) const;
  Tensor max(Dims dims = {}, KeepDim keep = KeepDim::no) const;
  Tensor min(Dims dims = {}, KeepDim keep = KeepDim::no) const;
  Tensor any(Dims dims = {}, KeepDim keep = KeepDim::no) const;
  Tensor all(Dims dims = {}, KeepDim keep = KeepDim::no) const;
  Tensor argmax(int dim, KeepDim keep = KeepDim::no) const;
  Tensor abs() const;
  Tensor sign() const;
  Tensor clamp(double lo, double hi) const;
  Tensor square() const;
  Tensor exp() const;
  Tensor log() const;
  Tensor sqrt() const;
  Tensor rsqrt() const;
  Tensor sin() const;
  Tensor cos() const;
  Tensor tanh() const;
  Tensor sigmoid() const;
  Tensor relu() const;
  Tensor pow(double exponent) const;
  Tensor softmax(int dim) const;
  Tensor masked_fill(const Tensor& mask, double value) const;
  Tensor to(DType dtype) const;

  operator const TensorRef&() const { return impl_; }  // so that record() takes tensors
  const Ref<Node>& node() const;                       // null for a constant

 private:
  void check_rank(int rank, const char* what) const;
  void check_writable(const char* what) const;

  TensorRef impl_;
};

/// The part of a tensor at one index of one dimension, for writing in place.
class SliceRef {
 public:
  SliceRef(Tensor tensor, int axis, Index index)
      : tensor_(std::move(tensor)), axis_(axis), index_(index) {}
  void operator+=(double value);
  void operator-=(double value);
  void operator*=(double value);
  void operator=(double value);
  void operator=(const Tensor& values);   // the slice's shape, or one that broadcasts to it
  void operator=(const SliceRef& other);  // its values, as x[0] = x[1] in PyTorch
  SliceRef(const SliceRef&) = default;

 private:
  Tensor tensor_;
  int axis_;
  Index index_;
};

/// d(y . seed)/dx for every x, without touching any `.grad`; x may be a leaf or an intermediate.
/// Without a seed y must have one element. GraphError if y does not depend on an x. The results are
/// constants, without second derivatives: an op that would record one as an operand, as in the
/// gradient penalty y + g * g, throws GraphError, and detach() says that a constant is meant.
std::vector<Tensor> grad(const Tensor& y, const std::vector<Tensor>& xs,
                         Retain retain = Retain::no);
std::vector<Tensor> grad(const Tensor& y, const std::vector<Tensor>& xs, const Tensor& seed,
                         Retain retain = Retain::no);

/// Nodes of all graphs alive in this process: 0 once every handle is gone.
std::int64_t live_nodes();

/// Values (long ones elided), shape, dtype and the op that made it.
std::string to_string(const Tensor& t);
std::ostream& operator<<(std::ostream& out, const Tensor& t);

/// The graph below t as DOT text: op, shape, dtype and scope of each node, gradients that were
/// kept, and names and values of the tensors that are named: dot(loss, {{"w", w}, {"b", b}}).
/// Numbers are written out where there are few. A graph that ran backward without Retain::yes has
/// lost its inputs, and says so.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
std::string dot(const Tensor& t, const NamedTensors& names = {});

}  // namespace autograd
