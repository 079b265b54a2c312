// The views of the argument and of the lesson.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, open, skip } from "./browser.mjs";

let browser;
before(async () => { if (!skip) browser = await launch(); });
after(() => browser?.close());

const measured = () => document.querySelector("#facts");

test("the argument: a link, the slider by keys, the curves and the map fill in", { skip }, async () => {
  const view = await open(browser, "#view=argument&dk=4&rows=500&T=4");
  await view.until(measured);
  assert.match(await view.text("#facts h2"), /d_k = 4, 500 rows/);
  assert.equal(await view.text("#command"), "gradlab scaling --dk 4 --seq-len 4 --rows 500");
  await view.tab.focus("input[type=range]");
  for (let i = 0; i < 6; ++i) await view.tab.keyboard.press("ArrowRight");
  assert.match(await view.hash(), /dk=256/);
  await view.until(() => document.querySelector("#facts h2").textContent.includes("d_k = 256"));
  assert.match(await view.text("#checks"), /Var\(q\.k\) = d/);
  assert.doesNotMatch(await view.text("#checks"), /FAILS/);
  await view.until(() => document.querySelectorAll("#map button").length > 3);
  assert.equal((await view.tab.$$(".plot canvas")).length, 7);
  const gains = await view.tab.$$eval("#curves tbody tr", (rows) => rows.map((row) => [...row.querySelectorAll("td")].slice(0, 2).map((cell) => Number(cell.textContent))));
  assert.equal(gains.length, 11);
  assert.ok(gains[10][0] < gains[0][0] / 1e3, "without the scale the gain dies");
  assert.ok(gains[10][1] > gains[0][1] / 2, "with it, it does not");
  await view.tab.click("#map button");
  await view.until(() => document.querySelector("#facts h2").textContent.includes("d_k = 4,"));
  assert.match(await view.hash(), /T=2/);
  await view.tab.goBack();
  await view.until(() => document.querySelector("#facts h2").textContent.includes("d_k = 256"));
  await view.close();
});

test("the lesson: its claims with their verdicts", { skip }, async () => {
  const view = await open(browser, "#view=lesson");
  await view.until(() => document.querySelectorAll("#claims tbody tr").length === 16);
  assert.match(await view.text("#claims"), /exactly 4 C\^2 = 2,359,296 parameters ✓ true/);
  assert.doesNotMatch(await view.text("#claims"), /theory expects/);
  await view.tab.click("main button");
  await view.until(() => document.querySelector("main").textContent.includes("Seed 1"));
  assert.equal(await view.text("#command"), "gradlab lesson --runs 400 --seed 1");
  await view.close();
});

for (const name of ["argument", "lesson"])
  for (const scheme of ["light", "dark"])
    test(`${name}: nothing overflows from 360 to 1920 pixels, and axe finds nothing: ${scheme}`, { skip }, async () => {
      const view = await open(browser, `#view=${name}&rows=500&T=32`, { features: [{ name: "prefers-color-scheme", value: scheme }] });
      await view.until(() => document.querySelector("#claims, #facts"));
      for (const width of [1920, 1280, 768, 390, 360]) {
        await view.tab.setViewport({ width, height: 900 });
        await new Promise((done) => setTimeout(done, 300));
        assert.ok((await view.overflow()) <= 0, `${width} px: ${await view.overflow()} too wide`);
      }
      assert.deepEqual(await view.axe(), []);
      await view.close();
    });

test("by the views' links and back, no number is lost", { skip }, async () => {
  const view = await open(browser, "#T=6&row=2");
  await view.until(() => document.querySelector("#row h2")?.textContent.includes("query 2"));
  await view.tab.click("nav a:nth-child(2)");
  await view.until(measured);
  await view.tab.click("nav a:nth-child(1)");
  await view.until(() => document.querySelector("#row h2")?.textContent.includes("query 2"));
  assert.equal((await view.tab.$$("#rows tbody tr")).length, 6);
  await view.close();
});
