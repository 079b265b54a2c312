// The board's matrices, from left to right, each with its gradient below.

export interface Pair { name: string; label: string; gradient: string; gradientLabel: string; columns: "key" | "channel" }

export const pairs: Pair[] = [
  { name: "x", label: "X", gradient: "d_x", gradientLabel: "dX", columns: "channel" },
  { name: "q", label: "Q = X Wqᵀ", gradient: "d_q", gradientLabel: "dQ = a dS K", columns: "channel" },
  { name: "k", label: "K = X Wkᵀ", gradient: "d_k", gradientLabel: "dK = a dSᵀ Q", columns: "channel" },
  { name: "v", label: "V = X Wvᵀ", gradient: "d_v", gradientLabel: "dV = Pᵀ dY", columns: "channel" },
  { name: "scores", label: "S = a Q Kᵀ", gradient: "d_scores", gradientLabel: "dS = P (dP − P·dP)", columns: "key" },
  { name: "weights", label: "P = softmax(S)", gradient: "d_weights", gradientLabel: "dP = dY Vᵀ", columns: "key" },
  { name: "kept", label: "P after dropout", gradient: "d_kept", gradientLabel: "dP after dropout", columns: "key" },
  { name: "y", label: "Y = P V", gradient: "d_y", gradientLabel: "dY = dOut Wo", columns: "channel" },
  { name: "out", label: "Out = Y Woᵀ", gradient: "d_out", gradientLabel: "dOut", columns: "channel" },
];

/** "dS" */
export function symbol(matrix: string): string {
  for (const pair of pairs) {
    const label = pair.name === matrix ? pair.label : pair.gradient === matrix ? pair.gradientLabel : undefined;
    if (label) return label.includes("dropout") ? label : (label.split(" ")[0] as string);
  }
  return matrix;
}

export const columnsOf = (matrix: string): "key" | "channel" =>
  pairs.find((pair) => pair.name === matrix || pair.gradient === matrix)?.columns ?? "channel";

/** "query", or what a row is in the matrices of keys and values. */
export const rowsOf = (matrix: string): string =>
  /^(d_)?[kv]$/.test(matrix) ? "key" : /^(d_)?x$/.test(matrix) ? "token" : "query";
