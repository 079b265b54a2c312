// Debian's chromium without a window and without a network.
import { spawnSync } from "node:child_process";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";
import { missing, page as file } from "./engine.mjs";

const found = ["chromium", "chromium-browser"].map((name) => spawnSync("which", [name], { encoding: "utf8" }).stdout.trim()).find(Boolean);
export const skip = missing || (!found ? "no chromium is installed (Debian: apt install chromium)" : false);

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

export const launch = () => puppeteer.launch({ executablePath: found, args: ["--no-sandbox", "--disable-gpu"] });

/** A page at a hash, and all that it should not have said or asked for. */
export async function open(browser, hash, { width = 1280, height = 900, features = [] } = {}) {
  const tab = await browser.newPage();
  const complaints = [];
  tab.on("console", (message) => complaints.push(`console: ${message.text()}`));
  tab.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  tab.on("request", (request) => {
    if (!/^(file:.*playground\.html|blob:|data:)/.test(request.url())) complaints.push(`request: ${request.url()}`);
  });
  await tab.setOfflineMode(true);
  await tab.setViewport({ width, height });
  await tab.emulateMediaFeatures(features);
  await tab.goto(`${pathToFileURL(file)}${hash}`);
  return {
    tab,
    complaints,
    text: (selector) => tab.$eval(selector, (element) => element.textContent.replace(/\s+/g, " ").trim()),
    hash: () => tab.evaluate(() => location.hash),
    until: (condition, ...args) => tab.waitForFunction(condition, { timeout: 20_000, polling: 50 }, ...args),
    overflow: () => tab.evaluate(() => document.documentElement.scrollWidth - innerWidth),
    async close() {
      await tab.close();
      assert.deepEqual(complaints, []);
    },
    /** What axe finds wrong: a line for each rule. */
    async axe() {
      await tab.evaluate(readFileSync(axe, "utf8"));
      const { violations } = await tab.evaluate(() => globalThis.axe.run());
      return violations.map((rule) => `${rule.id}: ${rule.nodes.map((node) => node.target.join(" ")).slice(0, 3).join("; ")}`);
    },
  };
}
