#include <emscripten/bind.h>
#include <emscripten/val.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <functional>

#include "experiments/page/argument.h"
#include "experiments/page/board.h"
#include "experiments/softmax/lesson.h"
#include "experiments/softmax/lesson_claims.h"

// What JavaScript calls. A request is an object with the fields of the struct of that name; a seed
// of 64 bits is text. Every call gives an object, which after an error has only `error`: its words.

namespace experiments::page {
namespace {

using emscripten::val;

/// A copy, as the engine's memory may move.
val numbers(const std::vector<double>& values) {
  return val::global("Float64Array")
      .new_(emscripten::typed_memory_view(values.size(), values.data()));
}

template <class T, class F>
val list(const std::vector<T>& items, const F& as_val) {
  val out = val::array();
  for (const T& item : items) out.call<void>("push", as_val(item));
  return out;
}

val guarded(const std::function<void(val&)>& fill) {
  val out = val::object();
  try {
    fill(out);
  } catch (const std::exception& error) {
    out = val::object();
    out.set("error", std::string(error.what()));
  }
  return out;
}

std::uint64_t seed_of(const val& request) {
  return std::strtoull(request["seed"].as<std::string>().c_str(), nullptr, 10);
}

val check_val(const report::Check& check) {
  val out = val::object();
  out.set("name", check.name);
  out.set("kind", std::string(report::name(check.kind)));
  out.set("measured", check.measured);
  out.set("predicted", check.predicted);
  out.set("tolerance", check.tolerance);
  out.set("ok", check.ok);
  return out;
}

// --- attention

/// The page shows two runs beside each other; explain() is asked about either.
Board& board(int slot) {
  static std::array<Board, 2> boards{Board{BoardRequest{}}, Board{BoardRequest{}}};
  return boards.at(static_cast<std::size_t>(slot));
}

val rows_val(const std::vector<RowFacts>& rows) {
  return list(rows, [](const RowFacts& r) {
    val out = val::object();
    out.set("entropy", r.entropy);
    out.set("entropyNorm", r.entropy_norm);
    out.set("pMax", r.p_max);
    out.set("jacobian", r.jacobian);
    out.set("gain", r.gain);
    out.set("dScores", r.d_scores);
    out.set("dWeights", r.d_weights);
    return out;
  });
}

BoardRequest board_request(const val& from) {
  BoardRequest request;
  const val words = from["words"];
  for (unsigned i = 0; i < words["length"].as<unsigned>(); ++i)
    request.words.push_back(words[i].as<std::string>());
  request.seq_len = from["seqLen"].as<int>();
  request.n_embd = from["nEmbd"].as<int>();
  request.n_head = from["nHead"].as<int>();
  request.init = from["init"].as<std::string>();
  request.scale = from["scale"].as<std::string>();
  request.loss = from["loss"].as<std::string>();
  request.seed = seed_of(from);
  request.causal = from["causal"].as<bool>();
  request.dropout = from["dropout"].as<double>();
  request.dtype =
      from["dtype"].as<std::string>() == "f32" ? autograd::DType::f32 : autograd::DType::f64;
  return request;
}

val attention_call(int slot, val request) {
  return guarded([&](val& out) {
    board(slot) = Board(board_request(request));
    const Board& now = board(slot);
    const attention::AttentionPass& pass = now.pass();
    out.set("heads", static_cast<int>(pass.heads));
    out.set("tokens", static_cast<int>(pass.tokens));
    out.set("headSize", static_cast<int>(pass.head_size));
    out.set("factor", pass.factor);
    val matrices = val::object();
    for (const Matrix& m : now.matrices()) {
      val one = val::object();
      one.set("hasHeads", m.has_heads);
      one.set("rows", static_cast<int>(m.rows));
      one.set("columns", static_cast<int>(m.columns));
      one.set("values", numbers(*m.values));
      matrices.set(m.name, one);
    }
    out.set("matrices", matrices);
    out.set("rows", rows_val(now.rows()));
    out.set("checks", list(now.checks(), check_val));
  });
}

/// The first `shown` terms, how many others there are, and their sum.
val explain_call(int slot, std::string matrix, int head, int row, int column, int shown) {
  return guarded([&](val& out) {
    Explanation e = board(slot).explain(matrix, head, row, column);
    const std::size_t count = std::min(e.terms.size(), static_cast<std::size_t>(shown));
    out.set("formula", e.formula);
    out.set("value", e.value);
    out.set("factor", e.factor);
    out.set("sum", e.sum);
    out.set("others", static_cast<int>(e.terms.size() - count));
    out.set("rest", e.rest(count));
    e.terms.resize(count);
    out.set("terms", list(e.terms, [](const Explanation::Term& t) {
              val term = val::object();
              term.set("label", t.label);
              term.set("left", t.left);
              term.set("right", t.right);
              term.set("product", t.product);
              return term;
            }));
  });
}

val softmax_call(int slot, int head, int row) {
  return guarded([&](val& out) {
    const SoftmaxSteps steps = board(slot).softmax_steps(head, row);
    out.set("max", steps.max);
    out.set("sum", steps.sum);
    out.set("exps", numbers(steps.exps));
  });
}

// --- the argument

val summary_val(const measure::Summary& s) {
  val out = val::object();
  out.set("mean", s.mean);
  out.set("median", s.median);
  out.set("p95", s.p95);
  out.set("rms", s.rms);
  return out;
}

val measured_val(const Measured& m) {
  const softmax::Cell& cell = m.cell;
  val out = val::object();
  out.set("dK", static_cast<int>(cell.setting.d_k));
  out.set("scale", cell.scale);
  out.set("rows", static_cast<int>(cell.setting.rows()));
  out.set("sigma", cell.sigma());
  out.set("scoreStd", cell.score_std);
  out.set("entropyNorm", cell.entropy_norm());
  out.set("deadRows", cell.dead_rows);
  out.set("entropy", summary_val(cell.entropy));
  out.set("pMax", summary_val(cell.p_max));
  out.set("jacobian", summary_val(cell.jacobian));
  out.set("gain", summary_val(cell.gain));
  out.set("dS", summary_val(cell.ds));
  out.set("dQ", summary_val(cell.dq));
  out.set("entropySmall", m.theory.entropy_small);
  out.set("entropyLarge", m.theory.entropy_large);
  out.set("jacobianSmall", m.theory.jacobian_small);
  out.set("jacobianLarge", m.theory.jacobian_large);
  out.set("medianLarge", m.theory.median_large);
  out.set("checks", list(m.checks, check_val));
  return out;
}

ArgumentRequest argument_request(const val& from) {
  ArgumentRequest request;
  request.d_k = from["dK"].as<int>();
  request.seq_len = from["seqLen"].as<int>();
  request.rows = from["rows"].as<int>();
  request.sizes = from["sizes"].as<int>();
  request.seed = seed_of(from);
  request.init = from["init"].as<std::string>();
  return request;
}

val argument_call(val request) {
  return guarded([&](val& out) {
    out.set("cells", list(measure_argument(argument_request(request)), measured_val));
  });
}

val scores_call(val request, std::string scale, int trials) {
  return guarded([&](val& out) {
    const Scores scores = scores_of(argument_request(request), scale, trials);
    out.set("sigma", scores.sigma);
    out.set("values", numbers(scores.values));
    out.set("firstWeights", numbers(scores.first_weights));
  });
}

// --- the lesson

val lesson_call(std::string seed, int runs) {
  return guarded([&](val& out) {
    Run run;
    run.seed = std::strtoull(seed.c_str(), nullptr, 10);
    const std::vector<softmax::Claim> claims = softmax::judged(softmax::findings_of(run, runs));
    out.set("claims", list(claims, [](const softmax::Claim& c) {
              val claim = val::object();
              claim.set("id", c.id);
              claim.set("says", c.says);
              claim.set("measured", c.measured);
              claim.set("quantity", c.quantity);
              claim.set("claimed", c.claimed);
              claim.set("value", c.value);
              claim.set("error", c.error);
              claim.set("samples", static_cast<double>(c.samples));
              claim.set("verdict", std::string(softmax::name(c.verdict)));
              claim.set("expected", std::string(softmax::name(c.expected)));
              return claim;
            }));
  });
}

}  // namespace

EMSCRIPTEN_BINDINGS(gradlab) {
  emscripten::function("attention", &attention_call);
  emscripten::function("explain", &explain_call);
  emscripten::function("softmaxSteps", &softmax_call);
  emscripten::function("argument", &argument_call);
  emscripten::function("scores", &scores_call);
  emscripten::function("lesson", &lesson_call);
}

}  // namespace experiments::page
