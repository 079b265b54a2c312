#include "experiments/training/recall_run.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "experiments/report/numbers.h"
#include "nn/embedding.h"

namespace experiments::training {
namespace {

using autograd::Tensor;

// Streams of the seed apart from the weights' own.
constexpr std::uint64_t kTraining = 0x7265632d73746570, kChecks = 0x7265632d63686563,
                        kFinal = 0x7265632d66696e61;

nn::Generator& as_lvalue(nn::Generator&& generator) { return generator; }

Task task_of(const RecallOptions& s) {
  return make_task("recall", {.length = s.pairs, .symbols = s.symbols});
}

}  // namespace

/// A position is a whole pair, the sum of the embeddings of its key, its value and its place, and
/// the last one a key with a blank for its value: so one layer is enough to find the same key and
/// copy its value. Attention with pre-norm and a residual, then the head.
class RecallRun::Model : public nn::Module {
 public:
  Model(const RecallOptions& s, Index vocab_size, nn::Generator& generator)
      : Module("Recall"),
        scale_(s.scale),
        blank_(vocab_size),
        tokens_(
            register_module<nn::Embedding>("tokens", vocab_size + 1, s.width, table(s), generator)),
        places_(
            register_module<nn::Embedding>("places", s.pairs + 1, s.width, table(s), generator)),
        norm_(register_module<nn::LayerNorm>("norm", s.width,
                                             nn::LayerNormOptions{.dtype = s.dtype})),
        v_(register_module<nn::Linear>("v", s.width, s.width, linear(s), generator)),
        proj_(register_module<nn::Linear>("proj", s.width, s.width, linear(s), generator)),
        head_(register_module<nn::Linear>("head", s.width, vocab_size, linear(s), generator)),
        q_(register_module<nn::Linear>("q", s.width, s.d_k, linear(s), generator)),
        k_(register_module<nn::Linear>("k", s.width, s.d_k, linear(s), generator)) {}

  /// x (B, 2P + 1): key, value, key, value, ..., key -> logits (B, V).
  Tensor forward(const Tensor& x) override {
    const auto [B, L] = x.dims<2>("Recall: x is (B, 2 P + 1)");
    const Index T = (L + 1) / 2;
    const Tensor blank = autograd::full({B, 1}, static_cast<double>(blank_), nn::DType::i64);
    const Tensor pairs = autograd::concat({x, blank}, 1).reshape({B, T, 2});
    const Tensor h = tokens_(pairs).sum({2}) + places_(autograd::arange(T));         // (B, T, C)
    const Tensor n = norm_(h), asked = n.narrow(1, T - 1, 1);                        // (B, 1, C)
    const Tensor found = nn::attention(q_(asked), k_(n), v_(n), {.scale = scale_});  // (B, 1, C)
    return head_(h.select(1, T - 1) + proj_(found).select(1, 0));
  }

 private:
  static nn::EmbeddingOptions table(const RecallOptions& s) {
    return {.init = nn::Init::unit, .dtype = s.dtype};
  }
  static nn::LinearOptions linear(const RecallOptions& s) {
    return {.bias = nn::Bias::no, .init = nn::Init::unit, .dtype = s.dtype};
  }

  nn::Scale scale_;
  Index blank_;
  nn::Embedding& tokens_;
  nn::Embedding& places_;
  nn::LayerNorm& norm_;
  nn::Linear& v_;
  nn::Linear& proj_;
  nn::Linear& head_;
  nn::Linear& q_;
  nn::Linear& k_;
};

namespace {

Tensor answers(const Batch& batch) { return batch.y.select(1, -1); }  // (B)

double share_right(const Tensor& logits, const Batch& batch) {
  return accuracy(argmax(logits, -1).unsqueeze(1), answers(batch).unsqueeze(1)).tokens;
}

}  // namespace

RecallRun::RecallRun(const RecallOptions& options)
    : options_(options),
      task_(task_of(options)),
      model_(std::make_unique<Model>(options, task_.vocab_size(),
                                     as_lvalue(nn::Generator(options.seed)))),
      optimizer_(std::make_unique<nn::AdamW>(model_->named_parameters(),
                                             nn::AdamWOptions{.lr = options.learning_rate})) {
  check();
}

RecallRun::~RecallRun() = default;
RecallRun::RecallRun(RecallRun&&) noexcept = default;

bool RecallRun::done() const { return learnt() || step_ >= options_.max_iters; }

void RecallRun::advance() {
  if (done()) return;
  for (const Index end = std::min(step_ + kCheckEvery, options_.max_iters); step_ < end;) step();
  check();
}

void RecallRun::step() {
  const Batch batch = task_.batch(options_.batch_size,
                                  {options_.seed ^ kTraining, static_cast<std::uint64_t>(step_)});
  optimizer_->zero_grad();
  const Tensor loss = cross_entropy((*model_)(batch.x), answers(batch));
  if (!std::isfinite(loss.item())) {
    autograd::fail<autograd::NumericError>(
        "d_k {}, scale {}, seed {}: the loss is {} at step {}; try a --learning-rate below {}",
        options_.d_k, options_.scale.name(), options_.seed, report::shortest(loss.item()), step_,
        options_.learning_rate);
  }
  loss.backward();
  optimizer_->step();
  ++step_;
}

void RecallRun::check() {
  const autograd::NoGrad no_grad;
  const Batch batch =
      task_.batch(kCheckBatch, {options_.seed ^ kChecks, static_cast<std::uint64_t>(step_)});
  const nn::AttentionTrace trace;
  const Tensor logits = (*model_)(batch.x);
  const double scale = options_.scale.factor(options_.d_k);
  checks_.push_back(
      {step_, share_right(logits, batch),
       head_stats(trace[0].q.unsqueeze(1), trace[0].k.unsqueeze(1), scale, nn::Causal::no)
           .front()});
}

double RecallRun::final_accuracy() const {
  const autograd::NoGrad no_grad;
  const Batch batch = task_.batch(kFinalBatch, {options_.seed ^ kFinal, 0});
  return share_right((*model_)(batch.x), batch);
}

}  // namespace experiments::training
