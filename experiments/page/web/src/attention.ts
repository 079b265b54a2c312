// The view "Attention": one layer forwards and backwards, every number of it.
import { html, nothing, type TemplateResult } from "lit-html";
import { latest, reducedMotion, type App, type View } from "./app";
import { pairs, symbol, columnsOf, rowsOf, type Pair } from "./attention_names";
import { attentionControls } from "./attention_controls";
import { explanationPanel, rowPanel, rowsPanel, tableDialog, stepPanel, type RowDetail } from "./attention_panels";
import { ask } from "./engine";
import { cellAt, draw, moved } from "./heatmap";
import { short } from "./numbers";
import type { Attention, Explanation, SoftmaxSteps } from "./protocol";
import { attentionRequest, otherScale, words, type State } from "./state";
import { before, boundary, focus, isShown, place, stages, total, type Focus } from "./steps";

export interface Cell { slot: number; matrix: string; row: number; column: number }

const shownTerms = 8;
const compared = ["scores", "weights"]; // the pairs that two runs show beside each other

export class AttentionView implements View {
  title = "Attention";
  says = "Look at a row of S and P, and at the same row of dS: where P is nearly 0 or 1, dS fades out, and the query learns nothing.";

  runs: Attention[] = []; // one, or two to compare
  tokens: string[] = [];
  cell: Cell | undefined; // under the pointer or the cursor
  explanation: Explanation | undefined;
  detail: RowDetail | undefined;
  narrated: { focus: Focus; explanation: Explanation; softmax: SoftmaxSteps } | undefined;
  table: string | undefined; // the matrix that is shown as a table
  playing = false;
  speed = 4; // ticks a second
  busy = false;

  private request = ""; // that the runs answer
  private timer = 0;
  private takeRuns = latest<Attention[]>((runs) => this.take(runs), (error) => this.refuse(error));
  private takeExplanation = latest<Explanation>((e) => { this.explanation = e; this.app.redraw(); }, (error) => this.app.fail(error));
  private takeDetail = latest<RowDetail>((detail) => { this.detail = detail; this.app.redraw(); }, (error) => this.app.fail(error));
  private takeNarration = latest<NonNullable<AttentionView["narrated"]>>((n) => this.narrate(n), (error) => this.app.fail(error));

  constructor(readonly app: App) {}

  get state(): State { return this.app.state; }
  get head(): number { return Math.min(this.state.head, (this.runs[0]?.heads ?? 1) - 1); }
  get row(): number { return Math.min(this.state.row, this.tokens.length - 1); }

  async update(): Promise<void> {
    const scales = this.state.compare ? [this.state.scale, otherScale(this.state.scale)] : [this.state.scale];
    const requests = scales.map((scale) => attentionRequest(this.state, scale));
    const key = JSON.stringify(requests);
    if (key !== this.request) {
      this.request = key;
      this.busy = true;
      this.app.redraw();
      await this.takeRuns(Promise.all(requests.map((request, slot) => ask("attention", slot, request))));
      return;
    }
    this.refresh();
  }

  private take(runs: Attention[]): void {
    this.busy = false;
    this.runs = runs;
    const own = words(this.state);
    this.tokens = Array.from({ length: runs[0]?.tokens ?? 0 }, (_, i) => own[i] ?? `t${i}`);
    this.app.fail(undefined);
    this.refresh();
  }

  private refuse(error: unknown): void {
    this.busy = false;
    this.request = "";
    this.app.fail(error); // what was shown before stays
  }

  /** What belongs to the row, the cell and the step that are chosen. */
  private refresh(): void {
    if (this.runs.length === 0) return;
    const chosen = this.state.cell.match(/^(\w+)\.(\d+)\.(\d+)$/);
    const matrix = chosen?.[1] && this.runs[0]?.matrices[chosen[1]];
    this.cell = undefined;
    this.explanation = undefined;
    if (chosen && matrix && Number(chosen[2]) < matrix.rows && Number(chosen[3]) < matrix.columns)
      this.point({ slot: 0, matrix: chosen[1] as string, row: Number(chosen[2]), column: Number(chosen[3]) });
    if (this.row >= 0) void this.takeDetail(this.rowDetail());
    this.askNarration();
    this.app.redraw();
  }

  private async rowDetail(): Promise<RowDetail> {
    const head = this.head, row = this.row;
    const keys = await Promise.all(this.tokens.map((_, key) => ask("explain", 0, "scores", head, row, key, 3)));
    return { head, row, keys };
  }

