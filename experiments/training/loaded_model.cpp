#include "experiments/training/loaded_model.h"

#include <fmt/format.h>

#include <utility>

#include "autograd/array/elementwise.h"
#include "experiments/cli/errors.h"
#include "experiments/report/text.h"

namespace experiments::training {
namespace {

using autograd::Shape;
using autograd::Tensor;

Index block_size_of(const nn::State& state, const std::string& shown) {
  const auto found = state.find("wpe.weight");
  if (found == state.end()) throw cli::DataError(shown + ": has no tensor 'wpe.weight'");
  const Shape& shape = found->second.shape();
  if (shape.rank() != 2 || shape[0] < 1) {
    throw cli::DataError(
        fmt::format("{}: wpe.weight: expected (block size, n_embd), got {}", shown, shape.str()));
  }
  return shape[0];
}

void check_state(const nn::State& state, const nn::GPTOptions& options, const std::string& shown) {
  const std::vector<nn::NamedShape> expected = parameter_shapes(options);
  for (const auto& [name, shape] : expected) {
    const auto found = state.find(name);
    if (found == state.end()) {
      throw cli::DataError(
          fmt::format("{}: has no tensor '{}', which its config requires", shown, name));
    }
    const Tensor& tensor = found->second;
    if (tensor.shape() != shape) {
      throw cli::DataError(fmt::format("{}: {}: expected {} by its config, got {}", shown, name,
                                       shape.str(), tensor.shape().str()));
    }
    if (tensor.dtype() != options.dtype) {
      throw cli::DataError(fmt::format("{}: {}: expected {} by its config, got {}", shown, name,
                                       autograd::name(options.dtype),
                                       autograd::name(tensor.dtype())));
    }
  }
  if (state.size() == expected.size()) return;
  nn::State rest = state;
  for (const nn::NamedShape& weight : expected) rest.erase(weight.name);
  throw cli::DataError(fmt::format("{}: has a tensor {}, which its config does not have", shown,
                                   report::quote(rest.begin()->first, report::kPathShown)));
}

}  // namespace

void require_finite(const nn::State& state, const std::string& shown) {
  for (const auto& [name, tensor] : state) {
    if (all_finite(tensor.data())) continue;
    throw autograd::NumericError(
        fmt::format("{}: {} is not finite", shown, report::quote(name, report::kPathShown)));
  }
}

LoadedModel::LoadedModel(const RunFolder& folder)
    : LoadedModel(folder.load(), report::quote(folder.checkpoint_path(), report::kPathShown)) {}

LoadedModel::LoadedModel(Checkpoint checkpoint, std::string shown)
    : shown_(std::move(shown)),
      checkpoint_(std::move(checkpoint)),
      stored_(parse_config(checkpoint_.config_json, shown_)) {
  if (vocabulary().empty()) throw cli::DataError(shown_ + ": its vocabulary is empty");
  const nn::DType dtype = stored_.dtype == "f32" ? nn::DType::f32 : nn::DType::f64;
  options_ = stored_.config.model(std::ssize(vocabulary()), block_size_of(state(), shown_), dtype);
  check_state(state(), options_, shown_);
}

bool LoadedModel::has_task() const {
  if (!stored_.config.data.empty()) return false;
  const Task task = make_task(stored_.config.task_name(), stored_.config.task_options());
  return task.vocabulary() == vocabulary() && task.block_size() == options_.block_size;
}

std::unique_ptr<nn::GPT> LoadedModel::make(nn::DType dtype) const {
  autograd::Generator unused(0);
  auto model = std::make_unique<nn::GPT>(options_, unused);
  model->load_state(state());
  model->to(dtype);
  return model;
}

double LoadedModel::forward_bytes(Index batch, nn::DType dtype) const {
  const auto of = [](Index n) { return static_cast<double>(n); };
  const double T = of(options_.block_size), C = of(options_.n_embd), H = of(options_.n_head);
  double parameters = 0;
  for (const auto& [name, tensor] : state()) parameters += of(tensor.numel());
  const double scores = options_.qk_norm == nn::QkNorm::yes ? 3 * H * T : 0;  // else in tiles
  const double sequence = T * (12 * C + scores + 2 * of(options_.vocab_size));
  return of(autograd::item_size(dtype)) * (parameters + of(batch) * sequence);
}

double LoadedModel::cache_bytes(nn::DType dtype) const {
  const auto of = [](Index n) { return static_cast<double>(n); };
  const double keys = of(options_.n_layer) * of(options_.block_size) * of(options_.n_embd);
  return of(autograd::item_size(dtype)) * 2 * 3 * keys;
}

}  // namespace experiments::training
