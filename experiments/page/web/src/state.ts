// What is shown, as the address says it after its '#': a link shows the same numbers.
import type { ArgumentRequest, AttentionRequest } from "./protocol";

export interface State {
  view: string;
  text: string; // own words; "" for random tokens
  T: number;
  C: number;
  H: number;
  init: string;
  scale: string;
  seed: string;
  causal: boolean;
  dropout: number;
  loss: string;
  dtype: string;
  compare: boolean; // beside it, the same draw under another scale
  head: number;
  row: number; // -1: none
  cell: string; // "d_scores.1.4", or ""
  step: number; // how many steps have been taken; -1: all
  dk: number;
  rows: number;
}

export const defaults: State = {
  view: "attention", text: "", T: 8, C: 64, H: 4, init: "unit", scale: "sqrt_dk", seed: "0", causal: false, dropout: 0,
  loss: "random", dtype: "f64", compare: false, head: 0, row: 0, cell: "", step: -1, dk: 64, rows: 4000,
};

export const views = ["attention", "argument", "lesson"] as const;
export const inits = ["unit", "lesson", "torch", "gpt2"] as const;
export const maxTokens = 32;
export const lessonRuns = 400;

const whole = (min: number, max: number) => (text: string): number | undefined => {
  const value = Number(text);
  return /^-?\d+$/.test(text) && value >= min && value <= max ? value : undefined;
};
const oneOf = (allowed: readonly string[]) => (text: string) => (allowed.includes(text) ? text : undefined);
const matching = (pattern: RegExp) => (text: string) => (pattern.test(text) ? text : undefined);
const flag = (text: string) => (text === "1" ? true : text === "0" ? false : undefined);

/** Each field from its text; undefined if it is none. What only the engine can judge passes. */
const readers: { [K in keyof State]: (text: string) => State[K] | undefined } = {
  view: oneOf(views),
  text: (text) => text,
  T: whole(1, maxTokens),
  C: whole(1, 256),
  H: whole(1, 64),
  init: oneOf(inits),
  scale: matching(/^\S{1,24}$/),
  seed: matching(/^\d{1,20}$/),
  causal: flag,
  dropout: (text) => (text !== "" && Number(text) >= 0 && Number(text) <= 1 ? Number(text) : undefined),
  loss: matching(/^(random|(row|class):\d{1,4})$/),
  dtype: oneOf(["f64", "f32"]),
  compare: flag,
  head: whole(0, 63),
  row: whole(-1, maxTokens - 1),
  cell: matching(/^(d_)?[a-z]+\.\d+\.\d+$/),
  step: whole(-1, 100000),
  dk: whole(1, 1024),
  rows: whole(100, 20000),
};

/** The state that a hash says, and a sentence for each field of it that says nothing. */
export function parse(hash: string): { state: State; complaints: string[] } {
  const state = { ...defaults };
  const complaints: string[] = [];
  for (const [key, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (!(key in readers)) {
      complaints.push(`The link has a field '${key}', which this page does not know.`);
      continue;
    }
    const name = key as keyof State;
    const value = readers[name](text);
    if (value !== undefined) Object.assign(state, { [name]: value });
    else complaints.push(`The link says ${name} = '${text}', which is not possible here; ${name} is ${String(defaults[name]) || "empty"}.`);
  }
  return { state, complaints };
}

/** Only what differs from the defaults. */
export function format(state: State): string {
  const fields = new URLSearchParams();
  for (const key of Object.keys(defaults) as (keyof State)[]) {
    const value = state[key];
    if (value !== defaults[key]) fields.set(key, typeof value === "boolean" ? (value ? "1" : "0") : String(value));
  }
  return fields.toString();
}

export const words = (state: State): string[] => state.text.split(/[ \t\n\v\f\r]+/).filter((word) => word !== "");

/** A word as a shell takes it. */
const quoted = (text: string) => (/^[\w.,:+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** The command that prints the same numbers. */
export function command(state: State): string {
  const seed = state.seed === defaults.seed ? [] : ["--seed", state.seed];
  if (state.view === "lesson") return ["gradlab lesson --runs", lessonRuns, ...seed].join(" ");
  const init = state.init === defaults.init ? [] : ["--init", state.init];
  if (state.view === "argument")
    return ["gradlab scaling --dk", state.dk, "--seq-len", Math.max(state.T, 2), "--rows", state.rows, ...init, ...seed].join(" ");
  const input = words(state).length > 0 ? ["--text", quoted(words(state).join(" "))] : ["--seq-len", state.T];
  const parts = ["gradlab attention", ...input, "--n-embd", state.C, "--n-head", state.H, "--scale", state.scale, ...init, ...seed];
  if (state.causal) parts.push("--causal");
  if (state.dropout > 0) parts.push("--dropout", state.dropout);
  parts.push("--backward");
  if (state.loss !== "random") parts.push("--loss", state.loss);
  if (state.dtype !== defaults.dtype) parts.push("--dtype", state.dtype);
  return parts.join(" ");
}

/** The factor that the second of two runs has. */
export const otherScale = (scale: string): string => (scale === "none" ? "sqrt_dk" : "none");

export function attentionRequest(state: State, scale: string): AttentionRequest {
  return {
    words: words(state), seqLen: state.T, nEmbd: state.C, nHead: state.H, init: state.init, scale, loss: state.loss,
    seed: state.seed, causal: state.causal, dropout: state.dropout, dtype: state.dtype,
  };
}

export function argumentRequest(state: State): ArgumentRequest {
  return { dK: state.dk, seqLen: Math.max(state.T, 2), rows: state.rows, sizes: 1, seed: state.seed, init: state.init };
}
