// Beside the board: where a number comes from, what a row looks at, the facts of all rows, the steps, and tables.
import { html, nothing, type TemplateResult } from "lit-html";
import { columnsOf, rowsOf, symbol } from "./attention_names";
import type { AttentionView } from "./attention";
import { choice, saves, slider } from "./controls";
import { exact, short, signed } from "./numbers";
import type { Explanation, RowFacts } from "./protocol";
import { otherScale } from "./state";
import { stages, total, type Focus } from "./steps";

export interface RowDetail { head: number; row: number; keys: Explanation[] }

const others = (count: number) => (count === 1 ? "1 other" : `${count} others`);

function terms(e: Explanation): TemplateResult {
  return html`<table class="terms"><caption>${e.factor === 1 ? "The sum of" : `${short(e.factor)} times the sum of`}</caption>
    <thead><tr><th scope="col">of</th><th scope="col">left</th><th scope="col">right</th><th scope="col">product</th></tr></thead>
    <tbody>${e.terms.map((term) => html`<tr><th scope="row">${term.label}</th><td>${short(term.left)}</td><td>${short(term.right)}</td><td>${signed(term.product)}</td></tr>`)}
    ${e.others > 0 ? html`<tr><th scope="row">${others(e.others)}</th><td></td><td></td><td>${signed(e.rest)}</td></tr>` : nothing}</tbody></table>`;
}

export function explanationPanel(view: AttentionView): TemplateResult {
  const { cell, explanation: e } = view;
  if (!cell) return html`<section class="panel"><h2>Where from?</h2><p>Point at a cell, or move to it with the arrow keys: here are the numbers behind it.</p></section>`;
  return html`<section class="panel" id="explanation"><h2>${view.inWords(cell)}</h2>
    ${e ? html`<p>${e.formula}</p>${e.terms.length > 0 ? terms(e) : nothing}
      <p class="small">The engine: ${exact(e.value)}<br>added up in a plain loop: ${exact(e.sum)}</p>` : html`<p>Not computed by this step.</p>`}</section>`;
}

const factHeadings: [keyof RowFacts, string, string][] = [
  ["entropyNorm", "H / ln T", "entropy over its largest possible value: 1 looks everywhere, 0 at one key"],
  ["pMax", "p_max", "the largest weight"],
  ["jacobian", "|J|", "norm of softmax's Jacobian: how much of a gradient can come through"],
  ["gain", "gain", "|dS| over |dP − mean|: how much did"],
  ["dScores", "|dS|", "what the scores of this query learn"],
];

const factsOf = (view: AttentionView, slot: number, row: number): RowFacts | undefined =>
  view.runs[slot]?.rows[view.head * view.tokens.length + row];

export function rowPanel(view: AttentionView): TemplateResult | typeof nothing {
  const { detail, row, runs } = view, facts = factsOf(view, 0, row), weights = runs[0]?.matrices["weights"];
  if (row < 0 || !detail || detail.row !== row || !facts || !weights) return nothing;
  const weight = (key: number) => view.value({ slot: 0, matrix: "weights", row, column: key });
  const order = view.tokens.map((_, key) => key).sort((a, b) => weight(b) - weight(a));
  const most = weight(order[0] ?? 0) || 1;
  return html`<section class="panel" id="row"><h2>Where query ${row}, ${view.tokens[row]}, looks in head ${view.head}</h2>
    <p class="small">entropy ${short(facts.entropy)} nats · p_max ${short(facts.pMax)} · |J| ${short(facts.jacobian)} · gain ${short(facts.gain)}</p>
    <div class="scroll" tabindex="0" role="region" aria-label="the keys"><table><thead><tr><th scope="col">key</th><th scope="col">weight</th><th scope="col"><span class="unseen">bar</span></th><th scope="col">score</th><th scope="col">largest products a q_c k_c</th></tr></thead>
    <tbody>${order.map((key) => {
      const e = detail.keys[key];
      return html`<tr><th scope="row">${key} ${view.tokens[key]}</th><td>${short(weight(key))}</td>
        <td><span class="bar" style=${`width:${(60 * weight(key)) / most}px`}></span></td><td>${e ? short(e.value) : ""}</td>
        <td class="products">${e?.terms.map((term) => `${signed(term.product * e.factor)} ${term.label.replace("channel ", "c")} `)}${e && e.others > 0 ? `${signed(e.rest * e.factor)} from ${others(e.others)}` : ""}</td></tr>`;
    })}</tbody></table></div></section>`;
}

export function rowsPanel(view: AttentionView): TemplateResult | typeof nothing {
  if (view.runs.length === 0) return nothing;
  const other = view.runs.length > 1;
  return html`<section class="panel" id="rows"><h2>Every query of head ${view.head}</h2><div class="scroll" tabindex="0" role="region" aria-label="facts of every query"><table>
    <thead>${other ? html`<tr><td></td><th colspan=${factHeadings.length} scope="colgroup">scale ${view.state.scale}</th><th colspan=${factHeadings.length} scope="colgroup">scale ${otherScale(view.state.scale)}</th></tr>` : nothing}
      <tr><th scope="col">query</th>${view.runs.map(() => factHeadings.map(([, heading, says]) => html`<th scope="col" title=${says}>${heading}</th>`))}</tr></thead>
    <tbody>${view.tokens.map((token, row) => html`<tr class=${row === view.row ? "chosen" : ""}>
      <th scope="row"><button class="quiet" aria-pressed=${row === view.row} @click=${() => view.app.change({ row }, "replace")}>${row} ${token}</button></th>
      ${view.runs.map((_, slot) => factHeadings.map(([key]) => {
        const facts = factsOf(view, slot, row);
        return html`<td class=${key === "jacobian" && facts && facts.jacobian < 1e-3 ? "dead" : ""}>${facts ? short(facts[key]) : ""}${key === "jacobian" && facts && facts.jacobian < 1e-3 ? " dead" : ""}</td>`;
      }))}</tr>`)}</tbody></table></div>
    <details><summary>The engine's own checks (${view.runs[0]?.checks.filter((check) => check.ok).length} of ${view.runs[0]?.checks.length} hold)</summary>
      <ul>${view.runs[0]?.checks.map((check) => html`<li>${check.ok ? "holds" : "FAILS"}: ${check.name}; ${short(check.measured)}, allowed ${short(check.tolerance)}</li>`)}</ul></details></section>`;
}

