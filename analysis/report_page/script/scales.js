// Scales: from values to positions in a drawing of 460 x 320.

const WIDTH = 460;
const HEIGHT = 320;
const PADDING = 0.04;

function ticksOf(low, high, axis) {
  if (axis.ticks.length) {
    return axis.ticks.filter(([x]) => x >= Math.min(low, high) && x <= Math.max(low, high));
  }
  return axis.log ? logTicks(low, high) : linearTicks(low, high);
}

function logTicks(low, high) {
  const powers = [];
  for (let p = Math.ceil(Math.log10(low) - 1e-9); p <= Math.log10(high) + 1e-9; p++) {
    powers.push([10 ** p, Math.abs(p) < 3 ? short(10 ** p) : "1e" + p]);
  }
  if (powers.length > 1) return powers;
  return [low, Math.sqrt(low * high), high].map((x) => [x, x.toPrecision(2)]);
}

function linearTicks(low, high) {
  const rough = (high - low) / 5;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 2.5, 5, 10].find((multiple) => multiple * unit >= rough);
  const ticks = [];
  for (let x = Math.ceil(low / step - 1e-9) * step; x <= high + step * 1e-9; x += step) {
    ticks.push([x, short(+x.toPrecision(10))]);
  }
  return ticks;
}

// The range of an axis: its own limits, or that of the values with some room.
function rangeOf(axis, values) {
  if (axis.limits) return axis.limits;
  let low = Math.min(...values);
  let high = Math.max(...values);
  if (axis.log) {
    if (low === high) {
      low /= 2;
      high *= 2;
    }
    const room = (high / low) ** PADDING;
    return [low / room, high * room];
  }
  if (low === high) {
    low -= 0.5;
    high += 0.5;
  }
  const room = (high - low) * PADDING;
  return [low - room, high + room];
}

function makeScale(axis, values, from, to) {
  const [low, high] = rangeOf(axis, values);
  const f = axis.log ? Math.log : (x) => x;
  const scale = (x) => from + ((f(x) - f(low)) / (f(high) - f(low))) * (to - from);
  const ticks = ticksOf(low, high, axis);
  return Object.assign(scale, { low, high, ticks });
}

// The range of what a panel's marks show on one of its axes, "x" or "y".
function valuesOf(panel, which) {
  const range = [Infinity, -Infinity];
  const isX = which === "x";
  for (const m of panel.marks) {
    if (m.mark === "rule") {
      if (!isX && !m.slope) widen(range, [m.y]);
    } else if (m.mark === "band") {
      widen(range, isX ? m.x : [...m.low, ...m.high]);
    } else if (m.mark === "bars") {
      widen(range, isX ? [0, ...m.length] : m.position);
    } else if (m.mark === "cells") {
      widen(range, isX ? m.column : m.row);
    } else {
      widen(range, m[which]);
    }
  }
  return range[0] === Infinity ? [0, 1] : range;
}
