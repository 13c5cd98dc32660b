/** Matrices as pixels. */

import { place, table, type Scale } from "../theme";
import { farthest, type Grid } from "./geometry";
import type { Matrix } from "./slice";

export interface Look {
  scale: Scale;
  limit: number; // the value at the end of the scale
  line: string; // colour between the cells
  hatch: string; // colour of what the mask hides
  isHidden?: (row: number, column: number) => boolean;
}

/** Fill a canvas; its size on screen is that of the grid without its labels. */
export function paint(canvas: HTMLCanvasElement, matrix: Matrix, grid: Grid, look: Look): void {
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  const [width, height] = [grid.shown * grid.width, grid.rows * grid.height];
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  if (!context || !width || !height) return;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(toPixels(matrix, grid, look), 0, 0, width, height);
  if (look.isHidden) hatch(context, grid, look);
  if (Math.min(grid.width, grid.height) >= 7) rule(context, grid, look.line);
}

function toPixels(matrix: Matrix, grid: Grid, { scale, limit }: Look): HTMLCanvasElement {
  const small = document.createElement("canvas");
  [small.width, small.height] = [grid.shown, grid.rows];
  const context = small.getContext("2d")!;
  const image = context.createImageData(grid.shown, grid.rows);
  const pixels = new Uint32Array(image.data.buffer);
  const colours = table(scale);
  for (let row = 0; row < grid.rows; row++) {
    const start = row * matrix.columns;
    const values = matrix.data.subarray(start, start + matrix.columns);
    for (let shown = 0; shown < grid.shown; shown++) {
      const column = farthest(values, shown * grid.bin, (shown + 1) * grid.bin);
      const value = values[column]!;
      const known = Number.isFinite(value);
      pixels[row * grid.shown + shown] = known ? colours[place(scale, value, limit || 1)]! : 0;
    }
  }
  context.putImageData(image, 0, 0);
  return small;
}

/** What is masked is hatched: it is no colour of the scale. */
function hatch(context: CanvasRenderingContext2D, grid: Grid, look: Look): void {
  const { width, height } = grid;
  context.strokeStyle = look.hatch;
  context.lineWidth = 1;
  for (let row = 0; row < grid.rows; row++) {
    for (let column = 0; column < grid.columns; column++) {
      if (!look.isHidden!(row, column)) continue;
      const [x, y] = [Math.floor(column / grid.bin) * width, row * height];
      context.clearRect(x, y, width, height);
      context.beginPath();
      for (const shift of width >= 12 ? [-0.5, 0, 0.5] : [0]) {
        const from = Math.max(0, shift);
        const to = Math.min(1, 1 + shift);
        context.moveTo(x + from * width, y + (1 - (from - shift)) * height);
        context.lineTo(x + to * width, y + (1 - (to - shift)) * height);
      }
      context.stroke();
    }
  }
}

function rule(context: CanvasRenderingContext2D, grid: Grid, line: string): void {
  context.strokeStyle = line;
  context.lineWidth = 1;
  context.beginPath();
  for (let column = 1; column < grid.shown; column++) {
    context.moveTo(column * grid.width, 0);
    context.lineTo(column * grid.width, grid.rows * grid.height);
  }
  for (let row = 1; row < grid.rows; row++) {
    context.moveTo(0, row * grid.height);
    context.lineTo(grid.shown * grid.width, row * grid.height);
  }
  context.stroke();
}
