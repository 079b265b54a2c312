#include <fmt/format.h>

#include <map>
#include <sstream>

#include "autograd/derivatives.h"
#include "nn/linear.h"
#include "nn/optim.h"
#include "nn/sequential.h"
#include "tests/nn/check.h"

// What one writes around a graph to look into it, each in a few lines.

namespace nn {
namespace {

using testing::HasSubstr;

// --- Jacobians

/// (m, n) for n elements of x and m of f(x): a row for each backward.
Tensor jacobian(const autograd::Function& f, const Tensor& x) {
  const Tensor at = x.detach().requires_grad_(), y = f(at).reshape({-1});
  std::vector<Tensor> rows;
  for (Index i = 0; i < y.numel(); ++i) {
    rows.push_back(autograd::grad(y[i], {at}, autograd::Retain::yes)[0].reshape({-1}));
  }
  return stack(rows, 0);
}

/// The same, a column for each direction. x is f64.
Tensor forward_jacobian(const autograd::Function& f, const Tensor& x) {
  std::vector<Tensor> columns;
  for (Index i = 0; i < x.numel(); ++i) {
    const Tensor e =
        autograd::one_hot(autograd::full({}, static_cast<double>(i), DType::i64), x.numel());
    columns.push_back(jvp(f, x, e.to(DType::f64).reshape(x.shape())).reshape({-1}));
  }
  return stack(columns, 1);
}

TEST(OwnTools, Jacobian) {
  const Tensor x = autograd::randn({5}, DType::f64), p = softmax(x, 0);
  const auto f = [](const Tensor& t) { return softmax(t, 0); };
  // diag(p) - p p^T
  const Tensor want = autograd::eye(5, DType::f64) * p - p.unsqueeze(1) * p;
  EXPECT_TRUE(is_close(jacobian(f, x), want, 1e-15));
  EXPECT_TRUE(is_close(forward_jacobian(f, x), want, 1e-15));
  const Tensor w = autograd::randn({3, 2}, DType::f64), m = autograd::randn({4, 3}, DType::f64);
  const auto g = [&](const Tensor& t) { return tanh(matmul(t, w)); };
  EXPECT_EQ(jacobian(g, m).shape(), Shape({8, 12}));
  EXPECT_TRUE(is_close(jacobian(g, m), forward_jacobian(g, m), 1e-15));
}

// --- a graph of numbers

/// The example of micrograd's README, whose numbers are PyTorch's too.
TEST(OwnTools, GraphOfNumbers) {
  const auto number = [](double v) { return autograd::full({}, v, DType::f64).requires_grad_(); };
  Tensor a = number(-4), b = number(2);
  Tensor c = a + b, d = a * b + b.pow(3);
  c += c + 1;
  c += 1 + c + -a;
  d += d * 2 + relu(b + a);
  d += 3 * d + relu(b - a);
  Tensor e = c - d, f = e.pow(2), g = f / 2 + 10 / f;
  autograd::NamedTensors nodes = {{"a", a}, {"b", b}, {"c", c}, {"d", d},
                                  {"e", e}, {"f", f}, {"g", g}};
  for (auto& [name, node] : nodes) node.retain_grad();
  g.backward(autograd::Retain::yes);
  const std::string picture = dot(g, nodes);

  EXPECT_THAT(picture, HasSubstr("a = -4\\nleaf\\n() f64\\ngrad = 138.83"));
  EXPECT_THAT(picture, HasSubstr("b = 2\\nleaf\\n() f64\\ngrad = 645.58"));
  EXPECT_THAT(picture, HasSubstr("c = -1\\nadd\\n() f64\\ngrad = -6.9417"));
  EXPECT_THAT(picture, HasSubstr("g = 24.704\\nadd\\n() f64\\ngrad = 1\""));
  EXPECT_NEAR(g.item(), 24.7041, 5e-5);
  EXPECT_NEAR(a.grad().item(), 138.8338, 5e-5);
  EXPECT_NEAR(b.grad().item(), 645.5773, 5e-5);
}

// --- a log of gradients

/// A line of csv for each parameter that has a gradient: step,parameter,norm,largest.
void log_gradients(std::ostream& csv, Index step, const Module& model) {
  for (const auto& [name, p] : model.named_parameters()) {
    if (const Tensor g = p.grad(); g.defined()) {
      csv << fmt::format("{},{},{},{}\n", step, name, norm(g).item(), g.abs().max().item());
    }
  }
}

TEST(OwnTools, GradientsAsCsv) {
  constexpr double kRate = 0.25;
  Sequential model;
  model.append<Linear>(Index{3}, Index{4}, LinearOptions{.dtype = DType::f64});
  model.append<Linear>(Index{4}, Index{1}, LinearOptions{.bias = Bias::no, .dtype = DType::f64});
  SGD optimizer(model.named_parameters(), {.lr = kRate});
  const Tensor x = autograd::randn({8, 3}, DType::f64), y = autograd::randn({8, 1}, DType::f64);
  std::ostringstream csv;
  std::map<std::string, Tensor> moves;  // "step,parameter" -> how far it went, over the rate
  for (Index step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    mse(model(x), y).backward();
    log_gradients(csv, step, model);
    const State before = model.state();
    optimizer.step();
    for (const auto& [name, value] : model.state()) {
      moves[fmt::format("{},{}", step, name)] = (before.at(name) - value) / kRate;
    }
  }
  std::istringstream lines(csv.str());
  std::size_t count = 0;
  for (std::string step, name, norm_text, largest;
       std::getline(lines, step, ',') && std::getline(lines, name, ',') &&
       std::getline(lines, norm_text, ',') && std::getline(lines, largest);
       ++count) {
    const Tensor move = moves.at(step + ',' + name);
    EXPECT_NEAR(std::stod(norm_text), move.square().sum().sqrt().item(), 1e-14) << name;
    EXPECT_NEAR(std::stod(largest), move.abs().max().item(), 1e-14) << name;
  }
  EXPECT_EQ(count, moves.size());
  EXPECT_EQ(csv.str().find("2,1.weight,") == std::string::npos, false) << csv.str();
}

}  // namespace
}  // namespace nn
