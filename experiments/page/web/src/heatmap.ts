// Matrices drawn on canvases. What the colours say is also said in words: a cursor reads any cell out, a minus stands
// in every negative cell that has room for it, and each map has a table.

export interface Map {
  values: ArrayLike<number>;
  rows: number;
  columns: number;
  cell: { width: number; height: number };
  largest: number; // the value of full colour
  signed: boolean;
  marked: number; // a row with a frame; -1: none
  cursor?: { row: number; column: number } | undefined;
  shown: (row: number, column: number) => boolean; // whether it is computed by now
  hidden?: ((row: number, column: number) => boolean) | undefined; // behind a mask
}

interface Palette { paper: number[]; positive: number[]; negative: number[]; ink: string; faint: string }

const light: Palette = { paper: [247, 247, 245], positive: [8, 81, 156], negative: [190, 80, 10], ink: "#111", faint: "#c9c9c4" };
const dark: Palette = { paper: [32, 34, 38], positive: [110, 175, 255], negative: [255, 160, 80], ink: "#fff", faint: "#484c52" };

export const isDark = (): boolean => matchMedia("(prefers-color-scheme: dark)").matches;

function colour(palette: Palette, value: number, largest: number): string {
  const share = Math.min(Math.abs(value) / largest, 1) || 0;
  const full = value < 0 ? palette.negative : palette.positive;
  return `rgb(${palette.paper.map((paper, i) => Math.round(paper + share * ((full[i] ?? 0) - paper))).join(" ")})`;
}

function stripe(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number, ink: string): void {
  context.strokeStyle = ink;
  context.beginPath();
  context.moveTo(x, y + height);
  context.lineTo(x + width, y);
  context.stroke();
}

export function draw(canvas: HTMLCanvasElement, map: Map): void {
  const { width, height } = map.cell, palette = isDark() ? dark : light;
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(map.columns * width * ratio);
  canvas.height = Math.round(map.rows * height * ratio);
  canvas.style.width = `${map.columns * width}px`;
  canvas.style.height = `${map.rows * height}px`;
  const context = canvas.getContext("2d");
  if (!context) return;
  context.scale(ratio, ratio);
  for (let i = 0; i < map.rows; ++i)
    for (let j = 0; j < map.columns; ++j) {
      const value = map.values[i * map.columns + j] ?? NaN, x = j * width, y = i * height;
      const there = map.shown(i, j);
      context.fillStyle = there ? colour(palette, value, map.largest || 1) : `rgb(${palette.paper.join(" ")})`;
      context.fillRect(x, y, width, height);
      if (!there) continue;
      if (!Number.isFinite(value) || map.hidden?.(i, j)) stripe(context, x, y, width, height, palette.faint);
      else if (map.signed && value < 0 && width >= 10 && height >= 10) {
        context.fillStyle = Math.abs(value) > map.largest / 2 ? `rgb(${palette.paper.join(" ")})` : palette.ink;
        context.fillRect(x + width / 2 - 2.5, y + height / 2 - 0.5, 5, 1);
      }
    }
  context.strokeStyle = palette.faint;
  context.lineWidth = 1;
  context.strokeRect(0.5, 0.5, map.columns * width - 1, map.rows * height - 1);
  context.strokeStyle = palette.ink;
  if (map.marked >= 0 && map.marked < map.rows)
    context.strokeRect(0.5, map.marked * height + 0.5, map.columns * width - 1, height - 1);
  if (map.cursor) {
    context.lineWidth = 2;
    context.strokeRect(map.cursor.column * width + 1, map.cursor.row * height + 1, Math.max(width - 2, 2), Math.max(height - 2, 2));
  }
}

/** The cell under a pointer. */
export function cellAt(canvas: HTMLCanvasElement, event: MouseEvent, rows: number, columns: number): { row: number; column: number } {
  const box = canvas.getBoundingClientRect();
  const at = (share: number, count: number) => Math.min(Math.max(Math.floor(share * count), 0), count - 1);
  return { row: at((event.clientY - box.top) / box.height, rows), column: at((event.clientX - box.left) / box.width, columns) };
}

/** Where a key moves the cursor; undefined if it moves nothing. */
export function moved(key: string, control: boolean, at: { row: number; column: number }, rows: number, columns: number): { row: number; column: number } | undefined {
  const last = { row: rows - 1, column: columns - 1 };
  switch (key) {
    case "ArrowLeft": return { row: at.row, column: Math.max(at.column - 1, 0) };
    case "ArrowRight": return { row: at.row, column: Math.min(at.column + 1, last.column) };
    case "ArrowUp": return { row: Math.max(at.row - 1, 0), column: at.column };
    case "ArrowDown": return { row: Math.min(at.row + 1, last.row), column: at.column };
    case "Home": return control ? { row: 0, column: 0 } : { row: at.row, column: 0 };
    case "End": return control ? last : { row: at.row, column: last.column };
    default: return undefined;
  }
}
