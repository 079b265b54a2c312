// The page's numbers are the terminal's, by the command that stands beside them. Products are added up in another
// order (the machine's vectors are wider), so they are equal to rounding.
import assert from "node:assert/strict";
import { test } from "node:test";
import { engine, missingProgram as skip, source, terminal } from "./engine.mjs";

const settings = {
  "as it opens": {},
  "own words, with a quote": { text: "it's the cat's \"mat\" $HOME ünï" },
  "no scale, many channels": { scale: "none", C: 256, H: 2, T: 12 },
  "a number as scale, one head": { scale: "0.7", C: 24, H: 1, T: 5, seed: "18446744073709551615" },
  "causal, with dropout": { causal: true, dropout: 0.3, T: 16, C: 32, H: 4, seed: "7" },
  "one position": { loss: "row:3", init: "torch", T: 9 },
  "a class": { loss: "class:5", init: "gpt2", scale: "dk" },
  "one token": { T: 1 },
  "the lesson's weights": { init: "lesson", C: 16, T: 32, H: 2, scale: "sqrt_dk" },
  "32 bits": { dtype: "f32", T: 10 },
};

function assertClose(got, expected, size, epsilon, what) {
  assert.ok(Math.abs(got - expected) <= epsilon * size, `${what}: ${got} in the page, ${expected} in the terminal`);
}

for (const [name, setting] of Object.entries(settings)) {
  test(`attention: ${name}`, { skip }, async () => {
    const { attentionRequest, command, defaults } = await source("state.ts");
    const state = { ...defaults, ...setting };
    const here = (await engine())("attention", 0, attentionRequest(state, state.scale));
    const there = terminal(command(state)).rows;
    assert.equal(there.length, here.heads * here.tokens ** 2);
    const epsilon = state.dtype === "f32" ? 2e-5 : 1e-12;
    for (const [matrix, column] of [["scores", "score"], ["weights", "weight"], ["d_scores", "d_score"], ["d_weights", "d_weight"]]) {
      const values = here.matrices[matrix].values;
      const size = Math.max(...there.map((row) => Math.abs(row[column])));
      there.forEach((row, i) => assertClose(values[i], row[column], size, epsilon, `${matrix} ${i}`));
    }
    for (const check of here.checks) assert.ok(check.ok, check.name);
  });
}

for (const setting of [{ T: 8 }, { T: 16, dk: 256, rows: 1000, seed: "3" }, { T: 32, dk: 8, rows: 500, init: "lesson" }]) {
  test(`the argument: ${JSON.stringify(setting)}`, { skip }, async () => {
    const { argumentRequest, command, defaults } = await source("state.ts");
    const state = { ...defaults, view: "argument", ...setting };
    const { cells } = (await engine())("argument", argumentRequest(state));
    const { rows, checks } = terminal(command(state));
    assert.equal(rows.length, cells.length);
    rows.forEach((row, i) => {
      const cell = cells[i];
      assert.deepEqual([cell.scale, cell.dK, cell.rows, cell.deadRows], [row.scale, row.d_k, row.rows, row.dead_rows]);
      const pairs = [[cell.scoreStd, row.score_std], [cell.entropyNorm, row.entropy_norm_mean], [cell.pMax.mean, row.p_max_mean], [cell.jacobian.mean, row.jacobian_mean],
        [cell.jacobian.median, row.jacobian_median], [cell.gain.median, row.gain_median], [cell.dS.mean, row.ds_mean], [cell.dQ.rms, row.dq_rms]];
      pairs.forEach(([here, there], k) => assertClose(here, there, Math.abs(there), 1e-9, `${row.scale}, number ${k}`));
    });
    const all = cells.flatMap((cell) => cell.checks.map((check) => `${cell.scale}: ${check.name}`));
    for (const check of checks.filter((check) => check.kind !== "asymptote"))
      assert.ok(all.some((name) => check.name.includes(name.split(": ")[1])), `the page has no check '${check.name}'`);
    assert.ok(cells.every((cell) => cell.checks.every((check) => check.ok)));
  });
}

test("the histogram's scores have the variance that theory expects, and their row is softmax's", { skip }, async () => {
  const { argumentRequest, defaults } = await source("state.ts");
  const ask = await engine();
  for (const [scale, sigma] of [["none", 16], ["sqrt_dk", 1]]) {
    const scores = ask("scores", argumentRequest({ ...defaults, dk: 256, T: 8 }), scale, 200);
    assert.equal(scores.sigma, sigma);
    assert.equal(scores.values.length, 200 * 8 * 8);
    const square = scores.values.reduce((sum, s) => sum + s * s, 0) / scores.values.length;
    assert.ok(Math.abs(square / sigma ** 2 - 1) < 0.1, `${square}`); // 4 standard errors, as rows share q and k
    const exps = scores.values.subarray(0, 8).map((s) => Math.exp(s - Math.max(...scores.values.subarray(0, 8))));
    const total = exps.reduce((sum, e) => sum + e, 0);
    exps.forEach((e, j) => assertClose(scores.firstWeights[j], e / total, 1, 1e-14, `weight ${j}`));
  }
});

