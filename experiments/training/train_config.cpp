#include "experiments/training/train_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "experiments/cli/errors.h"
#include "experiments/cli/values.h"
#include "experiments/report/numbers.h"
#include "experiments/report/text.h"

namespace experiments::training {
namespace {

constexpr double kNoLimit = 1e30;

template <class T>
constexpr bool is_optional = std::is_same_v<T, std::optional<double>>;

/// Calls f(flag, member, limits or names, help) for every option: the one table that options,
/// presets and checkpoints are made from.
template <class Config, class F>
void for_each(Config& c, F&& f) {
  struct Sizes {
    Index min, max;
  };
  struct Range {
    double min, max;
  };
  using Names = std::vector<std::string>;
  f("--task", c.task, Names(task_names().begin(), task_names().end()),
    "task to learn, which needs no file [copy]");
  f("--data", c.data, "FILE", "UTF-8 text to learn instead of a task, character by character");
  f("--task-length", c.task_length, Sizes{0, 1000},
    "length of a task's sequence (digits for add); 0: the task's default");
  f("--task-symbols", c.task_symbols, Sizes{0, 1000},
    "number of different symbols; 0: the task's default");
  f("--n-layer", c.n_layer, Sizes{1, 1000}, "number of blocks");
  f("--n-head", c.n_head, Sizes{1, 100000}, "heads; must divide n-embd");
  f("--n-embd", c.n_embd, Sizes{1, 100000}, "channels");
  f("--block-size", c.block_size, Sizes{1, 1000000}, "context length in tokens, only with --data");
  f("--dropout", c.dropout, Range{0, 1}, "share of activations dropped in training");
  f("--bias", c.bias, "", "use biases in Linear and LayerNorm");
  f("--untied", c.untied, "", "give the head its own weights instead of the token embedding's");
  f("--scale", c.scale, "SCALE", "factor of the scores: none, sqrt_dk, dk or a number");
  f("--qk-norm", c.qk_norm, "", "apply LayerNorm to queries and keys");
  f("--norm", c.norm, Names{"pre", "post"}, "LayerNorm before each branch, or after it is added");
  f("--gelu", c.gelu, Names{"erf", "tanh"}, "form of gelu");
  f("--optimizer", c.optimizer, Names{"adamw", "adam", "sgd"}, "update rule");
  f("--batch-size", c.batch_size, Sizes{1, 1000000}, "sequences per micro-batch");
  f("--gradient-accumulation-steps", c.gradient_accumulation_steps, Sizes{1, 10000},
    "micro-batches per iteration");
  f("--max-iters", c.max_iters, Sizes{0, 100000000}, "total number of iterations");
  f("--learning-rate", c.learning_rate, Range{0, 1e6}, "peak learning rate");
  f("--min-lr", c.min_lr, Range{0, 1e6},
    "learning rate at the end of the decay [learning-rate / 10]");
  f("--schedule", c.schedule, Names{"constant", "linear", "cosine"}, "decay of the learning rate");
  f("--warmup-iters", c.warmup_iters, Sizes{0, 100000000}, "iterations of rising learning rate");
  f("--lr-decay-iters", c.lr_decay_iters, Sizes{0, 100000000},
    "iteration at which the decay ends; 0: max-iters");
  f("--weight-decay", c.weight_decay, Range{0, kNoLimit},
    "weight decay of matrices and embeddings");
  f("--beta1", c.beta1, Range{0, 0.999999}, "decay rate of Adam's average of gradients");
  f("--beta2", c.beta2, Range{0, 0.999999999}, "decay rate of Adam's average of squared gradients");
  f("--momentum", c.momentum, Range{0, 0.999999}, "momentum of sgd");
  f("--grad-clip", c.grad_clip, Range{0, kNoLimit}, "largest gradient norm; 0: no clipping");
  f("--eval-interval", c.eval_interval, Sizes{1, 100000000},
    "iterations between evaluations, each with a checkpoint");
  f("--eval-iters", c.eval_iters, Sizes{1, 1000000}, "batches per evaluation");
  f("--watch", c.watch, Sizes{0, 100000000},
    "iterations between statistics of every head and parameter; 0: never");
}

std::string as_text(const std::string& value) { return value; }
std::string as_text(Index value) { return fmt::format("{}", value); }
std::string as_text(double value) { return report::shortest(value); }
std::string as_text(bool value) { return value ? "on" : "off"; }
std::string as_text(const std::optional<double>& value) { return value ? as_text(*value) : ""; }

/// Whether `json` is a T as it is: no number is cut, none wraps around.
template <class T>
bool holds(const nlohmann::json& json) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) return true;  // as read
  else if constexpr (std::is_unsigned_v<T>) return json.is_number_unsigned();
  else if constexpr (std::is_integral_v<T>)
    return json.is_number_integer() &&
           (!json.is_number_unsigned() || std::in_range<T>(json.template get<std::uint64_t>()));
  else return json.is_number();
}