/** What the last tick did, in numbers. */
function narration(view: AttentionView): TemplateResult | string {
  const { narrated } = view;
  if (!narrated) return "";
  const { focus: at, explanation: e, softmax } = narrated;
  if (at.phase) return softmaxPhase(at, softmax.max, softmax.sum, [...softmax.exps]);
  if (at.matrix === "scores")
    return html`S, query ${at.row}, key ${at.column}: ${short(e.factor)} × (${e.terms.map((term) => `${signed(term.product)} `)}${e.others > 0 ? `${signed(e.rest)} from ${others(e.others)}` : ""}) = <b>${short(e.value)}</b>`;
  return html`${symbol(at.matrix)}, ${rowsOf(at.matrix)} ${at.row}: its first number is <b>${short(e.value)}</b> = ${short(e.factor)} × (${e.terms.map((term) => `${signed(term.product)} `)}${e.others > 0 ? `${signed(e.rest)} from ${others(e.others)}` : ""})`;
}

function softmaxPhase(at: Focus, max: number, sum: number, exps: number[]): TemplateResult {
  const some = (values: number[]) => values.slice(0, 8).map((v) => short(v)).join(", ") + (values.length > 8 ? ", …" : "");
  const parts = {
    max: html`the largest score is <b>${short(max)}</b>`,
    exp: html`exp(S − max): <b>${some(exps)}</b>`,
    sum: html`they add up to <b>${short(sum)}</b>`,
    divide: html`each divided by ${short(sum)}: the row of P`,
  };
  return html`Row ${at.row}, ${at.phase}: ${parts[at.phase ?? "max"]}`;
}

export function stepPanel(view: AttentionView): TemplateResult {
  const all = total(view.tokens.length), now = view.stageNow();
  const at = view.ticks === 0 ? "nothing computed yet" : view.state.step < 0 ? "all steps done" : `step ${view.ticks} of ${all}`;
  return html`<section class="steps" aria-label="Step by step">
    <div class="buttons">
      <button aria-label="to the beginning" @click=${() => view.goTo(0)}>|◀</button>
      <button aria-label="one step back" @click=${() => view.goTo(view.ticks - 1)}>◀</button>
      <button id="play" class="primary" @click=${() => view.play(!view.playing)}>${view.playing ? "pause" : "play"}</button>
      <button aria-label="one step on" id="next" @click=${() => view.goTo(view.ticks + 1)}>▶</button>
      <button aria-label="to the end" @click=${() => view.goTo(all)}>▶|</button>
      ${choice("to", String(now.index), stages.map((stage, i): [string, string] => [String(i), `${stage.backward ? "← " : "→ "}${stage.name}`]), (value) => view.goToStage(Number(value)))}
      ${choice("speed", String(view.speed), [["1", "1 / s"], ["4", "4 / s"], ["16", "16 / s"], ["60", "60 / s"], ["240", "240 / s"]], (value) => { view.speed = Number(value); view.play(view.playing); })}
      ${slider("position", view.ticks, 0, all, 1, at, (value) => view.goTo(value))}
    </div>
    <p class="says"><b>${view.state.step < 0 ? "" : stages[now.index]?.name}</b> ${view.state.step < 0 ? "Everything is computed; play takes it apart." : now.says} <span id="narration">${narration(view)}</span></p>
  </section>`;
}

export function tableDialog(view: AttentionView): TemplateResult | typeof nothing {
  if (!view.table) return nothing;
  const [slotText = "0", matrix = "x"] = view.table.split("."), slot = Number(slotText), m = view.runs[slot]?.matrices[matrix];
  if (!m) return nothing;
  const close = () => { view.table = undefined; view.app.redraw(); };
  const rows = Array.from({ length: m.rows }, (_, i) => Array.from({ length: m.columns }, (_, j) => view.value({ slot, matrix, row: i, column: j })));
  const columns = [rowsOf(matrix), ...(rows[0]?.map((_, j) => `${columnsOf(matrix)} ${j}`) ?? [])];
  return html`<dialog aria-label=${`${symbol(matrix)} as a table`} @close=${close}>
    <div class="buttons"><button autofocus @click=${close}>close</button>
      ${saves(view.app, `${matrix}_head${view.head}`, columns, rows.map((row, i) => [String(i), ...row]))}</div>
    <div class="scroll tall" tabindex="0" role="region" aria-label="the table"><table id="table"><caption>${symbol(matrix)}${m.hasHeads ? `, head ${view.head}` : ""}</caption>
      <thead><tr><th scope="col">${rowsOf(matrix)}</th>${rows[0]?.map((_, j) => html`<th scope="col">${columnsOf(matrix)} ${j}</th>`)}</tr></thead>
      <tbody>${rows.map((row, i) => html`<tr><th scope="row">${i} ${view.tokens[i] ?? ""}</th>${row.map((value) => html`<td>${short(value)}</td>`)}</tr>`)}</tbody></table></div></dialog>`;
}
