#include "autograd/tensor.h"

#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/array/layout.h"
#include "autograd/graph/dump.h"
#include "autograd/graph/observer.h"

namespace autograd {

Tensor::Tensor(Array data) : impl_(new TensorImpl(std::move(data))) {}

const Array& Tensor::data() const& {
  if (!impl_) fail<GraphError>("tensor: it is undefined (default-constructed, or a missing grad)");
  return impl_->data;
}

const Ref<Node>& Tensor::node() const {
  (void)data();
  return impl_->node;
}

Index Tensor::size(int dim) const { return shape()[shape().axis(dim, "size")]; }

double Tensor::item() const {
  if (numel() != 1) fail<ShapeError>("item: expected one element, got shape {}", shape().str());
  if (dtype() == DType::dual) {
    fail<DTypeError>("item: {} is no double; value_of and tangent_of give its parts",
                     to_string(*this));
  }
  return data().at(0);
}

double Tensor::at(std::initializer_list<Index> index) const {
  if (static_cast<int>(index.size()) != rank()) {
    fail<ShapeError>("at: expected {} indices for shape {}, got {}", rank(), shape().str(),
                     index.size());
  }
  const Strides strides = shape().strides();
  Index position = 0;
  int axis = 0;
  for (const Index i : index) {
    const Index size = shape()[axis];
    if (i < -size || i >= size) {
      fail<ValueError>("at: expected an index in [{}, {}) along dim {} of {}, got {}", -size, size,
                       axis, shape().str(), i);
    }
    position += (i < 0 ? i + size : i) * strides[axis++];
  }
  return data().at(position);
}

std::string Tensor::op() const {
  (void)data();
  return impl_->op ? impl_->op : "";
}

void Tensor::check_rank(int wanted, const char* what) const {
  if (rank() != wanted) fail<ShapeError>("{}, got shape {}", what, shape().str());
}

// --- writing

// Rules hold Arrays, which are copied on write, so writing cannot spoil what they saved. But a rule
// would not know of it: after y = exp(x); y *= 2, backward would still pass on exp(x), not 2
// exp(x). So only leaves and constants are written.
void Tensor::check_writable(const char* what) const {
  if (!is_leaf()) {
    fail<GraphError>(
        "{}: a result of {} cannot be written in place, its gradient would be wrong; "
        "clone() it under NoGrad or detach() it first",
        what, op());
  }
}

void Tensor::set_data(Array array) {
  check_writable("set_data");
  check_same_dtype(array, data(), "set_data");
  if (array.shape() != shape() || array.dtype() != dtype()) {
    fail<ShapeError>("set_data: expected shape {} of {}, got {} of {}", shape().str(),
                     name(dtype()), array.shape().str(), name(array.dtype()));
  }
  impl_->data = std::move(array);
}

void Tensor::convert_(DType dtype) {
  check_writable("convert_");
  const bool trained = requires_grad();
  impl_->data = data().to(dtype);
  impl_->node = {};  // graphs recorded before keep the old one
  if (trained) requires_grad_();
}

SliceRef Tensor::select_(int dim, Index index) {
  check_writable("select_");
  const int axis = shape().axis(dim, "select_");
  const Index size = shape()[axis];
  if (index < -size || index >= size) {
    fail<ValueError>("select_: expected an index in [{}, {}) along dim {} of {}, got {}", -size,
                     size, axis, shape().str(), index);
  }
  return {*this, axis, index < 0 ? index + size : index};
}

namespace {

// value as a T: integers and masks take only what they hold exactly.
template <class T>
T element(Wide<T> value) {
  if constexpr (std::is_integral_v<T>) {
    const bool fits =
        std::is_same_v<T, bool> ? value == 0 || value == 1 : value >= -0x1p53 && value <= 0x1p53;
    if (!fits || value != std::floor(value)) {
      fail<ValueError>("select_: {} cannot be an element of {}", value, name(dtype_of<T>()));
    }
  }
  return static_cast<T>(value);
}

// f(element, i) for the elements of one index of an axis; i counts them, row-major. An array is
// (outer, axis, inner) in memory: element i of the slice is at (i / inner, index, i % inner).
template <class F>
void update_slice(Tensor& tensor, int axis, Index index, F f) {
  const Shape shape = tensor.shape();
  Index inner = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  const Index count = shape.numel() / std::max<Index>(1, shape[axis]);
  dispatch_any(tensor.dtype(), [&](auto tag) {
    using T = decltype(tag);
    tensor.write<T>([&](std::span<T> x) {
      for (Index i = 0; i < count; ++i) {
        f(x[static_cast<std::size_t>((i / inner * shape[axis] + index) * inner + i % inner)], i);
      }
    });
  });
}

}  // namespace

void SliceRef::operator+=(double value) {
  update_slice(tensor_, axis_, index_, [value](auto& x, Index) {
    using T = std::remove_reference_t<decltype(x)>;
    x = element<T>(static_cast<Wide<T>>(x) + value);
  });
}
void SliceRef::operator-=(double value) { *this += -value; }
void SliceRef::operator*=(double value) {
  update_slice(tensor_, axis_, index_, [value](auto& x, Index) {
    using T = std::remove_reference_t<decltype(x)>;
    x = element<T>(static_cast<Wide<T>>(x) * value);
  });
}
void SliceRef::operator=(double value) {
  update_slice(tensor_, axis_, index_, [value](auto& x, Index) {
    x = element<std::remove_reference_t<decltype(x)>>(value);
  });
}
void SliceRef::operator=(const Tensor& values) {
  check_same_dtype(tensor_.data(), values.data(), "select_");
  const Array source = autograd::expand(values.data(), tensor_.shape().without(axis_));
  update_slice(tensor_, axis_, index_, [&source](auto& x, Index i) {
    x = source.read<std::remove_reference_t<decltype(x)>>()[static_cast<std::size_t>(i)];
  });
}

// The values are copied first, as both may be slices of one tensor.
void SliceRef::operator=(const SliceRef& other) {
  const Array slice = autograd::narrow(other.tensor_.data(), other.axis_, other.index_, 1);
  *this = Tensor(slice.reshape(slice.shape().without(other.axis_)));
}

// --- gradients

bool Tensor::requires_grad() const { return node() && impl_->requires_grad(); }
bool Tensor::is_leaf() const { return !node() || node()->is_leaf; }

Tensor& Tensor::requires_grad_(RequiresGrad on) {
  if (on == RequiresGrad::no) {
    if (!is_leaf())
      fail<GraphError>("requires_grad_: a result of {} has a history; detach() it", op());
    // The node stays: graphs recorded before still lead to it, and it holds the gradient. With a
    // new node for every requires_grad_() their gradients would go to one that nobody sees.
    if (node()) node()->frozen = true;
    return *this;
  }
  if (!is_float(dtype())) {
    fail<DTypeError>("requires_grad_: only f32 and f64 carry gradients, got {}", name(dtype()));
  }
  if (!node()) {
    impl_->node = Ref<Node>(new Node("leaf", shape(), dtype()));
    impl_->node->is_leaf = true;
    impl_->op = nullptr;
  }
  node()->frozen = false;
  impl_->derivative = false;  // a new leaf, whatever it was computed from
  return *this;
}

namespace {

// A constant, which remembers that it is a derivative: see record().
Tensor gradient(Array g) {
  TensorRef impl(new TensorImpl(std::move(g)));
  impl->derivative = true;
  return impl;
}

}  // namespace

Tensor Tensor::grad() const {
  if (!node()) return {};
  const NodeLock lock(*node());
  return node()->grad ? gradient(*node()->grad) : Tensor();
}

void Tensor::set_grad(const Tensor& grad) {
  if (!node()) fail<GraphError>("set_grad: the tensor requires no gradient");
  check_same_dtype(grad.data(), data(), "set_grad");
  if (grad.shape() != shape() || grad.dtype() != dtype()) {
    fail<ShapeError>("set_grad: expected shape {} of {}, got {} of {}", shape().str(),
                     name(dtype()), grad.shape().str(), name(grad.dtype()));
  }
  const NodeLock lock(*node());
  node()->grad = grad.data();
}

void Tensor::zero_grad() {
  if (!node()) return;
  const NodeLock lock(*node());
  node()->grad.reset();
}

void Tensor::retain_grad() {
  if (!requires_grad()) fail<GraphError>("retain_grad: the tensor requires no gradient");
  node()->retain_grad = true;
}

namespace {

// The gradient that backward starts with: 1 for a scalar, as dy/dy = 1. Where there is none, an
// error.
Array seed_of(const Tensor& y, const Tensor* seed, const char* what) {
  if (!y.requires_grad()) {
    fail<GraphError>(
        "{}: the tensor has no gradient history: it was made from constants or under "
        "NoGrad, or is itself a gradient; second derivatives are hvp's",
        what);
  }
  if (!seed) {
    if (y.numel() == 1) return Array::full(y.shape(), 1.0, y.dtype());
    fail<GraphError>("{}: expected a tensor of one element or a seed of shape {}", what,
                     y.shape().str());
  }
  if (seed->shape() != y.shape() || seed->dtype() != y.dtype()) {
    fail<GraphError>("{}: expected a seed of shape {} of {}, got {} of {}", what, y.shape().str(),
                     name(y.dtype()), seed->shape().str(), name(seed->dtype()));
  }
  return seed->data();
}

std::vector<Tensor> grad_of(const Tensor& y, const std::vector<Tensor>& xs, const Tensor* seed,
                            Retain retain) {
  const Array start = seed_of(y, seed, "grad");
  std::vector<Ref<Node>> targets;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (!xs[i].requires_grad()) fail<GraphError>("grad: input {} requires no gradient", i);
    targets.push_back(xs[i].node());
  }
  std::vector<Tensor> grads;  // constants: rules compute Arrays, which record nothing
  for (Array& g : run_grad(y.node(), start, targets, retain))
    grads.push_back(gradient(std::move(g)));
  return grads;
}

}  // namespace