/// UsageError for the first option in `fixed` that has another value in `now` than `before` has,
/// which `whose` names.
void require_same(const TrainConfig& now, const TrainConfig& before,
                  std::span<const std::string_view> fixed, const char* whose) {
  std::vector<std::string> theirs;
  for_each(before, [&](const char*, const auto& member, const auto&, const char*) {
    theirs.push_back(as_text(member));
  });
  std::size_t i = 0;
  for_each(now, [&](const char* flag, const auto& member, const auto&, const char*) {
    const std::string &had = theirs[i++], has = as_text(member);
    if (had == has || std::ranges::count(fixed, std::string_view(flag)) == 0) return;
    throw cli::UsageError(fmt::format("{}: expected {}, as in {}, got {}", flag, report::quote(had),
                                      whose, report::quote(has)));
  });
}

}  // namespace

void TrainConfig::add_to(cli::Options& options) {
  for_each(*this, [&](const char* flag, auto& member, auto limits, const char* help) {
    using Member = std::decay_t<decltype(member)>;
    using Limits = decltype(limits);
    if constexpr (std::is_same_v<Member, Index>)
      options.integer(flag, member, limits.min, limits.max, help);
    else if constexpr (std::is_same_v<Member, double> || is_optional<Member>)
      options.number(flag, member, limits.min, limits.max, help);
    else if constexpr (std::is_same_v<Member, bool>) options.toggle(flag, member, help);
    else if constexpr (std::is_same_v<Limits, std::vector<std::string>>)
      options.choice(flag, member, limits, help);
    else options.text(flag, member, help, limits);
  });
}

std::vector<std::string> TrainConfig::words() const {
  std::vector<std::string> words;
  for_each(*this, [&](const char* flag, const auto& member, const auto&, const char*) {
    using Member = std::decay_t<decltype(member)>;
    if constexpr (std::is_same_v<Member, bool>) {
      if (member) words.emplace_back(flag);
    } else {
      std::string text = as_text(member);
      if (!text.empty()) words.insert(words.end(), {flag, std::move(text)});
    }
  });
  return words;
}

std::string TrainConfig::json(std::uint64_t seed, nn::DType dtype) const {
  nlohmann::ordered_json json;
  for_each(*this, [&](const char* flag, const auto& member, const auto&, const char*) {
    if constexpr (is_optional<std::decay_t<decltype(member)>>)
      json[flag + 2] = member ? nlohmann::ordered_json(*member) : nlohmann::ordered_json();
    else json[flag + 2] = member;
  });
  json["seed"] = seed;
  json["dtype"] = autograd::name(dtype);
  return json.dump(2);
}

StoredConfig parse_config(const std::string& text, const std::string& shown) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  StoredConfig stored;
  const auto get = [&](const char* key, auto& member) {
    using Member = std::decay_t<decltype(member)>;
    const auto refuse = [&] {
      throw cli::DataError(
          fmt::format("{}: its config has no valid {}", shown, report::quote(key)));
    };
    try {
      const nlohmann::json& value = json.at(key);
      if (is_optional<Member> && value.is_null()) return;
      if constexpr (is_optional<Member>) {
        if (!holds<double>(value)) refuse();
        member = value.template get<double>();
      } else {
        if (!holds<Member>(value)) refuse();
        value.get_to(member);
      }
    } catch (const nlohmann::json::exception&) {
      refuse();
    }
  };
  for_each(stored.config, [&](const char* flag, auto& member, const auto&, const char*) {
    get(flag + 2, member);
  });
  get("seed", stored.seed);
  get("dtype", stored.dtype);
  if (stored.dtype != "f32" && stored.dtype != "f64") {
    throw cli::DataError(fmt::format("{}: expected a dtype of f32 or f64, got {}", shown,
                                     report::quote(stored.dtype)));
  }
  try {  // as the command line would have taken it
    cli::Parser parser;
    TrainConfig config;
    config.add_to(parser.options());
    parser.parse(stored.config.words());
    config.validate();
    stored.config = config;
  } catch (const cli::UsageError& error) {
    throw cli::DataError(fmt::format("{}: its config: {}", shown, error.what()));
  }
  return stored;
}

std::vector<std::string> StoredConfig::words() const {
  std::vector<std::string> words = config.words();
  words.insert(words.end(), {"--seed", fmt::format("{}", seed), "--dtype", dtype});
  return words;
}

TaskOptions TrainConfig::task_options() const {
  TaskOptions options;
  if (task_length > 0) options.length = task_length;
  if (task_symbols > 0) options.symbols = task_symbols;
  return options;
}

void TrainConfig::require_same_run(const TrainConfig& other) const {
  constexpr std::string_view kFixed[] = {"--task",   "--task-length", "--task-symbols", "--n-layer",
                                         "--n-head", "--n-embd",      "--block-size",   "--bias",
                                         "--untied", "--qk-norm",     "--norm",         "--gelu",
                                         "--scale",  "--optimizer"};
  require_same(*this, other, kFixed, "the run that --resume continues");
}

