#include "experiments/experiment.h"

namespace experiments {
namespace {

constexpr Entry kEntries[] = {
    {"attention", "the attention maps of a layer: where each token looks, step by step",
     "gradlab attention --text 'the cat sat on the mat'", make_attention},
    {"gradcheck", "holds the gradient of every op and layer to central differences",
     "gradlab gradcheck --op softmax", make_gradcheck},
    {"heads", "what H heads cost and how their attention maps differ", "gradlab heads --n-head 12",
     make_heads},
    {"identity", "that the scale is a choice of initialisation and learning rate, bit for bit",
     "gradlab identity --dk 16,256", make_identity},
    {"info", "what this program was made with and runs on", "gradlab info --format json",
     make_info},
    {"lesson", "the lesson's three steps with this engine, and a verdict on each of its claims",
     "gradlab lesson --seed 1", make_lesson},
    {"overflow", "where softmax as printed breaks in f32 and in f64, and the shifted one does not",
     "gradlab overflow --scores 80:110:+5", make_overflow},
    {"reach", "which outputs move when one input position does", "gradlab reach --position 5",
     make_reach},
    {"scaling", "what dividing the scores by sqrt(d) does to softmax and to its gradients",
     "gradlab scaling --dk 4,64,256 --scale none,sqrt_dk", make_scaling},
    {"train", "trains a GPT on a task or a text, and says why it does or does not learn",
     "gradlab train --task sort --out-dir out", make_train},
    {"variance", "Var(q.k) = d and excess kurtosis 6/d, measured, with a histogram",
     "gradlab variance --dk 1,8,64 --histogram 8", make_variance},
};

}  // namespace

std::span<const Entry> registry() { return kEntries; }

}  // namespace experiments
