#pragma once

#include <functional>
#include <vector>

#include "autograd/tensor.h"

// Derivatives along a direction, exact to rounding, and with them second derivatives.
//
// They come from the type of the numbers. A dual number x + v e carries its derivative v along one
// direction beside it (array/dual.h), and every op computes with dual numbers as it does with f64.
// So the tangent of f(x + v e) is the derivative of f along v, and the tangent of the gradient that
// backward finds at x + v e is the derivative of the gradient: the Hessian times v, for a few times
// the cost of one gradient, whatever the size of x (Pearlmutter, "Fast exact multiplication by the
// Hessian", 1994).
//
// A dual tensor is made by dual(), and what ops make of it is dual. Tensors of f64 beside it are
// constants; f32 does not mix. Only value_of() and tangent_of() lead back to f64.

namespace autograd {

/// A leaf of dual numbers from two f64 tensors of one shape.
Tensor dual(const Tensor& value, const Tensor& tangent);
/// The two parts of a dual tensor, as constants; of an f64 tensor its value and zeros.
Tensor value_of(const Tensor& x);
Tensor tangent_of(const Tensor& x);

using Function = std::function<Tensor(const Tensor& x)>;

// x and v: f64, of one shape; GraphError where hvp or hessian meets an f whose result has not one
// element.

/// The derivative of f at x along v: J v, of the shape of f(x).
Tensor jvp(const Function& f, const Tensor& x, const Tensor& v);
/// H v, H the matrix of second derivatives of f at x; of the shape of x.
Tensor hvp(const Function& f, const Tensor& x, const Tensor& v);
/// H itself, (n, n) for n elements of x, row-major: n times the cost of hvp.
Tensor hessian(const Function& f, const Tensor& x);

using Closure = std::function<Tensor()>;

// The same of what a closure reads, such as the parameters of a module:
//
//     hvp([&] { return cross_entropy(model(tokens), targets); }, model.parameters(), v)
//
// xs are f64 leaves, each once, with a v for each. Meanwhile they hold dual numbers, so no other
// thread may use them; afterwards they are as they were, also where f throws. Their `.grad` is not
// touched. f has to compute the same at each call: a module with dropout in eval().

/// The gradient of f; zeros for an x on which it does not depend.
std::vector<Tensor> gradient(const Closure& f, const std::vector<Tensor>& xs);
Tensor jvp(const Closure& f, const std::vector<Tensor>& xs, const std::vector<Tensor>& vs);
std::vector<Tensor> hvp(const Closure& f, const std::vector<Tensor>& xs,
                        const std::vector<Tensor>& vs);
/// (n, n) for n elements of all xs together, one after the other.
Tensor hessian(const Closure& f, const std::vector<Tensor>& xs);

}  // namespace autograd
