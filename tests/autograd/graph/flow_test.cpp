#include "autograd/graph/flow.h"

#include "tests/support/tensors.h"

namespace {

using namespace autograd;
using test::f64;
using test::leaf;
using test::message_of;

void expect_cut(const std::optional<Cut>& cut, CutKind kind, CutReason reason,
                const std::string& op) {
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->kind, kind) << describe(*cut);
  EXPECT_EQ(cut->reason, reason) << describe(*cut);
  EXPECT_EQ(cut->op, op) << describe(*cut);
}
void expect_missing(const std::optional<Cut>& cut, CutReason reason, const std::string& op) {
  expect_cut(cut, CutKind::none_reached, reason, op);
}
void expect_zero(const std::optional<Cut>& cut, CutReason reason, const std::string& op) {
  expect_cut(cut, CutKind::all_zero, reason, op);
}

TEST(GradientFlow, FindsNothingWhereAGradientArrives) {
  const GradientFlow flow;
  const Tensor x = leaf({-1, 2}), w = leaf({3, 4}), table = leaf({1, 2, 3, 4}, {2, 2});
  (void)x.detach();  // a log of the loss does no harm
  sum(relu(x * w) + select(embedding(table, tensor({0}, DType::i64)), 0, 0)).backward();
  for (const Tensor& t : {x, w, table}) EXPECT_FALSE(flow.cut_of(t));
}

TEST(GradientFlow, NamesDetachWithScopeAndShape) {
  const GradientFlow flow;
  const Tensor w = leaf({3, 4}), v = leaf({1, 2});
  Tensor h;
  {
    const Scope scope("GPT.h.1.mlp");
    h = (w * 2.0).detach();
  }
  sum(h * v).backward();
  expect_missing(flow.cut_of(w), CutReason::detach, "detach");
  EXPECT_EQ(describe(*flow.cut_of(w)), "no gradient; cut at detach of (2,) in GPT.h.1.mlp");
  EXPECT_FALSE(flow.cut_of(v));
}

TEST(GradientFlow, NamesTheFirstOpUnderNoGrad) {
  const GradientFlow flow;
  const Tensor w = leaf({1, 2, 3, 4}, {2, 2}), bias = leaf({1, 2}), v = leaf({1, 2});
  Tensor h;
  {
    const NoGrad no_grad;
    h = relu(linear(v, w, bias));
    (void)layer_norm(v, bias, Tensor());
  }
  sum(h * v).backward();
  expect_missing(flow.cut_of(w), CutReason::no_grad, "linear");
  expect_missing(flow.cut_of(bias), CutReason::no_grad, "linear");
  EXPECT_FALSE(flow.cut_of(v));
}

TEST(GradientFlow, NamesAnOpWithoutAGradient) {
  const GradientFlow flow;
  const Tensor w = leaf({3, 4}), v = leaf({1, 2});
  const Tensor hard(record("hard", w.data(), {{w * 2.0, {}}}));
  EXPECT_FALSE(hard.requires_grad());
  sum(hard * v).backward();
  expect_missing(flow.cut_of(w), CutReason::no_gradient, "hard");
}

TEST(GradientFlow, TellsUnusedFromNotReached) {
  const GradientFlow flow;
  const Tensor w = leaf({3, 4}), forgotten = leaf({3, 4}), v = leaf({1, 2});
  const Tensor aside = tanh(w);
  sum(v).backward();
  expect_missing(flow.cut_of(w), CutReason::not_reached, "tanh");
  expect_missing(flow.cut_of(forgotten), CutReason::unused, "");
}

TEST(GradientFlow, FindsTheOpThatReturnsZeros) {
  const GradientFlow flow;
  const Tensor dead = leaf({-1, -2}), dropped = leaf({1, 2}), sure = leaf({0, 4000}),
               row = leaf({1, 2}, {1, 2}), alive = leaf({1, 1});
  Generator generator(0);
  Tensor y = relu(dead * 3.0) + dropout(dropped, 1, generator) + softmax(sure, 0);
  y = y + masked_softmax(row, zeros({1, 2}, DType::b8), 1).reshape({2});
  sum(y * alive * f64({2, 5})).backward();
  expect_zero(flow.cut_of(dead), CutReason::zero_rule, "relu");
  expect_zero(flow.cut_of(dropped), CutReason::zero_rule, "dropout");
  expect_zero(flow.cut_of(sure), CutReason::zero_rule, "softmax");
  expect_zero(flow.cut_of(row), CutReason::zero_rule, "masked_softmax");
  EXPECT_FALSE(flow.cut_of(alive));
}

