// A gradient that is wrong only where a row is long: vector loops, lanes, chunks and tiles have
// code of their own for the rest of a row. Each sweep, even the shortest, has to meet such rows in
// every op, so each op's gradient is doubled where they are, and its line of the table has to
// notice.

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "autograd/array/elementwise.h"
#include "autograd/gradcheck/op_cases.h"
#include "autograd/machine/sanitizer.h"
#include "autograd/ops.h"

namespace autograd {

void PrintTo(const GradcheckCase& c, std::ostream* out);

namespace {

using Inputs = std::vector<Tensor>;

constexpr int kShortestSweep = 4;  // gradcheck --quick
// What is tried here is the table; a sanitizer sees its kernels in the other sweeps.
constexpr std::uint64_t kSeeds = GRADLAB_ASAN ? 1 : 3;

/// x, but its gradient comes back doubled.
Tensor with_doubled_gradient(const Tensor& x) {
  return record("doubled", x.data(), {{x, [](const Array& g) { return g * 2.0; }}});
}

/// The case with the fault at input k, in trials where dim `dim` of that input is above `limit`.
GradcheckCase with_fault(const GradcheckCase& c, std::size_t k, int dim, Index limit) {
  return {c.name, [=](Draw& d) -> Trial {
            Trial trial = c.make(d);
            if (k >= trial.inputs.size()) return trial;
            const Tensor x = trial.inputs[k];
            if (x.rank() < -dim || x.size(dim) <= limit) return trial;
            trial.f = [f = trial.f, k](Inputs in) {
              in[k] = with_doubled_gradient(in[k]);
              return f(in);
            };
            return trial;
          }};
}

void expect_caught(const GradcheckCase& c, std::size_t k, int dim, Index limit) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const GradcheckReport report = check_case(with_fault(c, k, dim, limit), seed, kShortestSweep);
    EXPECT_EQ(report.verdict, Verdict::wrong)
        << c.name << ": input " << k << ", dim " << dim << " above " << limit << ", seed " << seed;
  }
}

/// The inputs that carry gradients in any trial; of those that vary in number, the first.
std::vector<std::size_t> inputs_of(const GradcheckCase& c) {
  if (c.name == "concat" || c.name == "stack") return {0};
  std::vector<std::size_t> found;
  for (int trial = 0; trial < kShortestSweep; ++trial) {
    Draw draw(1, trial);
    const Trial t = c.make(draw);
    for (std::size_t k = 0; k < t.inputs.size(); ++k) {
      const bool known = std::find(found.begin(), found.end(), k) != found.end();
      if (t.inputs[k].requires_grad() && !known) found.push_back(k);
    }
  }
  return found;
}

class LongRows : public testing::TestWithParam<GradcheckCase> {};

TEST_P(LongRows, AreInEverySweep) {
  const GradcheckCase& c = GetParam();
  const bool product = c.name.starts_with("matmul") || c.name == "linear";
  for (const std::size_t k : inputs_of(c)) {
    for (const Index limit : {16, 32, 64, 256}) {
      if (limit > 64 && (product || c.name.starts_with("fused_attention"))) continue;  // see below
      if (GRADLAB_ASAN && limit > 16) continue;
      expect_caught(c, k, -1, limit);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, LongRows, testing::ValuesIn(op_cases().begin(), op_cases().end()),
                         [](const auto& test) { return test.param.name; });

/// The other sizes that loops run over: the inner one of a product, rows over which a gradient is
/// summed, positions of attention; tiles and chunks of each.
struct Size {
  const char* op;
  std::size_t input;
  int dim;
  Index limit;
};
constexpr Size kSizes[] = {{"matmul", 0, -2, 200 - 1},
                           {"matmul", 1, -2, 64},
                           {"matmul", 1, -1, 128},
                           {"matmul_transposed", 0, -1, 200 - 1},
                           {"matmul_transposed", 0, -2, 64},
                           {"matmul_transposed", 1, -2, 128},
                           {"matmul_1d", 1, -2, 64},
                           {"linear", 0, -1, 64},
                           {"linear", 1, -2, 128},
                           {"layer_norm", 0, -2, 64},
                           {"cross_entropy", 0, -2, 64},
                           {"embedding", 0, -2, 64},
                           {"fused_attention", 0, -2, 256 + 128},
                           {"fused_attention_separate", 0, -2, 128},
                           {"fused_attention_separate", 1, -2, 256 + 128},
                           {"fused_attention_separate", 2, -2, 256 + 128},
                           {"fused_attention_separate", 3, -1, 256 + 128},
                           {"sum", 0, -1, 4096},
                           {"mean", 0, -1, 4096},
                           {"max", 0, -1, 4096}};

class LongColumns : public testing::TestWithParam<Size> {};

TEST_P(LongColumns, AreInEverySweep) {
  const Size s = GetParam();
  int found = 0;
  for (const GradcheckCase& c : op_cases()) {
    if (c.name != s.op) continue;
    expect_caught(c, s.input, s.dim, s.limit);
    ++found;
  }
  EXPECT_EQ(found, 1);
}

INSTANTIATE_TEST_SUITE_P(Ops, LongColumns, testing::ValuesIn(kSizes), [](const auto& test) {
  const Size s = test.param;
  return fmt::format("{}_input_{}_dim_{}_above_{}", s.op, s.input, -s.dim, s.limit);
});

}  // namespace
}  // namespace autograd
