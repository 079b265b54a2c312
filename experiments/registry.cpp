#include "experiments/registry.h"

namespace experiments {

namespace {

constexpr Entry kEntries[] = {
    {"attention", "the attention maps of a layer: where each token looks, step by step",
     "gradlab attention --text 'the cat sat on the mat'", attention::make_attention},
    {"bench", "how fast the engine is here; timings, so no two runs print the same numbers",
     "gradlab bench --only gemm,mlp,gpt_step", tools::make_bench},
    {"convert", "reads a GPT with nanoGPT's or GPT-2's names, or writes one",
     "gradlab convert --input gpt2.safetensors --n-head 12 --output gpt2", training::make_convert},
    {"eval", "loss, perplexity, bits per character and accuracy of a trained model",
     "gradlab eval --out-dir out", training::make_eval},
    {"gradcheck", "holds the gradient of every op and layer to central differences",
     "gradlab gradcheck --op softmax", tools::make_gradcheck},
    {"heads", "what H heads cost and how their attention maps differ", "gradlab heads --n-head 12",
     attention::make_heads},
    {"identity",
     "shows that the scale is a choice of initialisation and learning rate, bit for bit",
     "gradlab identity --dk 16,256", training::make_identity},
    {"info", "what this program was made with and runs on", "gradlab info --format json",
     tools::make_info},
    {"lesson", "the lesson's three steps with this engine, and a verdict on each of its claims",
     "gradlab lesson --seed 1", softmax::make_lesson},
    {"overflow", "where softmax as printed breaks in f32 and in f64, and the shifted one does not",
     "gradlab overflow --scores 80:110:+5", softmax::make_overflow},
    {"reach", "which outputs move when one input position does", "gradlab reach --position 5",
     attention::make_reach},
    {"recall", "how many steps one attention layer takes to learn to look things up, by scale",
     "gradlab recall --dk 16,256", training::make_recall},
    {"sample", "lets a trained model write, token by token",
     "gradlab sample --out-dir out --temperature 0.8", training::make_sample},
    {"scaling", "what dividing the scores by sqrt(d) does to softmax and to its gradients",
     "gradlab scaling --dk 4,64,256 --scale none,sqrt_dk", softmax::make_scaling},
    {"summary", "the layers of a GPT: shapes, parameters, FLOPs and bytes",
     "gradlab summary --preset gpt2-xl", training::make_summary},
    {"train", "trains a GPT on a task or a text, and says why it does or does not learn",
     "gradlab train --task sort --out-dir out", training::make_train},
    {"variance", "Var(q.k) = d and excess kurtosis 6/d, measured, with a histogram",
     "gradlab variance --dk 1,8,64 --histogram 8", softmax::make_variance},
};

}  // namespace

std::span<const Entry> registry() { return kEntries; }

}  // namespace experiments
