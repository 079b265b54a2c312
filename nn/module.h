#pragma once

#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autograd/scope.h"
#include "nn/types.h"

namespace nn {

class Module;

struct NamedParameter {
  std::string name;  // "attn.qkv.weight"
  Tensor tensor;     // the parameter itself, not a copy
};

struct NamedShape {
  std::string name;
  Shape shape;
};

struct NamedModule {
  std::string name;  // "attn.qkv"; "" for the module that was asked
  Module* module;
};

/// The values of parameters and buffers by name: what a checkpoint holds.
using State = std::map<std::string, Tensor>;

/// The state of each module's random numbers, by its name in the tree
/// ("h.0.attn.attn_dropout").
using GeneratorStates = std::map<std::string, Generator::State>;

/// While it lives, the engine's scope is the path of a module in its tree ("GPT.h.0.attn.qkv"),
/// which nodes and errors quote. Thread-local, as Scope is.
class ModuleScope {
 public:
  explicit ModuleScope(const Module& module);
  ~ModuleScope();
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;

 private:
  const Module* outer_;
  std::optional<autograd::Scope> scope_;
};

/// While it lives, modules made on this thread know their parameters' names and shapes but hold no
/// numbers: a model of any size takes no memory. Their parameters are undefined tensors.
class ShapesOnly {
 public:
  ShapesOnly();
  ~ShapesOnly();
  ShapesOnly(const ShapesOnly&) = delete;
  ShapesOnly& operator=(const ShapesOnly&) = delete;
  static bool on();

 private:
  bool before_;
};

/// A layer: parameters, child modules and a forward. Creating a child is registering it,
///   Linear& qkv_ = register_module<Linear>("qkv", 768, 2304);
/// so none can be forgotten; the base owns the children. Neither copied nor moved.
class Module {
 public:
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// forward(x) inside the scope of this module. A module with another forward declares an
  /// operator() of its own that begins with `const ModuleScope scope(*this);`.
  Tensor operator()(const Tensor& x) {
    const ModuleScope scope(*this);
    return forward(x);
  }

  // --- parameters: a module's own in order of registration, then its children's; a shared
  // one comes once, under its first name
  std::vector<NamedParameter> named_parameters() const;
  std::vector<Tensor> parameters() const;
  std::vector<NamedShape> named_shapes() const;   // of the same, and where they hold no numbers too
  Tensor parameter(std::string_view name) const;  // ValueError if there is none of that name
  Index parameter_count() const;                  // numbers, not tensors
  void zero_grad();
  /// State that is not trained: the running averages of a norm, a mask.
  std::vector<NamedParameter> named_buffers() const;
  /// Converts all floating-point parameters and buffers in place and drops the gradients. For use
  /// before an optimizer is made, whose averages would keep the old dtype.
  void to(DType dtype);

  // --- training (the initial mode) or evaluation: a flag, for this module and all below; whether
  // gradients are recorded is NoGrad's business
  void train() { set_training(true); }
  void eval() { set_training(false); }
  bool training() const { return training_; }

  // --- state
  /// The present values; later training does not change them.
  State state() const;
  /// Names, shapes and dtypes must be exactly those of state(): ValueError names missing and
  /// unexpected keys, ShapeError and DTypeError the parameter and both sides. Changes nothing
  /// when it throws.
  void load_state(const State& state);
  /// Those of the modules that have a generator.
  GeneratorStates generators() const;
  /// Restores them: the same random numbers come again. ValueError unless there is exactly one for
  /// each such module; then nothing has changed.
  void set_generators(const GeneratorStates& states);

  // --- the tree
  std::vector<NamedModule> named_modules();  // itself first, then each child with all below it
  const std::string& type() const { return type_; }  // "Linear"
  std::string path() const;  // from the root of its tree: "MultiHeadAttention.qkv"

 protected:
  explicit Module(std::string type) : type_(std::move(type)) {}

  virtual Tensor forward(const Tensor& x);  // GraphError unless overridden

  /// Makes an M from `args` as the child `name`. Names are unique among parameters, buffers and
  /// children and have no dot; ValueError otherwise, here and below.
  template <class M, class... Args>
  M& register_module(std::string name, Args&&... args) {
    check_name(name);
    const autograd::Scope scope(name);  // what its constructor throws says where
    auto child = std::make_unique<M>(std::forward<Args>(args)...);
    M& module = *child;
    adopt(std::move(name), std::move(child));
    return module;
  }
  /// The same tensor, now a parameter that requires a gradient.
  Tensor register_parameter(std::string name, Tensor value);
  /// A parameter from value(), which is not called where shapes are enough.
  template <class F>
  Tensor register_parameter(std::string name, const Shape& shape, F value) {
    if (!ShapesOnly::on()) return register_parameter(std::move(name), value());
    check_name(name);
    parameters_.push_back({std::move(name), Tensor(), shape});
    return {};
  }
  /// A tensor of any dtype that state() holds and no optimizer sees: saved and loaded, and changed
  /// by forward through set_data() or write(); an assignment or += would give only this handle
  /// another value. GraphError if it requires a gradient.
  Tensor register_buffer(std::string name, Tensor value);
  /// What a random forward draws from, at most one per module. ValueError for a second.
  Generator& register_generator(const Generator& generator);

  const Shape& shape_of(std::string_view name) const;  // of a parameter of its own

 private:
  struct Own {
    std::string name;
    Tensor tensor;
    Shape shape;
  };
  friend class ModuleScope;
  friend std::string to_string(const Module& module);

  virtual std::string details() const { return {}; }  // "768 -> 2304, no bias", for printing
  /// Calls f(path of its module, own) for this module and all below.
  template <class Visit>
  void visit(std::vector<Own> Module::*kind, const Visit& f) const;
  std::vector<NamedParameter> named_values() const;  // parameters and buffers
  void set_training(bool training);
  void check_name(const std::string& name) const;
  void adopt(std::string name, std::unique_ptr<Module> child);
  std::string path_below(const Module* ancestor) const;
  void print(std::string& out, int depth) const;

  std::string type_;
  std::string name_;  // among its parent's children
  const Module* parent_ = nullptr;
  bool training_ = true;
  std::vector<Own> parameters_, buffers_;
  std::optional<Generator> generator_;
  std::vector<std::unique_ptr<Module>> children_;
};

/// The tree with settings and parameter counts, one line each, without a newline at the end.
std::string to_string(const Module& module);
std::ostream& operator<<(std::ostream& out, const Module& module);

}  // namespace nn