void TrainConfig::require_same_weights(const TrainConfig& other) const {
  constexpr std::string_view kFixed[] = {"--n-layer", "--n-head", "--n-embd", "--bias",
                                         "--untied",  "--norm",   "--qk-norm"};
  require_same(*this, other, kFixed, "the weights of --init-from");
}

void TrainConfig::take_model(const TrainConfig& other) {
  n_layer = other.n_layer;
  n_head = other.n_head;
  n_embd = other.n_embd;
  bias = other.bias;
  untied = other.untied;
  scale = other.scale;
  qk_norm = other.qk_norm;
  norm = other.norm;
  gelu = other.gelu;
}

void TrainConfig::refuse_idle() const {
  const TrainConfig& c = *this;
  const TrainConfig standard;
  const auto refuse_if = [](bool idle, const char* flag, const char* why) {
    if (idle) throw cli::UsageError(fmt::format("{}: {}", flag, why));
  };
  const bool text = !c.data.empty(), sgd = c.optimizer == "sgd";
  refuse_if(text && !c.task.empty(), "--task", "cannot be combined with --data");
  refuse_if(text && c.task_length > 0, "--task-length", "cannot be combined with --data");
  refuse_if(text && c.task_symbols > 0, "--task-symbols", "cannot be combined with --data");
  refuse_if(!text && c.block_size != standard.block_size, "--block-size",
            "needs --data; a task sets its own");
  refuse_if(!sgd && c.momentum != standard.momentum, "--momentum", "needs --optimizer sgd");
  refuse_if(sgd && c.beta1 != standard.beta1, "--beta1", "cannot be combined with --optimizer sgd");
  refuse_if(sgd && c.beta2 != standard.beta2, "--beta2", "cannot be combined with --optimizer sgd");
  const bool constant = c.schedule == "constant";
  refuse_if(constant && c.min_lr, "--min-lr", "cannot be combined with --schedule constant");
  refuse_if(constant && c.lr_decay_iters > 0, "--lr-decay-iters",
            "cannot be combined with --schedule constant");
}

void TrainConfig::validate() const {
  if (report::printable(data) != data) {  // it goes into the run's config, which is UTF-8
    throw cli::UsageError(
        fmt::format("--data: expected a path in printable UTF-8, got {}", report::quote(data)));
  }
  if (data.empty()) make_task(task_name(), task_options());
  cli::require_divides(n_head, n_embd);
  if (final_lr() > learning_rate) {
    throw cli::UsageError(fmt::format("--min-lr: expected at most --learning-rate {}, got {}",
                                      learning_rate, final_lr()));
  }
  cli::parse_scale("--scale", scale);
}

nn::Schedule TrainConfig::lr_schedule() const {
  return nn::checked(nn::Schedule{.kind = nn::parse_schedule(schedule),
                                  .lr = learning_rate,
                                  .min_lr = final_lr(),
                                  .warmup_iters = warmup_iters,
                                  .decay_iters = decay_iters()});
}

nn::GPTOptions TrainConfig::model(Index vocab_size, Index block, nn::DType dtype) const {
  return {.block_size = block,
          .vocab_size = vocab_size,
          .n_layer = n_layer,
          .n_head = n_head,
          .n_embd = n_embd,
          .dropout = dropout,
          .bias = bias ? nn::Bias::yes : nn::Bias::no,
          .tied = untied ? nn::Tied::no : nn::Tied::yes,
          .scale = nn::Scale::parse(scale),
          .qk_norm = qk_norm ? nn::QkNorm::yes : nn::QkNorm::no,
          .norm = norm == "pre" ? nn::NormPosition::pre : nn::NormPosition::post,
          .gelu = gelu == "erf" ? nn::Gelu::erf : nn::Gelu::tanh,
          .dtype = dtype};
}

double training_bytes(const TrainConfig& c, double item_size) {
  const auto of = [](Index n) { return static_cast<double>(n); };
  const double V = 256, C = of(c.n_embd), L = of(c.n_layer), H = of(c.n_head), B = of(c.batch_size);
  const double T =
      of(c.data.empty() ? make_task(c.task_name(), c.task_options()).block_size() : c.block_size);
  const double parameters = 12 * L * C * C + (V + T) * C;
  const double kept = B * T * (L * (34 * C + (c.qk_norm ? 4 * H * T : 0)) + 4 * V);
  return item_size * (5 * parameters + kept);
}

TrainConfig preset_config(const std::string& preset) {
  if (preset != "shakespeare-cpu") return {};
  return {.n_layer = 4,
          .n_head = 4,
          .n_embd = 128,
          .block_size = 64,
          .batch_size = 12,
          .max_iters = 2000,
          .warmup_iters = 100,
          .eval_interval = 250};
}

}  // namespace experiments::training