TEST(GradientFlow, FindsTheLossBehindLivingOps) {
  const GradientFlow flow;
  const Tensor x = leaf({1, 2});
  sum(tanh(exp(x)) * 0.0).backward();
  expect_zero(flow.cut_of(x), CutReason::zero_rule, "scale");
}

TEST(GradientFlow, TellsCancellingPartsAndZeroSeeds) {
  const GradientFlow flow;
  const Tensor x = leaf({1, 2}), y = leaf({1, 2}), z = leaf({1, 2});
  sum(tanh(x) - tanh(x)).backward();
  expect_zero(flow.cut_of(x), CutReason::cancelled, "tanh");
  exp(y).backward(zeros({2}, DType::f64));
  expect_zero(flow.cut_of(y), CutReason::zero_seed, "exp");
  Tensor mid = z * 2.0;
  mid.register_hook([](const Tensor& g) { return g * 0.0; });
  sum(mid).backward();
  expect_zero(flow.cut_of(z), CutReason::cancelled, "sum");
}

// Two embeddings of one table write into one gradient: each is judged by what it added.
TEST(GradientFlow, JudgesAScatteredGradientByWhatWasAdded) {
  const GradientFlow flow;
  const Tensor table = leaf({1, 2, 3, 4}, {2, 2}), index = tensor({1}, DType::i64);
  const Tensor whole = table * 1.0;
  sum(embedding(whole, index) - embedding(whole, index)).backward();
  expect_zero(flow.cut_of(table), CutReason::cancelled, "embedding");
}

TEST(GradientFlow, SeesAGraphMadeBefore) {
  const Tensor x = leaf({-1, -2});
  const Tensor loss = sum(relu(x));
  const GradientFlow flow;
  loss.backward();
  expect_zero(flow.cut_of(x), CutReason::zero_rule, "relu");
}

TEST(GradientFlow, OneLivingPassIsEnough) {
  const GradientFlow flow;
  const Tensor x = leaf({1, 2});
  sum(x * 0.0).backward();
  EXPECT_TRUE(flow.cut_of(x));
  sum(x * 2.0).backward();
  sum(x * 0.0).backward();
  EXPECT_FALSE(flow.cut_of(x));
}

TEST(GradientFlow, NestsAndEnds) {
  EXPECT_EQ(Observer::innermost(), nullptr);
  const GradientFlow outer;
  const Tensor x = leaf({1, 2});
  {
    const GradientFlow inner;
    (void)x.detach();
    expect_missing(inner.cut_of(x), CutReason::detach, "detach");
  }
  expect_missing(outer.cut_of(x), CutReason::detach, "detach");
  EXPECT_EQ(Observer::innermost(), &outer);
}

TEST(GradientFlow, KeepsNoGraphAlive) {
  const std::int64_t before = live_nodes();
  const GradientFlow flow;
  (void)exp(leaf({1, 2}));
  EXPECT_EQ(live_nodes(), before);
}

TEST(GradientFlow, ChangesNoBit) {
  const Tensor index = tensor({1, 1, 0}, DType::i64);
  const auto gradient = [&index] {
    const Tensor table = leaf({0.1, 0.2, 0.3, 0.4}, {2, 2});
    const Tensor rows = exp(embedding(table, index));
    const Tensor rest =
        sum(table * 0.7);  // newer: its gradient is there when that of rows is added
    sum(rows + rest).backward();
    return table.grad().data();
  };
  const Array plain = gradient();
  const GradientFlow flow;
  EXPECT_TRUE(bit_equal(gradient(), plain));
}

TEST(GradientFlow, RefusesATensorThatNeedsNone) {
  const GradientFlow flow;
  const std::string text = message_of<GraphError>([&] { (void)flow.cut_of(f64({1})); });
  EXPECT_NE(text.find("requires no gradient"), std::string::npos) << text;
  EXPECT_THROW((void)flow.cut_of(Tensor()), GraphError);
  EXPECT_THROW((void)Tensor().detach(), GraphError);
}

TEST(GradientFlow, NamesArgmaxAndComparisons) {
  const GradientFlow flow;
  const Tensor w = leaf({3, 4}), x = leaf({1, 2}), n = leaf({1, 2}), v = leaf({1, 2});
  const Tensor mask = gt(exp(x), v);
  const Tensor index = to(argmax(w, 0), DType::f64), whole = to(to(n, DType::i64), DType::f64);
  sum(where(mask, v, v * 2.0) * index * whole).backward();
  EXPECT_EQ(describe(*flow.cut_of(w)), "no gradient; cut at argmax of (2,), which has none");
  EXPECT_EQ(flow.cut_of(x)->op, "gt");
  EXPECT_EQ(flow.cut_of(n)->op, "to");
  EXPECT_FALSE(flow.cut_of(v));
}

}  // namespace
