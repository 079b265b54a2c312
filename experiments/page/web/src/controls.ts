// Labelled fields. A change is reported when it is made, not at every key.
import { html, type TemplateResult } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { save, type App } from "./app";
import { exact } from "./numbers";

const valueOf = (event: Event) => (event.target as HTMLInputElement).value;

/** Rows of numbers and words, to copy and to save with all digits. */
export function saves(app: App, name: string, columns: string[], rows: (string | number)[][]): TemplateResult {
  const cell = (value: string | number) => typeof value === "number" ? exact(value) : /[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  const csv = () => [columns, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
  const json = () => `${JSON.stringify(rows.map((row) => Object.fromEntries(columns.map((column, i) => [column, row[i]]))), null, 1)}\n`;
  const copy = () => void navigator.clipboard.writeText(csv()).then(() => app.say("copied"), (error) => app.fail(error));
  return html`<div class="buttons">
    <button @click=${copy}>copy as csv</button>
    <button @click=${() => save(`${name}.csv`, csv(), "text/csv")}>save csv</button>
    <button @click=${() => save(`${name}.json`, json(), "application/json")}>save json</button></div>`;
}

export const choice = (label: string, value: string, options: readonly (string | [string, string])[], change: (value: string) => void): TemplateResult => html`
  <label>${label}
    <select .value=${live(value)} @change=${(event: Event) => change(valueOf(event))}>
      ${options.map((option) => {
        const [key, text] = typeof option === "string" ? [option, option] : option;
        return html`<option value=${key} ?selected=${key === value}>${text}</option>`;
      })}
    </select></label>`;

export const whole = (label: string, value: number, min: number, max: number, change: (value: number) => void): TemplateResult => html`
  <label>${label}
    <input type="number" inputmode="numeric" min=${min} max=${max} step="1" .value=${live(String(value))}
      @change=${(event: Event) => {
        const input = event.target as HTMLInputElement, next = Math.round(Number(input.value));
        if (input.value !== "" && Number.isFinite(next)) change(Math.min(Math.max(next, min), max));
        else input.value = String(value);
      }}></label>`;

export const text = (label: string, value: string, hint: string, change: (value: string) => void, wide = false): TemplateResult => html`
  <label class=${wide ? "wide" : ""}>${label}
    <input type="text" spellcheck="false" placeholder=${hint} .value=${live(value)} @change=${(event: Event) => change(valueOf(event))}></label>`;

export const slider = (label: string, value: number, min: number, max: number, step: number, shown: string, change: (value: number) => void): TemplateResult => html`
  <label>${label} <output>${shown}</output>
    <input type="range" min=${min} max=${max} step=${step} .value=${live(String(value))} aria-valuetext=${shown}
      @input=${(event: Event) => change(Number(valueOf(event)))}></label>`;

export const toggle = (label: string, value: boolean, change: (value: boolean) => void): TemplateResult => html`
  <label class="toggle"><input type="checkbox" .checked=${live(value)}
    @change=${(event: Event) => change((event.target as HTMLInputElement).checked)}>${label}</label>`;
