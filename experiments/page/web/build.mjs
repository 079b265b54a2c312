// One file from the engine, the worker, the page and the style: node build.mjs ENGINE.js ENGINE.wasm OUT.html
// The parts travel compressed, and the page inflates them itself: nothing is fetched.
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const mostBytes = 600_000;
const [engine, wasm, out] = process.argv.slice(2);
if (!out) throw new Error("usage: node build.mjs ENGINE.js ENGINE.wasm OUT.html");

async function bundle(entry) {
  const { outputFiles } = await build({
    entryPoints: [join(here, entry)], bundle: true, minify: true, write: false, format: "iife", target: "es2022",
    legalComments: "none", outdir: "unused",
  });
  return outputFiles[0].text;
}

const packed = (text) => gzipSync(text, { level: 9 }).toString("base64");
const worker = `${readFileSync(engine, "utf8")}\n${await bundle("src/worker.ts")}`;
const main = await bundle("src/main.ts");
const style = await build({ entryPoints: [join(here, "style.css")], bundle: true, minify: true, write: false });

const script = `
const inflate = (text) => new Response(new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))]).stream()
  .pipeThrough(new DecompressionStream("gzip")));
(async () => {
  const [wasm, worker, main] = await Promise.all([inflate("${packed(readFileSync(wasm))}").arrayBuffer(),
    inflate("${packed(worker)}").text(), inflate("${packed(main)}").text()]);
  new Function("GRADLAB_WASM", "GRADLAB_WORKER", main)(wasm, worker);
})().catch((error) => {
  document.querySelector("main p").textContent = "This browser cannot run the page, which needs WebAssembly with SIMD and exceptions: " + error;
});`;

const html = readFileSync(join(here, "index.html"), "utf8")
  .replace("/*STYLE*/", () => style.outputFiles[0].text)
  .replace("/*SCRIPT*/", () => script);
writeFileSync(out, html);
if (html.length > mostBytes) throw new Error(`${out} has ${html.length} bytes, more than ${mostBytes}`);
console.log(`${out}: ${html.length} bytes`);