  private askNarration(): void {
    const at = focus(this.state.step, this.tokens.length);
    if (!at) {
      this.narrated = undefined;
      return;
    }
    const answers = Promise.all([
      ask("explain", 0, at.matrix, this.head, at.row, at.column, 4), ask("softmaxSteps", 0, this.head, at.row)]);
    void this.takeNarration(answers.then(([explanation, softmax]) => ({ focus: at, explanation, softmax })));
  }

  private narrate(narrated: NonNullable<AttentionView["narrated"]>): void {
    this.narrated = narrated;
    this.app.redraw();
  }

  /** Explains a cell. */
  point(cell: Cell): void {
    this.cell = cell;
    const ticks = this.state.step;
    if (!isShown(cell.matrix, cell.row, cell.column, ticks, this.tokens.length)) this.explanation = undefined;
    else void this.takeExplanation(ask("explain", cell.slot, cell.matrix, this.head, cell.row, cell.column, shownTerms));
    this.app.redraw();
  }

  /** "dS, query 1, key 4: -0.069" */
  inWords(cell: Cell): string {
    const value = this.value(cell);
    return `${symbol(cell.matrix)}, ${rowsOf(cell.matrix)} ${cell.row}, ${columnsOf(cell.matrix)} ${cell.column}: ${short(value)}`;
  }

  value({ slot, matrix, row, column }: Cell): number {
    const m = this.runs[slot]?.matrices[matrix];
    if (!m) return NaN;
    return m.values[((m.hasHeads ? this.head : 0) * m.rows + row) * m.columns + column] ?? NaN;
  }

  // --- steps

  get ticks(): number { return this.state.step < 0 ? total(this.tokens.length) : Math.min(this.state.step, total(this.tokens.length)); }

  goTo(ticks: number): void {
    const all = total(this.tokens.length), next = Math.min(Math.max(ticks, 0), all);
    this.app.change({ step: next >= all ? -1 : next }, "replace");
  }

  goToStage(index: number): void { this.goTo(before(index + 1, this.tokens.length)); }

  play(on: boolean): void {
    clearInterval(this.timer);
    this.playing = on;
    if (on) {
      if (this.state.step < 0) this.goTo(0);
      const every = reducedMotion() ? 1000 : Math.max(1000 / this.speed, 16);
      this.timer = window.setInterval(() => this.tick(), every);
    }
    this.app.redraw();
  }

  private tick(): void {
    if (document.hidden) return;
    if (reducedMotion()) this.goTo(boundary(this.ticks, this.tokens.length, true));
    else this.goTo(this.ticks + Math.max(1, Math.round(this.speed / 60)));
    if (this.state.step < 0) this.play(false);
  }

  key(event: KeyboardEvent): boolean {
    if (event.key === " " || event.key === "p") this.play(!this.playing);
    else if (event.key === "." || event.key === "n") this.goTo(this.ticks + 1);
    else if (event.key === "," || event.key === "b") this.goTo(this.ticks - 1);
    else if (event.key === "]") this.goTo(boundary(this.ticks, this.tokens.length, true));
    else if (event.key === "[") this.goTo(boundary(this.ticks, this.tokens.length, false));
    else if (event.key === "0") this.goTo(total(this.tokens.length));
    else return false;
    return true;
  }

  // --- the board

  private onPointer(event: PointerEvent, slot: number, matrix: string, rows: number, columns: number): void {
    const at = cellAt(event.currentTarget as HTMLCanvasElement, event, rows, columns);
    const now = this.cell;
    if (now && now.slot === slot && now.matrix === matrix && now.row === at.row && now.column === at.column) return;
    this.point({ slot, matrix, ...at });
  }

  private onClick(event: MouseEvent, slot: number, matrix: string, rows: number, columns: number): void {
    const at = cellAt(event.currentTarget as HTMLCanvasElement, event, rows, columns);
    if (slot === 0) this.app.change({ row: at.row, cell: `${matrix}.${at.row}.${at.column}` }, "replace");
    else this.app.change({ row: at.row }, "replace");
  }

  private onKey(event: KeyboardEvent, slot: number, matrix: string, rows: number, columns: number): void {
    const at = this.cell?.matrix === matrix && this.cell.slot === slot ? this.cell : { row: 0, column: 0 };
    const next = moved(event.key, event.ctrlKey, at, rows, columns);
    if (next) this.point({ slot, matrix, ...next });
    else if (event.key === "Enter") this.app.change({ row: at.row, ...(slot === 0 ? { cell: `${matrix}.${at.row}.${at.column}` } : {}) }, "replace");
    else return;
    event.preventDefault();
    event.stopPropagation();
    if (next) this.app.say(this.inWords({ slot, matrix, ...next }));
  }

