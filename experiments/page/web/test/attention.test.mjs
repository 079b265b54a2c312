// The view Attention, as people use it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, open, skip } from "./browser.mjs";

let browser;
before(async () => { if (!skip) browser = await launch(); });
after(() => browser?.close());

const ready = "#rows td";
const at = async (view, map, row, column, rows, columns) => {
  const canvas = await view.tab.$(`[data-map="${map}"] canvas`);
  await canvas.scrollIntoView();
  const box = await canvas.boundingBox();
  return [box.x + ((column + 0.5) * box.width) / columns, box.y + ((row + 0.5) * box.height) / rows];
};
const pixels = (view, map) => view.tab.$eval(`[data-map="${map}"] canvas`, (canvas) => canvas.toDataURL());

test("opens from a file and shows numbers within a second", { skip }, async () => {
  const view = await open(browser, "");
  await view.until((selector) => document.querySelector(selector), ready);
  const ms = await view.tab.evaluate(() => performance.now());
  assert.ok(ms < 3000, `${ms} ms`); // a second on an idle machine; tests share theirs
  assert.equal((await view.tab.$$("canvas")).length, 16);
  assert.equal(await view.text("#command"), "gradlab attention --seq-len 8 --n-embd 64 --n-head 4 --scale sqrt_dk --backward");
  assert.ok(!(await view.text("body")).includes("Loading"));
  await view.close();
});

test("a link opens at its numbers, and a bad one says what holds", { skip }, async () => {
  const view = await open(browser, "#T=5&C=16&H=2&scale=none&head=1&row=2&cell=d_scores.2.3&seed=9");
  await view.until(() => document.querySelector("#explanation table"));
  assert.match(await view.text("#explanation h2"), /^dS, query 2, key 3: -?\d/);
  assert.match(await view.text("#explanation"), /dS = P \(dP - P·dP\)/);
  assert.match(await view.text("#row h2"), /query 2, t2, looks in head 1/);
  assert.match(await view.text("#command"), /--seq-len 5 --n-embd 16 --n-head 2 --scale none --seed 9 --backward/);
  await view.tab.evaluate(() => { location.hash = "#T=77&C=16"; });
  await view.until(() => document.querySelector(".notice"));
  assert.equal(await view.text(".notice"), "The link says T = '77', which is not possible here; T is 8.");
  await view.close();
});

test("the numbers shown are the engine's, all digits", { skip }, async () => {
  const { engine, source } = await import("./engine.mjs");
  const { attentionRequest, defaults } = await source("state.ts");
  const { exact } = await source("numbers.ts");
  const state = { ...defaults, T: 4, C: 8, H: 2, head: 1 };
  const { matrices } = (await engine())("attention", 0, attentionRequest(state, state.scale));
  const view = await open(browser, "#T=4&C=8&H=2&head=1&cell=d_q.3.2");
  await view.until(() => document.querySelector("#explanation table"));
  assert.ok((await view.text("#explanation")).includes(`The engine: ${exact(matrices.d_q.values[(1 * 4 + 3) * 4 + 2])}`));
  await view.close();
});

test("a click chooses a row, pointing explains a cell", { skip }, async () => {
  const view = await open(browser, "");
  await view.until((selector) => document.querySelector(selector), ready);
  await view.tab.mouse.move(...(await at(view, "0.weights", 6, 3, 8, 8)));
  await view.until(() => document.querySelector("#explanation h2")?.textContent.startsWith("P, query 6, key 3"));
  await view.tab.mouse.click(...(await at(view, "0.weights", 5, 2, 8, 8)));
  await view.until(() => document.querySelector("#row h2")?.textContent.includes("query 5, t5"));
  assert.match(await view.hash(), /row=5.*cell=weights\.5\.2/);
  await view.tab.click("#rows tbody tr:nth-child(3) button");
  await view.until(() => document.querySelector("#row h2")?.textContent.includes("query 2, t2"));
  await view.close();
});

test("the keyboard alone reads cells out, chooses rows and steps", { skip }, async () => {
  const view = await open(browser, "#row=0");
  await view.until((selector) => document.querySelector(selector), ready);
  await view.tab.focus('[data-map="0.d_scores"]');
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight"]) await view.tab.keyboard.press(key);
  assert.match(await view.text("#live"), /^dS, query 2, key 1: -?\d/);
  await view.tab.keyboard.press("End");
  assert.match(await view.text("#live"), /^dS, query 2, key 7: /);
  await view.tab.keyboard.press("Enter");
  await view.until(() => document.querySelector("#row h2")?.textContent.includes("query 2"));
  await view.tab.keyboard.press("0");
  await view.tab.keyboard.press(",");
  assert.match(await view.hash(), /step=\d+/);
  await view.tab.keyboard.press(".");
  assert.doesNotMatch(await view.hash(), /step=/);
  for (let i = 0; i < 2; ++i) await view.tab.keyboard.press("[");
  await view.until(() => document.querySelector(".says").textContent.startsWith("dQ = a dS K"));
  await view.close();
});

