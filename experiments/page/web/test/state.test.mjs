// The address, the numbers' texts and the steps, without a browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { source } from "./engine.mjs";

test("a state survives the address", async () => {
  const { defaults, format, parse } = await source("state.ts");
  const state = { ...defaults, text: "a & b = c # d", T: 5, scale: "0.25", causal: true, dropout: 0.5, cell: "d_scores.1.4", compare: true, seed: "18446744073709551615", step: 12 };
  assert.deepEqual(parse(`#${format(state)}`), { state, complaints: [] });
  assert.equal(format(defaults), "");
});

test("a bad link says which field, and what holds instead", async () => {
  const { defaults, parse } = await source("state.ts");
  const { state, complaints } = parse("#T=99&C=32&what=1&causal=yes&loss=row:x");
  assert.deepEqual(state, { ...defaults, C: 32 });
  assert.deepEqual(complaints, [
    "The link says T = '99', which is not possible here; T is 8.",
    "The link has a field 'what', which this page does not know.",
    "The link says causal = 'yes', which is not possible here; causal is false.",
    "The link says loss = 'row:x', which is not possible here; loss is random.",
  ]);
});

test("numbers have three digits", async () => {
  const { exact, short, signed } = await source("numbers.ts");
  assert.deepEqual([0.0123456, -9.996, 1234567, 12345678, 1.5e-7, 0, NaN, -Infinity].map((v) => short(v)),
    ["0.0123", "-10.0", "1234567", "1.23e+7", "1.50e-7", "0", "nan", "-inf"]);
  assert.deepEqual([1, 0.5, 1e-7].map(exact), ["1.0", "0.5", "1e-7"]);
  assert.deepEqual([-2, 2].map(signed), ["− 2.00", "+ 2.00"]);
});

test("the steps fill in one matrix after another, and each wholly", async () => {
  const { before, focus, isShown, place, stages, total } = await source("steps.ts");
  const tokens = 3, names = stages.flatMap((stage) => stage.matrices);
  const count = (ticks) => names.reduce((sum, name) => {
    for (let i = 0; i < tokens; ++i) for (let j = 0; j < tokens; ++j) sum += isShown(name, i, j, ticks, tokens) ? 1 : 0;
    return sum;
  }, 0);
  assert.equal(count(0), 0);
  for (let ticks = 1; ticks <= total(tokens); ++ticks) assert.ok(count(ticks) >= count(ticks - 1), `after ${ticks}`);
  assert.equal(count(total(tokens)), names.length * tokens ** 2);
  assert.equal(count(-1), names.length * tokens ** 2);
  assert.equal(before(1, tokens), 1);
  assert.deepEqual(focus(1 + 5, tokens), { matrix: "scores", row: 1, column: 1 });
  assert.deepEqual(focus(before(2, tokens) + 7, tokens), { matrix: "weights", row: 1, column: 0, phase: "sum" });
  assert.equal(place(total(tokens), tokens).index, stages.length - 1);
});
