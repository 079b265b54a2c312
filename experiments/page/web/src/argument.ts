// The view "The argument": what dividing by the root of d_k does, measured here, with theory beside it.
import { html, nothing, type TemplateResult } from "lit-html";
import type { App, View } from "./app";
import { choice, saves, slider, text } from "./controls";
import { ask } from "./engine";
import { short } from "./numbers";
import { show, type Line, type Plot } from "./plot";
import type { ArgumentRequest, Measured, Scores } from "./protocol";
import { argumentRequest, inits, maxTokens, type State } from "./state";

type Pair = [unscaled: Measured, scaled: Measured];

const sweepSizes = Array.from({ length: 11 }, (_, i) => 2 ** i);
const sweepRows = 1000;
const mapTokens = [2, 4, 8, 16, 32];
const mapSizes = Array.from({ length: 9 }, (_, i) => 2 ** (i + 2));
const mapRows = 320;
const trials = 64; // that the histogram has

async function measure(request: ArgumentRequest): Promise<Pair> {
  const { cells } = await ask("argument", request);
  return [cells[0] as Measured, cells[1] as Measured];
}

export class ArgumentView implements View {
  title = "The argument";
  says = "Move d_k up: without the scale the scores spread out, one key takes the whole row, and the gain falls by orders of magnitude; with it, nothing moves.";

  private now: { pair: Pair; scores: [Scores, Scores] } | undefined;
  private sweep = new Map<number, Pair>(); // by d_k
  private map = new Map<string, Pair>(); // by "T d_k"
  private keys = { now: "", sweep: "", map: "" }; // what the numbers above belong to
  private working = false;

  constructor(private readonly app: App) {}

  async update(): Promise<void> {
    if (this.working) return; // it looks at the state again after each measurement
    this.working = true;
    try {
      while (this.app.state.view === "argument" && (await this.step())) this.app.redraw();
      if (this.app.state.view === "argument") this.app.fail(undefined);
    } catch (error) {
      this.app.fail(error);
    }
    this.working = false;
    this.app.redraw();
  }

  /** The next measurement that is missing; false if none is. */
  private async step(): Promise<boolean> {
    const request = argumentRequest(this.app.state), { seqLen, seed, init } = request;
    const key = JSON.stringify(request), sweepKey = JSON.stringify({ seqLen, seed, init }), mapKey = JSON.stringify({ seed, init });
    if (this.keys.now !== key) {
      const pair = await measure(request);
      this.now = { pair, scores: [await ask("scores", request, "none", trials), await ask("scores", request, "sqrt_dk", trials)] };
      this.keys.now = key;
      return true;
    }
    if (this.keys.sweep !== sweepKey) this.sweep.clear();
    if (this.keys.map !== mapKey) this.map.clear();
    this.keys = { now: key, sweep: sweepKey, map: mapKey };
    const dK = sweepSizes.find((size) => !this.sweep.has(size));
    if (dK !== undefined) {
      const pair = await measure({ ...request, dK, rows: sweepRows, sizes: sweepSizes.length });
      if (this.keys.sweep === sweepKey) this.sweep.set(dK, pair);
      return true;
    }
    for (const tokens of mapTokens)
      for (const size of mapSizes)
        if (!this.map.has(`${tokens} ${size}`)) {
          this.map.set(`${tokens} ${size}`, await measure({ ...request, dK: size, seqLen: tokens, rows: mapRows, sizes: 1 }));
          return true;
        }
    return false;
  }

  // --- plots

  private histogram(scores: Scores): Plot {
    const bins = 31, high = Math.max(...scores.values.map(Math.abs)) || 1, width = (2 * high) / bins;
    const x = Array.from({ length: bins }, (_, i) => -high + (i + 0.5) * width);
    const counts = new Array<number>(bins).fill(0);
    for (const s of scores.values) {
      const bin = Math.min(Math.floor((s + high) / width), bins - 1);
      counts[bin] = (counts[bin] ?? 0) + 1;
    }
    const normal = x.map((v) => Math.exp(-0.5 * (v / scores.sigma) ** 2) / (scores.sigma * Math.sqrt(2 * Math.PI)));
    return {
      x, xLabel: "score", logX: false, logY: false,
      lines: [{ label: "measured", values: counts.map((c) => c / (scores.values.length * width)), kind: "bars" },
        { label: `N(0, ${short(scores.sigma)}²)`, values: normal, kind: "theory" }],
    };
  }

  private curve(of: (m: Measured) => number, logY: boolean, theory: [string, (m: Measured) => number, 0 | 1][] = []): Plot {
    const pairs = [...this.sweep].sort((a, b) => a[0] - b[0]).map(([, pair]) => pair);
    const lines: Line[] = [
      { label: "none", values: pairs.map(([unscaled]) => of(unscaled)), kind: "unscaled" },
      { label: "sqrt_dk", values: pairs.map(([, scaled]) => of(scaled)), kind: "scaled" },
      ...theory.map(([label, value, which]): Line => ({ label, values: pairs.map((pair) => value(pair[which])), kind: "theory" })),
    ];
    return { x: pairs.map(([unscaled]) => unscaled.dK), xLabel: "d_k", logX: true, logY, lines };
  }

