// Attention taken apart: seven stages forwards and as many backwards, each in ticks of a cell or a row.

export interface Stage {
  name: string; // for the list of stages
  says: string; // what to look for
  matrices: string[]; // that it fills in
  by: "whole" | "cell" | "row" | "softmax"; // what one tick adds
  backward: boolean;
}

export const stages: Stage[] = [
  { name: "Q, K, V", says: "Three projections of X: what each token asks for, what it offers, and what it hands over.", matrices: ["q", "k", "v"], by: "whole", backward: false },
  { name: "S = a Q Kᵀ", says: "Each query meets each key: a times the sum of q_c k_c over the channels.", matrices: ["scores"], by: "cell", backward: false },
  { name: "P = softmax(S)", says: "Row by row: the maximum, exponentials, their sum, quotients.", matrices: ["weights", "kept"], by: "softmax", backward: false },
  { name: "Y = P V", says: "Each row of P mixes the rows of V.", matrices: ["y"], by: "row", backward: false },
  { name: "Out = Y Woᵀ", says: "The heads side by side, mixed by the last projection.", matrices: ["out"], by: "whole", backward: false },
  { name: "dOut", says: "The way back begins with the loss's own derivative.", matrices: ["d_out"], by: "whole", backward: true },
  { name: "dY = dOut Wo", says: "Back through the last projection.", matrices: ["d_y"], by: "whole", backward: true },
  { name: "dV = Pᵀ dY", says: "A value gets gradient from every query that looked at it, by how much it looked.", matrices: ["d_v"], by: "row", backward: true },
  { name: "dP = dY Vᵀ", says: "Which weights would have lowered the loss?", matrices: ["d_kept", "d_weights"], by: "row", backward: true },
  { name: "dS = P (dP − P·dP)", says: "Softmax passes on only differences from the row's mean: where P is 0 or 1, next to nothing.", matrices: ["d_scores"], by: "row", backward: true },
  { name: "dQ = a dS K", says: "If a row of dS has faded out, its query learns nothing.", matrices: ["d_q"], by: "row", backward: true },
  { name: "dK = a dSᵀ Q", says: "Keys learn from the columns of dS.", matrices: ["d_k"], by: "row", backward: true },
  { name: "dX", says: "All three paths add up at the input.", matrices: ["d_x"], by: "whole", backward: true },
];

export const phases = ["max", "exp", "sum", "divide"] as const;

function ticksOf(stage: Stage, tokens: number): number {
  switch (stage.by) {
    case "whole": return 1;
    case "cell": return tokens * tokens;
    case "row": return tokens;
    case "softmax": return phases.length * tokens;
  }
}

export const total = (tokens: number): number => stages.reduce((sum, stage) => sum + ticksOf(stage, tokens), 0);

/** The number of ticks before a stage. */
export const before = (index: number, tokens: number): number =>
  stages.slice(0, index).reduce((sum, stage) => sum + ticksOf(stage, tokens), 0);

/** Where the stage before or after some ticks ends. */
export function boundary(ticks: number, tokens: number, forward: boolean): number {
  const ends = [...stages.keys()].map((index) => before(index, tokens)).concat(total(tokens));
  return (forward ? ends.find((end) => end > ticks) : ends.reverse().find((end) => end < ticks)) ?? ticks;
}

/** The stage that a number of ticks has come to, and how many of its own ticks are done. */
export function place(ticks: number, tokens: number): { index: number; done: number } {
  let index = 0, done = ticks;
  for (; index < stages.length - 1; ++index) {
    const all = ticksOf(stages[index] as Stage, tokens);
    if (done <= all) break;
    done -= all;
  }
  return { index, done };
}

/** Whether a number is computed after so many ticks; all are for -1. */
export function isShown(matrix: string, row: number, column: number, ticks: number, tokens: number): boolean {
  if (ticks < 0 || matrix === "x") return true;
  const at = place(ticks, tokens);
  const own = stages.findIndex((stage) => stage.matrices.includes(matrix));
  if (own !== at.index) return own < at.index;
  switch ((stages[own] as Stage).by) {
    case "whole": return at.done >= 1;
    case "cell": return row * tokens + column < at.done;
    case "row": return row < at.done;
    case "softmax": return phases.length * (row + 1) <= at.done;
  }
}

export interface Focus { matrix: string; row: number; column: number; phase?: (typeof phases)[number] }

/** The number that the last tick added; undefined for a whole matrix. */
export function focus(ticks: number, tokens: number): Focus | undefined {
  const { index, done } = place(ticks, tokens);
  const stage = stages[index] as Stage, last = done - 1, matrix = stage.matrices[stage.matrices.length - 1] as string;
  if (ticks < 0 || last < 0) return undefined;
  switch (stage.by) {
    case "whole": return undefined;
    case "cell": return { matrix, row: Math.floor(last / tokens), column: last % tokens };
    case "row": return { matrix, row: last, column: 0 };
    case "softmax": {
      const phase = phases[last % phases.length];
      return { matrix: "weights", row: Math.floor(last / phases.length), column: 0, ...(phase ? { phase } : {}) };
    }
  }
}
