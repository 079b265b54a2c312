import { html, nothing, render } from "lit-html";
import type { App, View } from "./app";
import { ArgumentView } from "./argument";
import { AttentionView } from "./attention";
import { LessonView } from "./lesson";
import { command, format, parse, type State } from "./state";

const root = document.getElementById("app") as HTMLElement;
const live = document.getElementById("live") as HTMLElement;

class Page implements App {
  state: State;
  private complaints: string[];
  private error = "";
  private copied = "";
  private frame = 0;
  private readonly made = new Map<string, View>();

  constructor() {
    ({ state: this.state, complaints: this.complaints } = parse(location.hash));
    addEventListener("hashchange", () => this.fromAddress());
    addEventListener("resize", () => this.redraw());
    root.replaceChildren();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    document.addEventListener("keydown", (event) => this.onKey(event));
    void this.view.update();
    this.redraw();
  }

  private get view(): View {
    const name = this.state.view;
    let view = this.made.get(name);
    if (!view) this.made.set(name, (view = this.make(name)));
    return view;
  }

  private make(name: string): View {
    switch (name) {
      case "argument": return new ArgumentView(this);
      case "lesson": return new LessonView(this);
      default: return new AttentionView(this);
    }
  }

  change(patch: Partial<State>, how?: "replace"): void {
    this.state = { ...this.state, ...patch };
    const hash = `#${format(this.state)}`;
    if (how === "replace") history.replaceState(null, "", hash);
    else history.pushState(null, "", hash);
    this.complaints = [];
    void this.view.update();
    this.redraw();
  }

  private fromAddress(): void {
    ({ state: this.state, complaints: this.complaints } = parse(location.hash));
    void this.view.update();
    this.redraw();
  }

  redraw(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      render(this.template(), root);
      this.view.drawn?.(root);
    });
  }

  say(text: string): void { live.textContent = text; }

  fail(error: unknown): void {
    this.error = error === undefined ? "" : error instanceof Error ? error.message : String(error);
    this.redraw();
  }

  private onKey(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, select, textarea, dialog")) return;
    if (event.key === " " && target.closest("button, a, summary")) return;
    if (this.view.key?.(event)) event.preventDefault();
  }

  private async copy(text: string, what: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      this.copied = what;
    } catch {
      this.copied = "";
      this.fail(new Error("the browser does not let this page use the clipboard; select the text instead"));
    }
    this.say(`${what} copied`);
    this.redraw();
  }

  private template() {
    const line = command(this.state);
    const tabs: [string, string][] = [["attention", "Attention"], ["argument", "The argument"], ["lesson", "The lesson"]];
    return html`
      <header><h1>gradlab <span>playground</span></h1>
        <nav aria-label="Views">${tabs.map(([key, title]) => html`<a href=${`#${format({ ...this.state, view: key })}`} aria-current=${key === this.state.view ? "page" : nothing}>${title}</a>`)}</nav>
        <button @click=${() => this.copy(location.href, "link")}>${this.copied === "link" ? "copied" : "copy link"}</button></header>
      <main>
        <p class="look">${this.view.says}</p>
        ${this.complaints.map((text) => html`<p class="notice" role="status">${text}</p>`)}
        <div role="alert">${this.error ? html`<p class="error">${this.error}</p>` : nothing}</div>
        ${this.view.template()}
        <p class="command">The same numbers in the terminal: <code id="command">${line}</code>
          <button @click=${() => this.copy(line, "command")}>${this.copied === "command" ? "copied" : "copy"}</button></p>
      </main>
      <footer>${this.state.view !== "attention" ? nothing : html`Keys: arrows move in a heat map, Enter chooses a row; space plays, <kbd>.</kbd> and <kbd>,</kbd> step, <kbd>]</kbd> and <kbd>[</kbd> go by stages, <kbd>0</kbd> to the end.
        Blue is positive, orange with a minus negative; hatched is masked or not finite.`}</footer>`;
  }
}

new Page();
