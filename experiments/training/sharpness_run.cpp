#include "experiments/training/sharpness_run.h"

#include <algorithm>
#include <vector>

#include "autograd/derivatives.h"
#include "nn/attention.h"
#include "nn/linear.h"

namespace experiments::training {

using autograd::DType;
using autograd::Tensor;

class SharpnessRun::Head : public nn::Module {
 public:
  Head(const SharpnessOptions& o, nn::Generator generator)
      : Module("Head"),
        scale_(o.scale),
        x_(randn({o.batch_size, o.seq_len, o.width}, DType::f64, generator)),
        target_(randn({o.batch_size, o.seq_len, o.width}, DType::f64, generator)),
        q_(register_module<nn::Linear>("q", o.width, o.d_k, kLinear, generator)),
        k_(register_module<nn::Linear>("k", o.width, o.d_k, kLinear, generator)),
        v_(register_module<nn::Linear>("v", o.width, o.width, kLinear, generator)) {}

  Tensor loss() const {
    return mse(nn::attention(q_(x_), k_(x_), v_(x_), {.scale = scale_}), target_);
  }

 private:
  static constexpr nn::LinearOptions kLinear{
      .bias = nn::Bias::no, .init = nn::Init::unit, .dtype = DType::f64};

  nn::Scale scale_;
  Tensor x_, target_;  // (B, T, C)
  nn::Linear& q_;
  nn::Linear& k_;
  nn::Linear& v_;
};

namespace {

/// All numbers of the tensors, one after the other.
std::vector<double> flat(const std::vector<Tensor>& tensors) {
  std::vector<double> all;
  for (const Tensor& t : tensors) {
    const auto values = t.data().read<double>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

/// The same numbers in the shapes of `like`.
std::vector<Tensor> unflat(const std::vector<double>& all, const std::vector<Tensor>& like) {
  std::vector<Tensor> tensors;
  const double* from = all.data();
  for (const Tensor& t : like) {
    tensors.push_back(autograd::from_values(
        std::span<const double>(from, static_cast<std::size_t>(t.numel())), t.shape()));
    from += t.numel();
  }
  return tensors;
}

}  // namespace

SharpnessRun::SharpnessRun(const SharpnessOptions& options)
    : options_(options), head_(std::make_unique<Head>(options, nn::Generator(options.seed))) {}
SharpnessRun::~SharpnessRun() = default;
SharpnessRun::SharpnessRun(SharpnessRun&&) noexcept = default;

void SharpnessRun::step() {
  std::vector<Tensor> parameters = head_->parameters();
  const auto gradients = gradient([this] { return head_->loss(); }, parameters);
  const autograd::NoGrad no_grad;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].set_data((parameters[i] - gradients[i] * options_.learning_rate).data());
  }
}

double SharpnessRun::loss() const {
  const autograd::NoGrad no_grad;
  return head_->loss().item();
}

measure::Eigenvalue SharpnessRun::sharpness() const {
  const std::vector<Tensor> parameters = head_->parameters();
  const auto product = [&](const std::vector<double>& v) {
    return flat(hvp([this] { return head_->loss(); }, parameters, unflat(v, parameters)));
  };
  return measure::largest_eigenvalue(product, parameter_count(), {options_.seed, 1u << 20});
}

Index SharpnessRun::parameter_count() const { return head_->parameter_count(); }

std::vector<double> SharpnessRun::dense_hessian() const {
  return flat({hessian([this] { return head_->loss(); }, head_->parameters())});
}

}  // namespace experiments::training