void Tensor::backward(Retain retain) const {
  run_backward(node(), seed_of(*this, nullptr, "backward"), retain);
}

void Tensor::backward(const Tensor& seed, Retain retain) const {
  run_backward(node(), seed_of(*this, &seed, "backward"), retain);
}

std::vector<Tensor> grad(const Tensor& y, const std::vector<Tensor>& xs, Retain retain) {
  return grad_of(y, xs, nullptr, retain);
}

std::vector<Tensor> grad(const Tensor& y, const std::vector<Tensor>& xs, const Tensor& seed,
                         Retain retain) {
  return grad_of(y, xs, &seed, retain);
}

// Shares memory with this tensor, safely: whoever is written first gets a copy of its own.
Tensor Tensor::detach() const {
  Tensor constant(data());
  tell_observers([this](Observer& observer) { observer.detached(*impl_); });
  return constant;
}

// An op like any other, whose rule hands the gradient on as it is.
Tensor Tensor::clone() const {
  return record("clone", data(), {{*this, [](const Array& g) { return g; }}});
}

// The graph knows Arrays only, so a user's hook on Tensors is wrapped.
Index Tensor::register_hook(Hook hook) {
  if (!requires_grad()) fail<GraphError>("register_hook: the tensor requires no gradient");
  auto& hooks = node()->hooks;
  const Index id = node()->next_hook++;
  hooks.emplace_back(id, [hook = std::move(hook)](const Array& g) {
    const Tensor replaced = hook(gradient(g));
    return replaced.defined() ? replaced.data() : g;
  });
  return id;
}

void Tensor::remove_hook(Index id) {
  if (!node()) return;
  std::erase_if(node()->hooks, [id](const auto& hook) { return hook.first == id; });
}

std::int64_t live_nodes() { return Node::live(); }

std::string dot(const Tensor& t, const NamedTensors& names) {
  std::map<std::uint64_t, NodeLabel> labels;
  for (const auto& [name, tensor] : names) {
    if (tensor.node()) labels.insert_or_assign(tensor.node()->id, NodeLabel{name, tensor.data()});
  }
  return dot(t.node(), labels);
}

}  // namespace autograd
