#include "experiments/experiment.h"

namespace experiments {
namespace {

constexpr Entry kEntries[] = {
    {"gradcheck", "holds the gradient of every op and layer to central differences",
     "gradlab gradcheck --op softmax", make_gradcheck},
    {"info", "what this program was made with and runs on", "gradlab info --format json",
     make_info},
    {"scaling", "what dividing the scores by sqrt(d) does to softmax and to its gradients",
     "gradlab scaling --dk 4,64,256 --scale none,sqrt_dk", make_scaling},
};

}  // namespace

std::span<const Entry> registry() { return kEntries; }

}  // namespace experiments
