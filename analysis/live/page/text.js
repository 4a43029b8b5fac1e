// Numbers, times and states as text.

import { short } from "./drawing.js";

export const STATES = ["done", "running", "failed", "pending"];

export function count(x) {
  return x === null || x === undefined ? "–" : x.toLocaleString("en");
}

export function several(x, noun) {
  return `${count(x)} ${noun}${x === 1 ? "" : "s"}`;
}

export function score(x) {
  return x === null || x === undefined ? "–" : x.toFixed(3);
}

// A time in the unit that a person would use.
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const units = [
    [86400, "d"],
    [3600, "h"],
    [60, "min"]
  ];
  for (const [unit, name] of units) {
    if (seconds >= 1.5 * unit) return `${(seconds / unit).toFixed(1)} ${name}`;
  }
  return `${seconds < 10 ? +seconds.toFixed(1) : Math.round(seconds)} s`;
}

export function ago(seconds) {
  return seconds < 2 ? "now" : `${duration(seconds)} ago`;
}

export function moment(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const when = typeof seconds === "string" ? new Date(seconds) : new Date(seconds * 1000);
  const two = (x) => String(x).padStart(2, "0");
  const day = `${when.getFullYear()}-${two(when.getMonth() + 1)}-${two(when.getDate())}`;
  return `${day} ${two(when.getHours())}:${two(when.getMinutes())}:${two(when.getSeconds())}`;
}

export function value(x) {
  if (x === null || x === undefined) return "–";
  return typeof x === "number" ? short(x) : String(x);
}

// How a sweep stands, in a word.
export function stateOf(sweep) {
  if (sweep.problem) return "cannot be read";
  if (sweep.total === undefined) return "being read";
  if (sweep.active) return "running";
  if (sweep.ended) return sweep.failed ? "ended, some failed" : "complete";
  return sweep.done + sweep.failed || sweep.paused ? "paused" : "not begun";
}

// What the packs that wait for the next launch have kept; empty if there are none or if others are being trained.
export function pausedAt(sweep) {
  if (!sweep.paused || sweep.active) return "";
  const { packs, first, last } = sweep.paused;
  if (packs === 1) return `checkpoint of iteration ${count(last)}`;
  const range = first === last ? count(last) : `${count(first)} to ${count(last)}`;
  return `${several(packs, "checkpoint")} of iteration${first === last ? "" : "s"} ${range}`;
}

// A path as a shell takes it.
export function quoted(path) {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\"'\"'")}'`;
}

export function rateOf(sweep) {
  return sweep.rate ? `${sweep.rate >= 10 ? count(Math.round(sweep.rate)) : sweep.rate.toFixed(1)} runs/h` : "–";
}

export function leftOf(sweep) {
  return sweep.left === null || sweep.left === undefined ? "–" : `${sweep.least ? "≥ " : ""}${duration(sweep.left)}`;
}