  private plots(): Record<string, Plot> {
    const large = (value: (m: Measured) => number) => (m: Measured) => (m.sigma >= 4 ? value(m) : NaN);
    const curves: Record<string, Plot> = this.sweep.size < 2 ? {} : {
      gain: this.curve((m) => m.gain.median, true),
      jacobian: this.curve((m) => m.jacobian.mean, true, [["m_T / σ", large((m) => m.jacobianLarge), 0], ["√(T−1) / T", (m) => m.jacobianSmall, 1]]),
      median: this.curve((m) => m.jacobian.median, true, [["2 exp(−σ gap_T)", large((m) => m.medianLarge), 0]]),
      dead: this.curve((m) => m.deadRows, false),
      entropy: this.curve((m) => m.entropy.mean, false, [["(π²/6) m_T / σ", large((m) => m.entropyLarge), 0]]),
    };
    return { ...(this.now ? { unscaled: this.histogram(this.now.scores[0]), scaled: this.histogram(this.now.scores[1]) } : {}), ...curves };
  }

  drawn(root: HTMLElement): void {
    const plots = this.plots();
    for (const element of root.querySelectorAll<HTMLElement>("[data-plot]")) {
      const plot = plots[element.dataset["plot"] as string];
      if (plot) show(element, plot);
    }
  }

  // --- words and tables

  private plot(key: string, title: string): TemplateResult {
    return html`<section class="plot"><h2>${title}</h2><div data-plot=${key} role="img" aria-label=${`${title}; the table below has the numbers`}></div></section>`;
  }

  private row(scores: Scores, scale: string): TemplateResult {
    const most = Math.max(...scores.firstWeights) || 1;
    return html`<section class="plot"><h2>One row of P, scale ${scale}</h2><ol class="weights">${[...scores.firstWeights].map((p) => html`<li><span class="bar" style=${`width:${(160 * p) / most}px`}></span> ${short(p)}</li>`)}</ol></section>`;
  }

  private facts(): TemplateResult | typeof nothing {
    if (!this.now) return nothing;
    const lines: [string, (m: Measured) => number][] = [
      ["standard deviation of the scores", (m) => m.scoreStd], ["as theory has it", (m) => m.sigma], ["entropy / ln T, mean", (m) => m.entropyNorm],
      ["p_max, mean", (m) => m.pMax.mean], ["|J|, mean", (m) => m.jacobian.mean], ["|J|, median", (m) => m.jacobian.median], ["dead rows", (m) => m.deadRows],
      ["gain, median", (m) => m.gain.median], ["|dS|, mean", (m) => m.dS.mean], ["|dQ|, mean", (m) => m.dQ.mean], ["|dQ|, root mean square", (m) => m.dQ.rms]];
    return html`<section class="panel" id="facts"><h2>d_k = ${this.now.pair[0].dK}, ${this.now.pair[0].rows} rows</h2>
      <table><thead><tr><th scope="col">of a row</th><th scope="col">none</th><th scope="col">sqrt_dk</th></tr></thead>
      <tbody>${lines.map(([label, of]) => html`<tr><th scope="row">${label}</th>${this.now?.pair.map((m) => html`<td>${short(of(m))}</td>`)}</tr>`)}</tbody></table></section>`;
  }

  private checks(): TemplateResult | typeof nothing {
    if (!this.now) return nothing;
    return html`<section class="panel span" id="checks"><h2>Against theory</h2><div class="scroll" tabindex="0" role="region" aria-label="checks"><table>
      <thead><tr><th scope="col">relation</th><th scope="col">scale</th><th scope="col">measured</th><th scope="col">theory</th><th scope="col">may differ by</th><th scope="col">verdict</th></tr></thead>
      <tbody>${this.now.pair.map((m) => m.checks.map((check) => html`<tr><th scope="row">${check.name}</th><td>${m.scale}</td><td>${short(check.measured)}</td><td>${short(check.predicted)}</td><td>${short(check.tolerance)}</td>
        <td class="verdict ${check.ok ? "" : "wrong"}">${check.kind === "asymptote" ? "limit" : check.ok ? "holds" : "FAILS"}</td></tr>`))}</tbody></table></div></section>`;
  }

