// What the views share: the state, and how they ask for another.
import type { TemplateResult } from "lit-html";
import type { State } from "./state";

export interface App {
  readonly state: State;
  /** A change of the state; `replace` leaves no trace in the history. */
  change(patch: Partial<State>, how?: "replace"): void;
  redraw(): void;
  say(text: string): void; // to a screen reader
  fail(error: unknown): void;
}

export interface View {
  title: string;
  says: string; // what to look for
  update(): Promise<void>; // after a change of the state
  template(): TemplateResult;
  drawn?(root: HTMLElement): void; // after each render
  key?(event: KeyboardEvent): boolean; // whether it was used
}

/** The latest call wins: an answer to an older one is dropped. */
export function latest<T>(take: (value: T) => void, fail: (error: unknown) => void): (answer: Promise<T>) => Promise<void> {
  let newest = 0;
  return async (answer) => {
    const mine = ++newest;
    try {
      const value = await answer;
      if (mine === newest) take(value);
    } catch (error) {
      if (mine === newest) fail(error);
    }
  };
}

export function save(name: string, text: string, type: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export const reducedMotion = (): boolean => matchMedia("(prefers-reduced-motion: reduce)").matches;
