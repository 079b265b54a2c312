// uPlot, kept in step with what is measured: a plot is made anew when its data are.
import uPlot from "uplot";
import { isDark } from "./heatmap";

export interface Line { label: string; values: (number | null)[]; kind: "unscaled" | "scaled" | "theory" | "bars" }
export interface Plot { x: number[]; lines: Line[]; xLabel: string; logX: boolean; logY: boolean }

const plots = new WeakMap<Element, { key: string; plot: uPlot }>();

const ink = () => (isDark() ? "#b4b8be" : "#55585c");
const strokes = (): Record<Line["kind"], string> => isDark()
  ? { unscaled: "#ffa050", scaled: "#6eafff", theory: "#c8c8c8", bars: "#6eafff" }
  : { unscaled: "#be500a", scaled: "#08519c", theory: "#555", bars: "#08519c" };

/** Of the ticks of a logarithmic axis, the powers of ten. */
const decades = (_: uPlot, ticks: number[]) => ticks.map((t) => (Math.abs(Math.log10(t) - Math.round(Math.log10(t))) < 1e-6 ? t : null));

function series(line: Line): uPlot.Series {
  const stroke = strokes()[line.kind];
  const base: uPlot.Series = { label: line.label, stroke, value: (_, value) => (value === null ? "–" : value.toPrecision(3)) };
  switch (line.kind) {
    case "theory": return { ...base, width: 1.5, dash: [2, 4], points: { show: false } };
    case "bars": return { ...base, fill: `${stroke}66`, ...(uPlot.paths.bars ? { paths: uPlot.paths.bars({ size: [1, 100], align: 0 }) } : {}), points: { show: false } };
    case "unscaled": return { ...base, width: 2, dash: [8, 4], points: { show: true, size: 7 } };
    case "scaled": return { ...base, width: 2, points: { show: true, size: 5 } };
  }
}

export function show(element: HTMLElement, data: Plot): void {
  const width = Math.max(element.clientWidth, 200);
  const key = JSON.stringify([data, width, isDark()]);
  const old = plots.get(element);
  if (old?.key === key) return;
  old?.plot.destroy();
  const axis = { stroke: ink(), grid: { stroke: isDark() ? "#3c4046" : "#e2e2dc", width: 1 } };
  const positive = (values: (number | null)[]) => values.map((v) => (v === null || !Number.isFinite(v) || (data.logY && v <= 0) ? null : v));
  const plot = new uPlot({
    width, height: 220, cursor: { drag: { x: false, y: false } },
    scales: { x: { time: false, distr: data.logX ? 3 : 1, ...(data.logX ? { log: 2 as const } : {}) }, y: { distr: data.logY ? 3 : 1 } },
    axes: [{ ...axis, label: data.xLabel, labelSize: 18, size: 34 }, { ...axis, size: 58, ...(data.logY ? { filter: decades, values: (_, ticks) => ticks.map((t) => (t === null ? "" : t.toExponential(0))) } : {}) }],
    series: [{ label: data.xLabel }, ...data.lines.map(series)],
  }, [data.x, ...data.lines.map((line) => positive(line.values))], element);
  plots.set(element, { key, plot });
}
