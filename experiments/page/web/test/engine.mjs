// The engine under node, the terminal's program, and the page's own modules.
import { buildSync } from "esbuild";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const web = dirname(dirname(fileURLToPath(import.meta.url)));
const root = join(web, "../../..");
const built = process.env.GRADLAB_PAGE ?? join(root, "build/page");
export const page = join(built, "playground.html");
const program = process.env.GRADLAB ?? join(root, "build/release/gradlab");

/** Why the tests cannot run, or false. */
export const missing = !existsSync(page) ? `${page} is not built: ./bootstrap.sh page` : false;
export const missingProgram = missing || (!existsSync(program) ? `${program} is not built: ./bootstrap.sh run` : false);

export async function engine() {
  const create = createRequire(import.meta.url)(join(built, "gradlab_page.js"));
  const made = await create({ wasmBinary: readFileSync(join(built, "gradlab_page.wasm")) });
  const ask = (name, ...args) => {
    const result = made[name](...args);
    if (result.error !== undefined) throw new Error(result.error);
    return result;
  };
  ask.bytes = () => made.HEAP8.length;
  return ask;
}

/** What a command that begins with "gradlab" prints as JSON. */
export function terminal(command) {
  const line = `'${program}' ${command.replace(/^gradlab /, "")} --format json`;
  return JSON.parse(execFileSync("bash", ["-c", line], { maxBuffer: 1 << 28, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }));
}

/** A module of src/. */
export async function source(name) {
  const { outputFiles } = buildSync({ entryPoints: [join(web, "src", name)], bundle: true, write: false, format: "esm", target: "es2022" });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);
}
