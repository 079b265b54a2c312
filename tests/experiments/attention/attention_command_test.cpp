#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "autograd/ops.h"
#include "experiments/attention/attention_pass.h"
#include "experiments/attention/draws.h"
#include "experiments/measure/values.h"
#include "experiments/report/text.h"
#include "tests/experiments/run.h"

namespace experiments::attention {
namespace {

using nlohmann::json;
using test::in_process;
using test::Outcome;
using test::Words;
using testing::HasSubstr;
using testing::Not;

const char* const kText = "the cat sat on the mat";

Outcome attention(Words words) {
  words.insert(words.begin(), "attention");
  return in_process(words);
}

json rows_of(Words words) {
  words.insert(words.end(), {"--format", "json"});
  const Outcome outcome = attention(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return json::parse(outcome.out)["rows"];
}

TEST(AttentionCommand, HasARowForEveryCell) {
  const json rows = rows_of({"--text", kText, "--heads", "2", "--backward"});
  ASSERT_EQ(rows.size(), 2u * 6 * 6);
  double sum = 0, ds = 0;
  for (std::size_t j = 0; j < 6; ++j) {
    const json& row = rows[36 + 6 + j];  // head 1, query 1
    EXPECT_EQ(row["head"], 1);
    EXPECT_EQ(row["query"], 1);
    EXPECT_EQ(row["key"], j);
    EXPECT_EQ(row["query_token"], "cat");
    sum += row["weight"].get<double>();
    ds += row["d_score"].get<double>();
    EXPECT_TRUE(row["d_weight"].is_number());
  }
  EXPECT_EQ(rows[4]["key_token"], "the");
  EXPECT_NEAR(sum, 1, 1e-14);
  EXPECT_NEAR(ds, 0, 1e-13);
  EXPECT_FALSE(rows_of({})[0].contains("d_score"));
}

/// By a second way: the loss of two layers whose score differs by a little.
TEST(AttentionCommand, TheGradientsAreThoseOfTheLoss) {
  const experiments::Run run;
  const nn::MultiHeadAttentionOptions config{
      .n_embd = 4, .n_head = 1, .init = nn::Init::unit, .dtype = run.dtype};
  const autograd::Tensor x = normals({3, 4}, run, key_of(0, Draw::input));
  const AttentionPass pass = pass_of(config, x, Gradients::yes, run);
  nn::Generator generator(run.seed);
  nn::MultiHeadAttention layer(config, generator);
  const auto loss = [&](Index cell, double delta) {
    const auto tensor = [](const std::vector<double>& values, const autograd::Shape& shape) {
      return autograd::from_values<double>(values, shape);
    };
    std::vector<double> scores = pass.scores;
    scores[cell] += delta;
    const auto y = matmul(matmul(softmax(tensor(scores, {3, 3}), -1), tensor(pass.v, {3, 4})),
                          layer.parameter("proj.weight").transpose(0, 1));
    return (y * normals({3, 4}, run, key_of(0, Draw::cotangent))).sum().item();
  };
  for (Index cell = 0; cell < 9; ++cell)
    EXPECT_NEAR(pass.d_scores[cell], (loss(cell, 1e-5) - loss(cell, -1e-5)) / 2e-5, 1e-8);
}

/// The same for the other losses, with a mask: of one position, and cross-entropy in plain loops.
TEST(AttentionCommand, TheGradientsAreThoseOfTheLossThatIsAskedFor) {
  const experiments::Run run;
  const nn::MultiHeadAttentionOptions config{.n_embd = 4,
                                             .n_head = 1,
                                             .causal = nn::Causal::yes,
                                             .init = nn::Init::unit,
                                             .dtype = run.dtype};
  const autograd::Tensor x = normals({3, 4}, run, key_of(0, Draw::input));
  nn::Generator generator(run.seed);
  nn::MultiHeadAttention layer(config, generator);
  const auto loss = [&](const Loss& which, const autograd::Tensor& input) {
    const std::vector<double> y = measure::doubles(layer(input.unsqueeze(0)));
    const std::vector<double> g =
        measure::doubles(normals({3, 4}, run, key_of(0, Draw::cotangent)));
    double sum = 0;
    for (Index i = 0; i < 3; ++i) {
      double exps = 0;
      for (Index c = 0; c < 4; ++c) {
        if (which.kind == Loss::Kind::row && i == which.at) sum += y[i * 4 + c] * g[i * 4 + c];
        exps += std::exp(y[i * 4 + c]);
      }
      if (which.kind == Loss::Kind::label) sum += (std::log(exps) - y[i * 4 + which.at]) / 3;
    }
    return sum;
  };
  for (const Loss& which : {Loss{Loss::Kind::row, 1}, Loss{Loss::Kind::label, 2}}) {
    const AttentionPass pass = pass_of(config, x, Gradients::yes, run, which);
    for (Index cell = 0; cell < 12; ++cell) {
      const auto moved = [&](double delta) {
        std::vector<double> values = pass.x;
        values[cell] += delta;
        return loss(which, autograd::from_values<double>(values, {3, 4}));
      };
      EXPECT_NEAR(pass.d_x[cell], (moved(1e-5) - moved(-1e-5)) / 2e-5, 1e-8) << which.name();
    }
  }
}

TEST(AttentionCommand, ACausalQuerySeesNoLaterKey) {
  const json rows = rows_of({"--seq-len", "5", "--causal", "--backward", "--loss", "row:2"});
  for (const json& row : rows) {
    const bool later = row["key"] > row["query"];
    EXPECT_EQ(row["weight"] == 0.0, later) << row;
    const bool reached = row["query"] == 2 && !later;  // by the loss of position 2
    EXPECT_EQ(row["d_score"] != 0.0, reached) << row;
  }
  const std::string out = attention({"--causal", "--step", "--row", "1"}).out;
  EXPECT_THAT(out, HasSubstr("3. Causal mask: position i sees the keys up to i"));
  EXPECT_THAT(out, HasSubstr("hidden"));
}

TEST(AttentionCommand, DropoutDropsAShareOfTheGradients) {
  const json rows = rows_of({"--seq-len", "32", "--dropout", "0.25", "--backward"});
  double dropped = 0;
  for (const json& row : rows) {
    EXPECT_GT(row["weight"], 0.0);  // before dropout
    dropped += row["d_weight"] == 0.0;
  }
  EXPECT_NEAR(dropped / 4096, 0.25, 4 * std::sqrt(0.25 * 0.75 / 4096));
}

TEST(AttentionCommand, SaysWhatIsWrongWithALoss) {
  const auto error = [](Words words) {
    const Outcome outcome = attention(std::move(words));
    EXPECT_EQ(outcome.code, 2);
    return outcome.err;
  };
  EXPECT_THAT(error({"--backward", "--loss", "row:x"}),
              HasSubstr("--loss: expected random, row:N or class:N, got 'row:x'"));
  EXPECT_THAT(error({"--backward", "--loss", "row:8"}),
              HasSubstr("--loss: expected N in [0, 7], got row:8"));
  EXPECT_THAT(error({"--loss", "class:1"}), HasSubstr("needs --backward"));
  EXPECT_EQ(Loss::parse("class:12").name(), "class:12");
}

TEST(AttentionCommand, TheChecksHaveTeeth) {
  const experiments::Run run;
  const nn::MultiHeadAttentionOptions config{.n_embd = 8, .n_head = 2, .dtype = run.dtype};
  const AttentionPass good =
      pass_of(config, normals({4, 8}, run, key_of(0, Draw::input)), Gradients::yes, run);
  const auto failed = [&](auto spoil) {
    AttentionPass pass = good;
    spoil(pass);
    std::string names;
    for (const Check& check : checks_of(pass, run.dtype))
      if (!check.ok) names += check.name.substr(0, 14) + ';';
    return names;
  };
  EXPECT_EQ(failed([](AttentionPass&) {}), "");
  EXPECT_THAT(failed([](AttentionPass& p) { p.weights[5] += 1e-12; }),
              HasSubstr("each row of th;"));
  EXPECT_EQ(failed([](AttentionPass& p) { p.scores[31] *= 1 + 1e-12; }), "scores = a q.k;");
  EXPECT_EQ(failed([](AttentionPass& p) { p.d_scores[17] += 1e-12; }),
            "each row of dS;dS = P (dP - P;");
  EXPECT_EQ(failed([](AttentionPass& p) { std::swap(p.d_scores[0], p.d_scores[1]); }),
            "dS = P (dP - P;");
}

TEST(AttentionCommand, DrawsTheHeadsWithTheirTokens) {
  const Outcome outcome = attention({"--text", kText, "--row", "1"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              HasSubstr("head 0           head 1           head 2           head 3\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\n  the |"));
  EXPECT_THAT(outcome.out, HasSubstr("\n> cat |"));
  EXPECT_THAT(outcome.out, HasSubstr("Where 1 cat looks in head 0\n"));
  EXPECT_THAT(outcome.out, HasSubstr(" from 13 others\n"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(attention({"--color", "always"}).out, HasSubstr("\x1b[48;2;"));
}

TEST(AttentionCommand, WalksTheSteps) {
  const std::string out = attention({"--text", kText, "--step", "--head", "3"}).out;
  std::size_t place = 0;
  for (const char* step : {"Step by step: head 3, row 0 the", "1. Q K^T", "2. Scale: times 0.250",
                           "3. No mask: every position sees every other (a causal mask would hide "
                           "j > i)",
                           "4. Softmax", "5. Weighted values"}) {
    const std::size_t found = out.find(step);
    ASSERT_NE(found, out.npos) << step;
    EXPECT_GT(found, place);
    place = found;
  }
}

/// Whatever the tokens, a line fits a terminal, and nothing of them reaches it as an escape.
TEST(AttentionCommand, StaysWithin100Columns) {
  std::string many =
      "\x1b[2Jevil 中文字典 e\u0301te\u0301 \u202egnorw \U0001f600 " + std::string(500, 'z');
  for (int i = 6; i < 64; ++i) many += " w" + std::to_string(i);
  for (const Words& words : {Words{"--text", many},
                             {"--text", "a " + std::string(500, 'z')},
                             {"--text", "one"},
                             {"--seq-len", "31"},
                             {"--heads", "64"},
                             {"--n-embd", "1024", "--heads", "1"}}) {
    Words all = words;
    all.insert(all.end(), {"--backward", "--step", "--row", "0", "--color", "never"});
    const Outcome outcome = attention(all);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
    EXPECT_THAT(outcome.out, Not(HasSubstr("\u202e")));
    EXPECT_THAT(outcome.out, Not(HasSubstr(std::string(20, 'z'))));
    for (std::size_t begin = 0, end; (end = outcome.out.find('\n', begin)) != std::string::npos;
         begin = end + 1)
      EXPECT_LE(report::display_width(outcome.out.substr(begin, end - begin)), 100u)
          << outcome.out.substr(begin, end - begin);
  }
}

TEST(AttentionCommand, RefusesWhatItCannotShow) {
  std::string many;
  for (int i = 0; i < 65; ++i) many += "w ";
  const struct {
    Words words;
    const char* error;
  } cases[] = {
      {{"--heads", "5"}, "error: --n-head 5 does not divide --n-embd 64\n"},
      {{"--text", ""}, "error: --text: expected a value, got ''\n"},
      {{"--text", " \n "}, "error: --text: expected 1 to 64 words, got 0 in ' \\n '\n"},
      {{"--text", "a \xff"}, "error: --text: expected UTF-8, got 'a \\xff'\n"},
      {{"--text", many}, "error: --text: expected 1 to 64 words, got 65 in"},
      {{"--text", "a b", "--row", "2"}, "--row: expected a whole number in [0, 1], got '2'"},
      {{"--head", "4", "--step"}, "error: --head: expected less than --n-head 4, got 4\n"},
      {{"--scale", "half"}, "--scale: expected none, sqrt_dk, dk or a finite number, got 'half'"},
      {{"--n-embd", "65536", "--heads", "1"}, "80 %"},
  };
  for (const auto& c : cases) {
    const Outcome outcome = attention(c.words);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(c.error));
  }
}

TEST(AttentionCommand, NumbersThatAreNotFiniteHaveTheirExitCode) {
  const Outcome outcome = attention({"--scale", "1e308"});
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("the scores are not finite"));
  EXPECT_EQ(attention({"--scale", "1e300"}).code, 0);
  EXPECT_EQ(attention({"--scale", "1e-320", "--backward"}).code, 0);
  for (const char* init : {"lesson", "torch", "gpt2"})
    EXPECT_EQ(attention({"--init", init, "--dtype", "f32", "--backward"}).code, 0) << init;
}

TEST(AttentionCommand, TheSameSeedGivesTheSameBytes) {
  const auto out = [](const char* threads, const char* seed) {
    return attention(
               {"--text", kText, "--backward", "--step", "--threads", threads, "--seed", seed})
        .out;
  };
  const std::string one = out("1", "7");
  EXPECT_EQ(one, out("2", "7"));
  EXPECT_EQ(one, out("4", "7"));
  EXPECT_NE(one, out("1", "8"));
}

}  // namespace
}  // namespace experiments::attention