  private curveTable(): TemplateResult {
    const pairs = [...this.sweep].sort((a, b) => a[0] - b[0]);
    return html`<details><summary>The curves as a table (${this.sweep.size} of ${sweepSizes.length} sizes measured, ${sweepRows} rows each)</summary>
      <div class="scroll" tabindex="0" role="region" aria-label="the curves"><table id="curves"><thead><tr><th scope="col">d_k</th>${["gain", "|J| mean", "|J| median", "dead", "entropy"].map((name) => ["none", "sqrt_dk"].map((scale) => html`<th scope="col">${name}, ${scale}</th>`))}</tr></thead>
      <tbody>${pairs.map(([dK, pair]) => html`<tr><th scope="row">${dK}</th>${[(m: Measured) => m.gain.median, (m: Measured) => m.jacobian.mean, (m: Measured) => m.jacobian.median, (m: Measured) => m.deadRows, (m: Measured) => m.entropy.mean].map((of) => pair.map((m) => html`<td>${short(of(m))}</td>`))}</tr>`)}</tbody></table></div></details>`;
  }

  private curveSaves(): TemplateResult {
    const rows = [...this.sweep].sort((a, b) => a[0] - b[0]).flatMap(([dK, pair]) => pair.map((m) =>
      [String(dK), m.scale, m.scoreStd, m.entropy.mean, m.pMax.mean, m.jacobian.mean, m.jacobian.median, m.deadRows, m.gain.median, m.dS.mean, m.dQ.mean]));
    return saves(this.app, "argument", ["d_k", "scale", "score_std", "entropy_mean", "p_max_mean", "jacobian_mean", "jacobian_median", "dead_rows", "gain_median", "ds_mean", "dq_mean"], rows);
  }

  private mapTable(): TemplateResult {
    return html`<section class="panel"><h2>Dead rows without the scale, for T keys and d_k channels</h2>
      <p class="small">Each cell: the share of rows with |J| below 0.001, without the scale and with it. A click goes there. ${this.map.size} of ${mapTokens.length * mapSizes.length} measured.</p>
      <div class="scroll" tabindex="0" role="region" aria-label="the map"><table id="map"><thead><tr><th scope="col">T \\ d_k</th>${mapSizes.map((size) => html`<th scope="col">${size}</th>`)}</tr></thead>
      <tbody>${mapTokens.map((tokens) => html`<tr><th scope="row">${tokens}</th>${mapSizes.map((size) => {
        const pair = this.map.get(`${tokens} ${size}`), share = pair?.[0].deadRows ?? 0;
        return html`<td style=${`background:color-mix(in srgb, var(--unscaled) ${Math.round(45 * share)}%, transparent)`}>${pair ? html`<button class="quiet" @click=${() => this.app.change({ T: tokens, dk: size })} title=${`T ${tokens}, d_k ${size}: ${short(share, 2)} without, ${short(pair[1].deadRows, 2)} with the scale; go there`}>${short(share, 2)} | ${short(pair[1].deadRows, 2)}</button>` : "…"}</td>`;
      })}</tr>`)}</tbody></table></div></section>`;
  }

  template(): TemplateResult {
    const { state } = this.app, change = (patch: Partial<State>) => this.app.change(patch, "replace");
    const stale = this.keys.now !== JSON.stringify(argumentRequest(state));
    return html`
      <form class="controls" aria-label="What is measured" @submit=${(event: Event) => event.preventDefault()}>
        ${slider("Head size d_k", Math.log2(state.dk), 0, 10, 1, String(state.dk), (value) => change({ dk: 2 ** Math.round(value) }))}
        ${slider("Keys T", Math.max(state.T, 2), 2, maxTokens, 1, String(Math.max(state.T, 2)), (T) => change({ T }))}
        ${choice("Rows", String(state.rows), [...new Set(["1000", "4000", "16000", String(state.rows)])], (rows) => change({ rows: Number(rows) }))}
        ${choice("q, k, v drawn", state.init, inits, (init) => change({ init }))}
        ${text("Seed", state.seed, "0", (seed) => (/^\d{1,20}$/.test(seed) ? change({ seed }) : this.app.fail(new Error(`seed: expected a whole number, got '${seed}'`))))}
        <p class="size" id="working">${stale || this.working ? "measuring …" : "all measured"}</p>
      </form>
      <div class=${stale ? "board stale" : ""} style="display:block">
        <div class="plots">${this.plot("unscaled", "Scores, scale none")}${this.plot("scaled", "Scores, scale sqrt_dk")}${this.now ? html`${this.row(this.now.scores[0], "none")}${this.row(this.now.scores[1], "sqrt_dk")}` : nothing}</div>
        <div class="plots">${this.facts()}${this.checks()}</div>
      </div>
      <div class="plots">${this.plot("gain", "Median gain over d_k")}${this.plot("jacobian", "|J|, mean")}${this.plot("median", "|J|, median")}${this.plot("dead", "Dead rows, share")}${this.plot("entropy", "Entropy, mean, in nats")}</div>
      ${this.curveTable()}
      ${this.curveSaves()}
      ${this.mapTable()}`;
  }
}
