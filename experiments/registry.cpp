#include "experiments/registry.h"

namespace experiments {

namespace {

constexpr Entry kEntries[] = {
    {"attention", "shows the attention maps of a layer: where each token looks, step by step",
     "gradlab attention --text 'the cat sat on the mat'", attention::make_attention},
    {"bench", "measures how fast the engine is here; timings differ from run to run",
     "gradlab bench --only gemm,mlp,gpt_step", tools::make_bench},
    {"convert", "converts a GPT between this program's format and nanoGPT's or GPT-2's",
     "gradlab convert --input gpt2.safetensors --n-head 12 --output gpt2", training::make_convert},
    {"eval", "measures loss, perplexity, bits per character and accuracy of a trained model",
     "gradlab eval --out-dir out", training::make_eval},
    {"gradcheck", "checks the gradient of every op and layer against central differences",
     "gradlab gradcheck --op softmax", tools::make_gradcheck},
    {"heads", "shows what H heads cost and how their attention maps differ",
     "gradlab heads --n-head 12", attention::make_heads},
    {"identity",
     "shows that the scale is a choice of initialisation and learning rate, bit for bit",
     "gradlab identity --dk 16,256", training::make_identity},
    {"info", "shows how this program was built and what it runs on", "gradlab info --format json",
     tools::make_info},
    {"lesson", "runs the lesson's three steps on this engine and judges each of its claims",
     "gradlab lesson --seed 1", softmax::make_lesson},
    {"overflow",
     "shows where the lesson's softmax breaks in f32 and f64 while the shifted one holds",
     "gradlab overflow --scores 80:110:+5", softmax::make_overflow},
    {"reach", "shows which outputs move when one input position does", "gradlab reach --position 5",
     attention::make_reach},
    {"recall", "measures how many steps an attention layer takes to learn lookups under each scale",
     "gradlab recall --dk 16,256", training::make_recall},
    {"sample", "writes text with a trained model, token by token",
     "gradlab sample --out-dir out --temperature 0.8", training::make_sample},
    {"scaling", "shows what dividing the scores by sqrt(d) does to softmax and its gradients",
     "gradlab scaling --dk 4,64,256 --scale none,sqrt_dk", softmax::make_scaling},
    {"sharpness", "measures the largest curvature of the loss along gradient descent",
     "gradlab sharpness --dk 64 --every 20", training::make_sharpness},
    {"summary", "lists the layers of a GPT: shapes, parameters, FLOPs and bytes",
     "gradlab summary --preset gpt2-xl", training::make_summary},
    {"train", "trains a GPT on a task or a text, and says why it does or does not learn",
     "gradlab train --task sort --out-dir out", training::make_train},
    {"variance", "measures Var(q.k) = d and excess kurtosis 6/d, with a histogram",
     "gradlab variance --dk 1,8,64 --histogram 8", softmax::make_variance},
};

}  // namespace

std::span<const Entry> registry() { return kEntries; }

}  // namespace experiments
