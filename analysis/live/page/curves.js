// The curves of one or more runs in one panel.

import { drawPanel, widen } from "./drawing.js";

// Colours that can be told apart by everybody (Okabe and Ito), on light and dark.
export const COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999", "#B8A800"];
const TITLES = {
  eval_return: "Evaluation return",
  normalised_return: "Normalised return",
  train_return: "Training return"
};
const READABLE = 0.2;
const AXIS = { log: false, ticks: [], limits: null };

export function nameOf(run) {
  return `${run.method}, draw ${run.draw}, seed ${run.seed}`;
}

// The columns that some of these runs have, those that people look at first.
export function columnsOf(runs) {
  const names = new Set(runs.flatMap((run) => Object.keys(run.curves.columns)));
  const first = Object.keys(TITLES).filter((name) => names.has(name));
  return [...first, ...[...names].filter((name) => !first.includes(name)).sort()];
}

export function titleOf(column) {
  return TITLES[column] || column.replaceAll("_", " ");
}

// Draws a column of the curves of some runs; null if none of them has any.
export function drawCurves(runs, column) {
  const lines = runs.map((run) => lineOf(run, column)).filter((line) => line.x.length);
  if (!lines.length) return null;
  const series = Object.fromEntries(
    runs.map((run, i) => [run.run, { name: nameOf(run), colour: COLOURS[i % COLOURS.length] }])
  );
  const furthest = Math.max(...lines.map((line) => line.x.at(-1)));
  const planned = Math.max(...runs.map((run) => run.iterations || 0), furthest);
  // The planned length shows how far runs are, unless their curves would be too narrow to read.
  const last = furthest < READABLE * planned ? furthest : planned;
  const panel = {
    title: "",
    x: { ...AXIS, label: last < planned ? `Iteration, of ${planned}` : "Iteration", limits: [0, 1.02 * last] },
    y: { ...AXIS, label: titleOf(column) },
    marks: lines
  };
  const range = lines.reduce((known, line) => widen(known, line.y), [Infinity, -Infinity]);
  return drawPanel({ series, keyOf: {} }, panel, range, "clip-run");
}

function lineOf(run, column) {
  const values = run.curves.columns[column] || [];
  const known = values.map((y, i) => [run.curves.iteration[i], y]).filter(([, y]) => y !== null);
  // A curve of one point is a line of no length, which shows as a dot with round ends.
  if (known.length === 1) known.push(known[0]);
  const [x, y] = [known.map(([i]) => i), known.map(([, value]) => value)];
  return { mark: "line", series: run.run, x, y, style: "solid" };
}
