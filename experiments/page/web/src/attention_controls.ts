import { html, nothing, type TemplateResult } from "lit-html";
import type { AttentionView } from "./attention";
import { choice, slider, text, toggle, whole } from "./controls";
import { short } from "./numbers";
import { inits, maxTokens, words, type State } from "./state";

function divisors(n: number): number[] {
  return Array.from({ length: n }, (_, i) => i + 1).filter((d) => n % d === 0 && d <= 64);
}

function setText(view: AttentionView, value: string): void {
  const count = words({ ...view.state, text: value }).length;
  if (count > maxTokens) view.app.fail(new Error(`the text has ${count} words; this page shows at most ${maxTokens}`));
  else view.app.change({ text: value.trim(), row: 0, cell: "", step: -1 });
}

function scale(view: AttentionView, change: (patch: Partial<State>) => void): TemplateResult {
  const { scale } = view.state, named = ["none", "sqrt_dk", "dk"].includes(scale);
  const factor = view.runs[0]?.factor ?? 1;
  const exponent = named ? Math.log10(factor) : Math.log10(Number(scale));
  return html`
    ${choice("Scale of the scores", named ? scale : "number",
      [["none", "none: 1"], ["sqrt_dk", "sqrt_dk: 1 / √d_k"], ["dk", "dk: 1 / d_k"], ["number", "a number"]],
      (value) => change({ scale: value === "number" ? String(Number(factor.toPrecision(2))) : value }))}
    ${named ? nothing : slider("a =", Math.min(Math.max(exponent, -2), 1), -2, 1, 0.05, scale,
      (value) => change({ scale: String(Number((10 ** value).toPrecision(2))) }))}`;
}

function loss(view: AttentionView, change: (patch: Partial<State>) => void): TemplateResult {
  const [kind = "random", at = "0"] = view.state.loss.split(":");
  const last = kind === "row" ? view.tokens.length - 1 : view.state.C - 1;
  return html`
    ${choice("Loss", kind, [["random", "random dOut"], ["row", "one position"], ["class", "a class (cross-entropy)"]],
      (value) => change({ loss: value === "random" ? value : `${value}:0` }))}
    ${kind === "random" ? nothing : whole(kind === "row" ? "Position" : "Class", Number(at), 0, Math.max(last, 0), (value) => change({ loss: `${kind}:${value}` }))}`;
}

export function attentionControls(view: AttentionView): TemplateResult {
  const { state } = view;
  const change = (patch: Partial<State>) => view.app.change(patch);
  const heads = divisors(state.C);
  return html`<form class="controls" aria-label="What is computed" @submit=${(event: Event) => event.preventDefault()}>
    ${text("Your own words", state.text, "random tokens; or: the cat sat on the mat", (value) => setText(view, value), true)}
    ${state.text === "" ? whole("Tokens T", state.T, 1, maxTokens, (T) => change({ T, row: 0, cell: "", step: -1, loss: state.loss.startsWith("row") ? "row:0" : state.loss })) : nothing}
    ${whole("Channels C", state.C, 1, 256, (C) => change({ C, cell: "", H: C % state.H === 0 ? state.H : 1, loss: state.loss.startsWith("class") ? "class:0" : state.loss, head: 0 }))}
    ${choice("Heads H", String(state.H), heads.map(String), (value) => change({ H: Number(value), head: 0, cell: "" }))}
    ${choice("Head shown", String(view.head), Array.from({ length: state.H }, (_, h) => String(h)), (value) => change({ head: Number(value) }))}
    ${scale(view, change)}
    ${choice("Weights drawn", state.init, inits, (init) => change({ init }))}
    ${loss(view, change)}
    ${slider("Dropout", state.dropout, 0, 0.9, 0.1, short(state.dropout, 1), (dropout) => change({ dropout }))}
    ${text("Seed", state.seed, "0", (seed) => /^\d{1,20}$/.test(seed) ? change({ seed }) : view.app.fail(new Error(`seed: expected a whole number, got '${seed}'`)))}
    ${choice("Numbers", state.dtype, ["f64", "f32"], (dtype) => change({ dtype }))}
    ${toggle("causal", state.causal, (causal) => change({ causal }))}
    ${toggle("with and without the scale, side by side", state.compare, (compare) => change({ compare }))}
    <p class="size">d_k = ${state.C / state.H}, a = ${short(view.runs[0]?.factor ?? 1)}</p>
  </form>`;
}
