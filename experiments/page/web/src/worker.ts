// The engine's own thread. The page first sends the WebAssembly, then one question at a time.
import type { Answer, Name, Question } from "./protocol";

type Engine = Record<Name, (...args: unknown[]) => { error?: string }>;
declare function createEngine(options: { wasmBinary: ArrayBuffer }): Promise<Engine>;
declare function postMessage(answer: Answer): void;
declare function addEventListener(type: "message", on: (event: MessageEvent) => void): void;

let engine: Promise<Engine> | undefined;

async function answer({ id, name, args }: Question): Promise<Answer> {
  try {
    if (!engine) throw new Error("the engine was asked before it was there");
    const result = (await engine)[name](...args);
    return result.error === undefined ? { id, result } : { id, error: result.error };
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : String(error) };
  }
}

addEventListener("message", async ({ data }: MessageEvent<ArrayBuffer | Question>) => {
  if (data instanceof ArrayBuffer) engine = createEngine({ wasmBinary: data });
  else postMessage(await answer(data));
});