test("the lesson's claims and verdicts", { skip }, async () => {
  const { command, defaults, lessonRuns } = await source("state.ts");
  const { claims } = (await engine())("lesson", "0", lessonRuns);
  const { rows } = terminal(command({ ...defaults, view: "lesson" }));
  assert.equal(claims.length, rows.length);
  rows.forEach((row, i) => {
    const claim = claims[i];
    assert.deepEqual([claim.id, claim.verdict], [row.claim ?? row.id, row.verdict]);
    if (row.value !== null) assertClose(claim.value, row.value, Math.max(Math.abs(row.value), 1e-300), 1e-6, claim.id);
  });
});

test("every number is the sum that the page shows for it", { skip }, async () => {
  const { attentionRequest, defaults } = await source("state.ts");
  const ask = await engine();
  for (const setting of [{}, { dropout: 0.4, causal: true, scale: "none" }, { loss: "class:1" }]) {
    const state = { ...defaults, T: 5, C: 12, H: 3, ...setting };
    const { matrices } = ask("attention", 1, attentionRequest(state, state.scale));
    for (const [name, m] of Object.entries(matrices)) {
      for (let head = 0; head < (m.hasHeads ? 3 : 1); ++head)
        for (let row = 0; row < m.rows; ++row)
          for (let column = 0; column < m.columns; ++column) {
            const e = ask("explain", 1, name, head, row, column, 2);
            const value = m.values[(head * m.rows + row) * m.columns + column];
            assert.equal(e.value, value);
            assert.ok(Math.abs(e.sum - value) <= 1e-12 * Math.max(1, Math.abs(value)), `${name} ${head} ${row} ${column}: ${e.sum}, not ${value}`);
            const shown = e.factor * (e.terms.reduce((sum, term) => sum + term.product, 0) + e.rest);
            assert.ok(Math.abs(shown - value) <= 1e-12 * Math.max(1, Math.abs(value)), `${name}: the terms shown add up to ${shown}`);
          }
    }
  }
});

test("softmax's steps make the row of P, and its facts follow from it", { skip }, async () => {
  const { attentionRequest, defaults } = await source("state.ts");
  const ask = await engine();
  const { matrices, rows, tokens } = ask("attention", 0, attentionRequest({ ...defaults, causal: true }, "sqrt_dk"));
  for (let row = 0; row < tokens; ++row) {
    const { exps, sum } = ask("softmaxSteps", 0, 2, row);
    assert.equal(exps.length, row + 1);
    const p = matrices.weights.values.subarray((2 * tokens + row) * tokens, (2 * tokens + row) * tokens + row + 1);
    exps.forEach((e, j) => assert.ok(Math.abs(e / sum - p[j]) < 1e-15));
    const entropy = -p.reduce((h, x) => h + (x > 0 ? x * Math.log(x) : 0), 0);
    const square = p.reduce((s, x, i) => s + p.reduce((t, y, j) => t + ((i === j ? x : 0) - x * y) ** 2, 0), 0);
    const facts = rows[2 * tokens + row];
    assert.ok(Math.abs(facts.entropy - entropy) < 1e-12);
    assert.ok(Math.abs(facts.jacobian - Math.sqrt(square)) < 1e-12);
    assert.equal(facts.pMax, Math.max(...p));
  }
});

test("the engine's memory stays as large as it is", { skip }, async () => {
  const { attentionRequest, defaults } = await source("state.ts");
  const ask = await engine();
  const run = (times) => {
    for (let i = 0; i < times; ++i) ask("attention", i % 2, attentionRequest({ ...defaults, T: 32, C: 128, seed: String(i) }, "none"));
    return ask.bytes();
  };
  assert.equal(run(20), run(200));
});

test("an error of the engine comes in its own words", { skip }, async () => {
  const { attentionRequest, defaults } = await source("state.ts");
  const ask = await engine();
  const refused = (setting, words) => {
    const state = { ...defaults, ...setting };
    assert.throws(() => ask("attention", 0, attentionRequest(state, state.scale)), words);
  };
  refused({ H: 3 }, /n_head 3 does not divide n_embd 64/);
  refused({ scale: "half" }, /expected none, sqrt_dk, dk or a finite number, got 'half'/);
  refused({ loss: "row:8" }, /row:N with N in \[0, 7\], got row:8/);
  refused({ loss: "rows" }, /expected random, row:N or class:N, got 'rows'/);
  assert.throws(() => ask("explain", 0, "scores", 0, 99, 0, 3), /scores: head 0, row 99/);
});
