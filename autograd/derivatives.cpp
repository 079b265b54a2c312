#include "autograd/derivatives.h"

#include <algorithm>
#include <memory>

#include "autograd/graph/paths.h"

namespace autograd {
namespace {

void check_leaf(const Tensor& x, std::size_t i, const char* what) {
  if (!x.is_leaf()) {
    fail<GraphError>("{}: expected leaves, got input {}, a result of '{}'", what, i, x.op());
  }
  if (x.dtype() != DType::f64) {
    fail<DTypeError>("{}: expected f64, got input {} in {}", what, i, name(x.dtype()));
  }
}

void check_direction(const Tensor& x, const Tensor& v, std::size_t i, const char* what) {
  if (v.dtype() != DType::f64) {
    fail<DTypeError>("{}: expected a direction of f64, got {} for input {}", what, name(v.dtype()),
                     i);
  }
  if (v.shape() != x.shape()) {
    fail<ShapeError>("{}: expected a direction of shape {} for input {}, got {}", what,
                     x.shape().str(), i, v.shape().str());
  }
}

/// While it lives, the tensor behind the handle is another leaf, of dual numbers.
class DualLeaf {
 public:
  DualLeaf(const Tensor& x, const Tensor& v)
      : tensor_(x), data_(tensor_->data), node_(tensor_->node) {
    Tensor leaf = dual(Tensor(data_), v);
    leaf.requires_grad_();
    tensor_->data = leaf.data();
    tensor_->node = leaf.node();
  }
  ~DualLeaf() {
    tensor_->data = std::move(data_);
    tensor_->node = std::move(node_);
  }
  DualLeaf(const DualLeaf&) = delete;
  DualLeaf& operator=(const DualLeaf&) = delete;

 private:
  TensorRef tensor_;
  Array data_;
  Ref<Node> node_;
};

using DualLeaves = std::vector<std::unique_ptr<DualLeaf>>;

DualLeaves dual_leaves(const std::vector<Tensor>& xs, const std::vector<Tensor>& vs,
                       const char* what) {
  if (vs.size() != xs.size()) {
    fail<ValueError>("{}: expected {} directions, one for each input, got {}", what, xs.size(),
                     vs.size());
  }
  DualLeaves leaves;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    check_leaf(xs[i], i, what);
    check_direction(xs[i], vs[i], i, what);
    leaves.push_back(std::make_unique<DualLeaf>(xs[i], vs[i]));
  }
  return leaves;
}

/// One gradient for each x, of its dtype; zeros where y does not depend on it.
std::vector<Tensor> gradients_of(const Tensor& y, const std::vector<Tensor>& xs) {
  std::vector<Tensor> gradients, reached;
  for (const Tensor& x : xs) gradients.emplace_back(Array::zeros(x.shape(), x.dtype()));
  if (!y.requires_grad()) return gradients;
  const auto below = nodes_below(y.node());
  const auto depends_on = [&](const Tensor& x) {
    return x.requires_grad() && below.count(x.node()->id) > 0;
  };
  std::copy_if(xs.begin(), xs.end(), std::back_inserter(reached), depends_on);
  if (reached.empty()) return gradients;
  const std::vector<Tensor> found = grad(y, reached);
  auto next = found.begin();
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (depends_on(xs[i])) gradients[i] = *next++;
  }
  return gradients;
}

void check_gradients_on(const char* what) {
  if (!grad_enabled()) fail<GraphError>("{}: gradients are off here (NoGrad)", what);
}

/// The function of one x as a closure that reads it.
template <class F>
auto reading(const Function& f, const Tensor& x, F use) {
  const Tensor own = x.detach();  // a leaf, and not the caller's
  return use([&f, own] { return f(own); }, std::vector<Tensor>{own});
}

}  // namespace

namespace {

/// A constant that record() knows for a derivative, if it is one.
Tensor marked(Array part, bool derivative) {
  TensorRef impl(new TensorImpl(std::move(part)));
  impl->derivative = derivative;
  return impl;
}

}  // namespace

Tensor dual(const Tensor& value, const Tensor& tangent) {
  return Tensor(dual(value.data(), tangent.data()));
}

Tensor value_of(const Tensor& x) {
  if (x.dtype() == DType::f64) return x.detach();
  return marked(value_of(x.data()), static_cast<const TensorRef&>(x)->derivative);
}

Tensor tangent_of(const Tensor& x) {
  if (x.dtype() == DType::f64) return Tensor(Array::zeros(x.shape(), x.dtype()));
  return marked(tangent_of(x.data()), true);
}

std::vector<Tensor> gradient(const Closure& f, const std::vector<Tensor>& xs) {
  check_gradients_on("gradient");
  return gradients_of(f(), xs);
}

Tensor jvp(const Closure& f, const std::vector<Tensor>& xs, const std::vector<Tensor>& vs) {
  const NoGrad no_graph;
  const DualLeaves leaves = dual_leaves(xs, vs, "jvp");
  return tangent_of(f());
}

std::vector<Tensor> hvp(const Closure& f, const std::vector<Tensor>& xs,
                        const std::vector<Tensor>& vs) {
  check_gradients_on("hvp");
  const DualLeaves leaves = dual_leaves(xs, vs, "hvp");
  std::vector<Tensor> products;
  for (const Tensor& g : gradients_of(f(), xs)) products.push_back(tangent_of(g));
  return products;
}

Tensor hessian(const Closure& f, const std::vector<Tensor>& xs) {
  std::vector<Tensor> vs;
  Index n = 0;
  for (const Tensor& x : xs) {
    vs.emplace_back(Array::zeros(x.shape(), DType::f64));
    n += x.numel();
  }
  Array columns = Array::build<double>({n, n}, [&](std::span<double> h) {
    std::size_t at = 0;  // H is symmetric: what is computed as a column is written as a row
    for (Tensor& v : vs) {
      for (Index i = 0; i < v.numel(); ++i) {
        v.write<double>([i](std::span<double> e) { e[i] = 1; });
        for (const Tensor& product : hvp(f, xs, vs)) {
          const auto column = product.data().read<double>();
          std::copy(column.begin(), column.end(), h.begin() + static_cast<Index>(at));
          at += column.size();
        }
        v.write<double>([i](std::span<double> e) { e[i] = 0; });
      }
    }
  });
  return marked(std::move(columns), true);
}

Tensor jvp(const Function& f, const Tensor& x, const Tensor& v) {
  return reading(f, x, [&](const Closure& g, const auto& xs) { return jvp(g, xs, {v}); });
}

Tensor hvp(const Function& f, const Tensor& x, const Tensor& v) {
  return reading(f, x, [&](const Closure& g, const auto& xs) { return hvp(g, xs, {v})[0]; });
}

Tensor hessian(const Function& f, const Tensor& x) {
  return reading(f, x, [](const Closure& g, const auto& xs) { return hessian(g, xs); });
}

}  // namespace autograd
