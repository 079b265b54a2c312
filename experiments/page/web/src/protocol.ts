// What the engine answers, as bindings.cpp makes it; and what passes between page and worker.

export interface AttentionRequest {
  words: string[]; // the tokens; if empty, seqLen random ones
  seqLen: number;
  nEmbd: number;
  nHead: number;
  init: string;
  scale: string;
  loss: string;
  seed: string;
  causal: boolean;
  dropout: number;
  dtype: string;
}

export interface Matrix {
  hasHeads: boolean;
  rows: number;
  columns: number;
  values: Float64Array;
}

export interface RowFacts {
  entropy: number;
  entropyNorm: number;
  pMax: number;
  jacobian: number;
  gain: number;
  dScores: number;
  dWeights: number;
}

export interface Check {
  name: string;
  kind: string;
  measured: number;
  predicted: number;
  tolerance: number;
  ok: boolean;
}

export interface Attention {
  heads: number;
  tokens: number;
  headSize: number;
  factor: number;
  matrices: Record<string, Matrix>;
  rows: RowFacts[];
  checks: Check[];
}

export interface Explanation {
  formula: string;
  value: number;
  factor: number;
  sum: number;
  others: number;
  rest: number;
  terms: { label: string; left: number; right: number; product: number }[];
}

export interface SoftmaxSteps {
  max: number;
  sum: number;
  exps: Float64Array;
}

export interface ArgumentRequest {
  dK: number;
  seqLen: number;
  rows: number;
  sizes: number;
  seed: string;
  init: string;
}

export interface Summary {
  mean: number;
  median: number;
  p95: number;
  rms: number;
}

export interface Measured {
  dK: number;
  scale: string;
  rows: number;
  sigma: number;
  scoreStd: number;
  entropyNorm: number;
  deadRows: number;
  entropy: Summary;
  pMax: Summary;
  jacobian: Summary;
  gain: Summary;
  dS: Summary;
  dQ: Summary;
  entropySmall: number;
  entropyLarge: number;
  jacobianSmall: number;
  jacobianLarge: number;
  medianLarge: number;
  checks: Check[];
}

export interface Scores {
  sigma: number;
  values: Float64Array;
  firstWeights: Float64Array;
}

export interface Claim {
  id: string;
  says: string;
  measured: string;
  quantity: string;
  claimed: number;
  value: number;
  error: number;
  samples: number;
  verdict: string;
  expected: string;
}

/** The engine's functions: their arguments and answers. */
export interface Calls {
  attention: [[slot: number, request: AttentionRequest], Attention];
  explain: [[slot: number, matrix: string, head: number, row: number, column: number, shown: number], Explanation];
  softmaxSteps: [[slot: number, head: number, row: number], SoftmaxSteps];
  argument: [[request: ArgumentRequest], { cells: Measured[] }];
  scores: [[request: ArgumentRequest, scale: string, trials: number], Scores];
  lesson: [[seed: string, runs: number], { claims: Claim[] }];
}

export type Name = keyof Calls;
export type Question = { id: number; name: Name; args: unknown[] };
export type Answer = { id: number; result?: unknown; error?: string };
