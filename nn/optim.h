#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nn/module.h"
#include "nn/options.h"

namespace nn {

/// Parameters that share settings; what is unset here comes from the optimizer's options.
struct ParameterGroup {
  std::vector<NamedParameter> parameters = {};
  double lr_scale = 1.0;  // the rate of the group is lr() * lr_scale
  std::optional<double> weight_decay = {};
  std::optional<double> eps = {};  // Adam and AdamW
};

/// Two groups: [0] parameters of rank 2 or more, embeddings among them, which decay; [1] the
/// others, biases and the gains of norms, which do not. A tied parameter is in one of them, once.
std::vector<ParameterGroup> decay_groups(const Module& module, double weight_decay);

/// Changes parameters by their gradients, in place: values that a graph has saved stay as they are,
/// and the bits do not depend on the number of threads. A parameter without a gradient is left
/// alone, by decay too. Names and formulas are PyTorch's, except that the number of steps, which
/// Adam corrects its averages by, is one for all parameters.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  void step();
  void zero_grad();  // drops the gradients of its parameters

  double lr() const { return lr_; }
  void set_lr(double lr);  // ValueError unless finite and at least 0
  Index steps() const { return steps_; }
  const std::vector<ParameterGroup>& groups() const { return groups_; }

  /// The number of steps as "step" (i64, shape ()) and each running average under its name and the
  /// parameter's, "exp_avg.h.0.attn.qkv.weight". Later steps do not change it.
  State state() const;
  /// Takes what state() of an optimizer like this one gave. ValueError names a missing or
  /// unexpected key; ShapeError and DTypeError a value that does not fit. Changes nothing when it
  /// throws.
  void load_state(const State& state);

 protected:
  /// The settings of one group at one step.
  struct GroupOptions {
    double lr, weight_decay, eps;
  };

  /// A slot is a running average: for each parameter a tensor like it, zeros at first. ValueError
  /// for settings out of range, no parameter at all, and a parameter or a name that comes twice.
  Optimizer(std::string type, std::vector<ParameterGroup> groups, GroupOptions defaults,
            std::vector<std::string> slots);

  /// One parameter's update; `slots` in the order of their names. steps() already counts this one.
  virtual void update(Tensor& p, const Tensor& grad, std::span<Tensor> slots,
                      const GroupOptions& group) = 0;

  const std::string& type() const { return type_; }

 private:
  void check_groups() const;
  State slots_by_name() const;  // the slots themselves

  std::string type_;
  std::vector<ParameterGroup> groups_;
  GroupOptions defaults_;
  std::vector<std::string> slot_names_;
  std::vector<std::vector<Tensor>> slots_;  // of each parameter, in the order of the groups
  double lr_;
  Index steps_ = 0;
};

/// b = momentum b + g; p -= lr b, with Nesterov lr (g + momentum b).
class SGD : public Optimizer {
 public:
  explicit SGD(std::vector<ParameterGroup> groups, const SGDOptions& options = {});
  explicit SGD(std::vector<NamedParameter> parameters, const SGDOptions& options = {});

 private:
  void update(Tensor& p, const Tensor& grad, std::span<Tensor> slots,
              const GroupOptions& group) override;

  double momentum_;
  Nesterov nesterov_;
};

/// m and v are running averages of g and g^2 (exp_avg and exp_avg_sq), both corrected for their
/// start at zero: p -= lr m / (sqrt(v) + eps). Kingma and Ba, "Adam", 2015.
class Adam : public Optimizer {
 public:
  explicit Adam(std::vector<ParameterGroup> groups, const AdamOptions& options = {});
  explicit Adam(std::vector<NamedParameter> parameters, const AdamOptions& options = {});

 protected:
  enum class Decay { coupled, decoupled };
  Adam(std::string type, std::vector<ParameterGroup> groups, const AdamOptions& options,
       Decay decay);

 private:
  void update(Tensor& p, const Tensor& grad, std::span<Tensor> slots,
              const GroupOptions& group) override;

  std::array<double, 2> betas_;
  Decay decay_;
};

/// Adam whose decay does not pass through the averages. Loshchilov and Hutter, "Decoupled weight
/// decay regularization", 2019.
class AdamW : public Adam {
 public:
  explicit AdamW(std::vector<ParameterGroup> groups, const AdamWOptions& options = {});
  explicit AdamW(std::vector<NamedParameter> parameters, const AdamWOptions& options = {});
};

}  // namespace nn
