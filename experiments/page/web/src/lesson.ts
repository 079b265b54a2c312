// The view "The lesson": what a well-known lesson on attention says, and what its own code measures here.
import { html, nothing, type TemplateResult } from "lit-html";
import type { App, View } from "./app";
import { saves } from "./controls";
import { ask } from "./engine";
import { exact, short } from "./numbers";
import type { Claim } from "./protocol";
import { lessonRuns } from "./state";

const marks: Record<string, string> = { true: "✓ true", partly: "~ partly", wrong: "✗ wrong", extra: "+ not said" };

export class LessonView implements View {
  title = "The lesson";
  says = "Each claim with what its own code gives: look at those that are wrong, and by how much.";

  private claims: Claim[] = [];
  private seed = "";
  private asked = "";

  constructor(private readonly app: App) {}

  async update(): Promise<void> {
    const { seed } = this.app.state;
    if (this.asked === seed) return;
    this.asked = seed;
    try {
      const { claims } = await ask("lesson", seed, lessonRuns);
      if (this.asked !== seed) return;
      this.claims = claims;
      this.seed = seed;
      this.app.fail(undefined);
    } catch (error) {
      this.asked = "";
      this.app.fail(error);
    }
    this.app.redraw();
  }

  private number(claim: Claim): TemplateResult {
    const claimed = Number.isFinite(claim.claimed) ? `claimed ${short(claim.claimed)}, ` : "";
    const error = claim.error > 0 ? ` ± ${short(claim.error, 2)}` : "";
    return html`${claim.quantity}: ${claimed}measured <span title=${exact(claim.value)}>${short(claim.value)}</span>${error}, over ${claim.samples}`;
  }

  template(): TemplateResult {
    if (this.claims.length === 0) return html`<p role="status">Measuring: ${lessonRuns} runs of the lesson's code; this takes some seconds …</p>`;
    const stale = this.seed !== this.app.state.seed;
    const count = (verdict: string) => this.claims.filter((claim) => claim.verdict === verdict).length;
    return html`
      <p>${this.claims.length} claims: ${count("true")} true, ${count("partly")} partly, ${count("wrong")} wrong, ${count("extra")} besides that it does not say. Seed ${this.seed}${stale ? "; measuring another …" : ""}.
        <button @click=${() => this.app.change({ seed: String(BigInt(this.app.state.seed) + 1n) })}>another seed</button></p>
      <div class="scroll" tabindex="0" role="region" aria-label="claims"><table id="claims" class="claims">
        <thead><tr><th scope="col">the lesson says</th><th scope="col">verdict</th><th scope="col">measured here</th><th scope="col">in numbers</th></tr></thead>
        <tbody>${this.claims.map((claim) => html`<tr><th scope="row">${claim.says}</th>
          <td class="verdict ${claim.verdict === "wrong" ? "wrong" : ""}">${marks[claim.verdict] ?? claim.verdict}${claim.verdict === claim.expected ? nothing : html` (theory expects ${claim.expected})`}</td>
          <td>${claim.measured}</td><td>${this.number(claim)}</td></tr>`)}</tbody></table></div>
      ${saves(this.app, "lesson", ["claim", "says", "verdict", "quantity", "claimed", "value", "error", "samples"],
        this.claims.map((c) => [c.id, c.says, c.verdict, c.quantity, c.claimed, c.value, c.error, String(c.samples)]))}`;
  }
}