  private map(slot: number, matrix: string, label: string): TemplateResult | typeof nothing {
    const m = this.runs[slot]?.matrices[matrix];
    if (!m) return nothing;
    const { rows, columns } = m;
    return html`<figure>
      <figcaption>${label}
        <button class="quiet" title="as a table" aria-label=${`${symbol(matrix)} as a table`} @click=${() => { this.table = `${slot}.${matrix}`; this.app.redraw(); }}>▤</button></figcaption>
      <div class="map" tabindex="0" role="group" aria-roledescription="heat map"
        aria-label=${`${label}: ${rows} by ${columns}; arrow keys read the cells out`} data-map=${`${slot}.${matrix}`}
        @keydown=${(event: KeyboardEvent) => this.onKey(event, slot, matrix, rows, columns)}
        @focus=${() => { if (this.cell?.matrix !== matrix || this.cell.slot !== slot) this.point({ slot, matrix, row: Math.max(Math.min(this.row, rows - 1), 0), column: 0 }); }}>
        <canvas aria-hidden="true" data-slot=${slot} data-matrix=${matrix}
          @pointermove=${(event: PointerEvent) => this.onPointer(event, slot, matrix, rows, columns)}
          @click=${(event: MouseEvent) => this.onClick(event, slot, matrix, rows, columns)}></canvas>
      </div></figure>`;
  }

  private pair(slot: number, pair: Pair): TemplateResult {
    const tag = this.runs.length > 1 ? `, scale ${slot === 0 ? this.state.scale : otherScale(this.state.scale)}` : "";
    return html`<div class="pair">${this.map(slot, pair.name, pair.label + tag)}${this.map(slot, pair.gradient, pair.gradientLabel + tag)}</div>`;
  }

  template(): TemplateResult {
    const own = pairs.filter((pair) => pair.name !== "kept" || this.state.dropout > 0);
    const beside = pairs.filter((pair) => compared.includes(pair.name));
    const board = this.runs.length > 1
      ? html`${beside.map((pair) => html`<div class="beside">${this.pair(0, pair)}${this.pair(1, pair)}</div>`)}${own.filter((pair) => !compared.includes(pair.name)).map((pair) => this.pair(0, pair))}`
      : own.map((pair) => this.pair(0, pair));
    return html`
      ${attentionControls(this)}
      ${stepPanel(this)}
      <div class="columns">
        <section class="board ${this.busy ? "stale" : ""}" aria-label="The matrices, and under each its gradient">${board}</section>
        <div class="panels">${explanationPanel(this)}${rowPanel(this)}${rowsPanel(this)}</div>
      </div>
      ${tableDialog(this)}`;
  }

  private cellSize(columns: number, tokens: number): { width: number; height: number } {
    const across = this.runs.length > 1 ? 2 : 1;
    const room = Math.min((innerWidth - 56) / across, innerWidth > 1500 ? 260 : 220);
    const height = Math.max(Math.min(22, Math.floor(room / Math.max(tokens, 8))), 5);
    return { width: Math.max(Math.min(height, Math.floor(room / columns)), 1), height };
  }

  /** Of all runs, so that one colour means one number in both. */
  private largest(matrix: string): number {
    let most = 0;
    for (const run of this.runs) for (const value of run.matrices[matrix]?.values ?? []) if (Math.abs(value) > most) most = Math.abs(value);
    return most;
  }

  drawn(root: HTMLElement): void {
    const tokens = this.tokens.length, ticks = this.state.step;
    for (const canvas of root.querySelectorAll<HTMLCanvasElement>("canvas[data-matrix]")) {
      const slot = Number(canvas.dataset["slot"]), name = canvas.dataset["matrix"] as string;
      const m = this.runs[slot]?.matrices[name];
      if (!m) continue;
      const each = m.rows * m.columns, head = m.hasHeads ? this.head : 0;
      const masked = this.state.causal && m.columns === tokens && columnsOf(name) === "key";
      const here = this.cell?.slot === slot && this.cell.matrix === name;
      draw(canvas, {
        values: m.values.subarray(head * each, (head + 1) * each), rows: m.rows, columns: m.columns,
        cell: this.cellSize(m.columns, tokens), largest: this.largest(name), signed: name !== "weights" && name !== "kept",
        marked: rowsOf(name) === "key" ? -1 : this.row, cursor: here ? this.cell : undefined,
        shown: (i, j) => isShown(name, i, j, ticks, tokens), hidden: masked ? (i, j) => j > i : undefined,
      });
    }
    const dialog = root.querySelector<HTMLDialogElement>("dialog");
    if (dialog && this.table && !dialog.open) dialog.showModal();
  }

  stageNow(): { index: number; says: string } {
    const { index } = place(this.ticks, this.tokens.length);
    return { index, says: stages[index]?.says ?? "" };
  }
}