test("steps fill the matrices in, and say the numbers", { skip }, async () => {
  const view = await open(browser, "#step=0&T=4");
  await view.until((selector) => document.querySelector(selector), ready);
  const empty = await pixels(view, "0.scores");
  await view.tab.click("#next");
  await view.tab.click("#next");
  await view.until(() => document.querySelector("#narration")?.textContent.includes("S, query 0, key 0"));
  assert.notEqual(await pixels(view, "0.scores"), empty);
  await view.tab.evaluate(() => { location.hash = `#T=4&step=${1 + 16 + 3}`; });
  await view.until(() => /Row 0, sum: they add up to \d/.test(document.querySelector("#narration")?.textContent));
  await view.tab.select(".steps select:last-of-type", "240").catch(() => {});
  await view.tab.click("#play");
  await view.until(() => Number(new URLSearchParams(location.hash.slice(1)).get("step") ?? 999) > 24);
  await view.tab.click("#play");
  await view.until(() => document.querySelector("#play").textContent === "play");
  await view.close();
});

test("with reduced motion, play goes by whole stages", { skip }, async () => {
  const view = await open(browser, "#step=0", { features: [{ name: "prefers-reduced-motion", value: "reduce" }] });
  await view.until((selector) => document.querySelector(selector), ready);
  await view.tab.click("#play");
  await view.until(() => location.hash.includes("step=65")); // all of S in one step
  await view.close();
});

test("two runs side by side: without the scale, dS fades out", { skip }, async () => {
  const view = await open(browser, "#C=256&H=1&compare=1");
  await view.until(() => document.querySelectorAll("#rows thead tr").length === 2);
  const dead = await view.tab.$$eval("#rows tbody tr", (rows) => rows.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.classList.contains("dead"))));
  assert.ok(dead.every((cells) => cells.length === 10 && !cells[2]), "scaled rows live");
  assert.ok(dead.some((cells) => cells[7]), "some unscaled row is dead");
  await view.tab.mouse.move(...(await at(view, "1.d_scores", 1, 1, 8, 8)));
  await view.until(() => document.querySelector("#explanation h2")?.textContent.startsWith("dS, query 1, key 1"));
  await view.close();
});

test("controls change numbers, address and command; errors come in the engine's words", { skip }, async () => {
  const view = await open(browser, "");
  await view.until((selector) => document.querySelector(selector), ready);
  await view.tab.type("label.wide input", "the cat sat on the mat");
  await view.tab.keyboard.press("Enter");
  await view.until(() => document.querySelector("#rows tbody")?.textContent.includes("5 mat"));
  assert.match(await view.text("#command"), /--text 'the cat sat on the mat'/);
  await view.tab.goBack();
  await view.until(() => document.querySelector("#rows tbody")?.textContent.includes("7 t7"));
  await view.tab.evaluate(() => { location.hash = "#H=3"; });
  await view.until(() => document.querySelector(".error"));
  assert.equal(await view.text(".error"), "attention: n_head 3 does not divide n_embd 64");
  await view.tab.evaluate(() => { location.hash = "#H=2&dropout=0.5&causal=1"; });
  await view.until(() => !document.querySelector(".error") && document.querySelectorAll("canvas").length === 18);
  await view.close();
});

test("every map is a table too", { skip }, async () => {
  const view = await open(browser, "#T=6");
  await view.until((selector) => document.querySelector(selector), ready);
  await view.tab.click('button[aria-label="dS as a table"]');
  await view.until(() => document.querySelector("dialog")?.open);
  assert.equal((await view.tab.$$("#table tbody tr")).length, 6);
  assert.equal((await view.tab.$$("#table tbody td")).length, 36);
  await view.tab.evaluate(() => { // what a save hands to the browser
    URL.createObjectURL = (blob) => { blob.text().then((text) => { globalThis.saved = text; }); return "#"; };
    HTMLAnchorElement.prototype.click = () => {};
  });
  await (await view.tab.$$("dialog button"))[2].click();
  await view.until(() => globalThis.saved);
  const lines = (await view.tab.evaluate(() => globalThis.saved)).trim().split("\n");
  assert.equal(lines[0], "query,key 0,key 1,key 2,key 3,key 4,key 5");
  assert.ok(Math.abs(lines[1].split(",").slice(1).reduce((sum, v) => sum + Number(v), 0)) < 1e-12, "a row of dS sums to 0");
  assert.deepEqual(await view.axe(), []);
  await view.tab.keyboard.press("Escape");
  await view.until(() => !document.querySelector("dialog"));
  await view.close();
});

for (const scheme of ["light", "dark"]) {
  test(`nothing overflows from 360 to 1920 pixels, and axe finds nothing: ${scheme}`, { skip }, async () => {
    const view = await open(browser, "#T=32&C=256&H=2&compare=1&causal=1&row=3", { features: [{ name: "prefers-color-scheme", value: scheme }] });
    await view.until((selector) => document.querySelector(selector), ready);
    for (const width of [360, 390, 768, 1280, 1920]) {
      await view.tab.setViewport({ width, height: 900 });
      await view.until((w) => innerWidth === w, width);
      await new Promise((done) => setTimeout(done, 100));
      assert.ok((await view.overflow()) <= 0, `${width} px: ${await view.overflow()} too wide`);
    }
    assert.deepEqual(await view.axe(), []);
    await view.close();
  });
}
