// The page's side of the engine: questions to the worker as promises. The worker's source and the WebAssembly come
// with the page (build.mjs), so nothing is fetched.
import type { Answer, Calls, Name } from "./protocol";

declare const GRADLAB_WORKER: string;
declare const GRADLAB_WASM: ArrayBuffer;

type Waiting = { done: (result: never) => void; fail: (error: Error) => void };

let worker: Worker | undefined;
let lastId = 0;
const waiting = new Map<number, Waiting>();

function failAll(message: string): void {
  for (const one of waiting.values()) one.fail(new Error(message));
  waiting.clear();
  worker?.terminate();
  worker = undefined; // the next question starts another
}

function start(): Worker {
  const url = URL.createObjectURL(new Blob([GRADLAB_WORKER], { type: "text/javascript" }));
  const made = new Worker(url);
  URL.revokeObjectURL(url);
  made.postMessage(GRADLAB_WASM.slice(0));
  made.onerror = (event) => failAll(`the engine stopped: ${event.message}; the next change starts it again`);
  made.onmessage = ({ data }: MessageEvent<Answer>) => {
    const one = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.error !== undefined) one?.fail(new Error(data.error));
    else one?.done(data.result as never);
  };
  return made;
}

export function ask<N extends Name>(name: N, ...args: Calls[N][0]): Promise<Calls[N][1]> {
  worker ??= start();
  const id = ++lastId;
  worker.postMessage({ id, name, args });
  return new Promise((done, fail) => waiting.set(id, { done, fail }));
}
