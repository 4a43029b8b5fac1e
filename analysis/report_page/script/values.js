// Values as text, and their ranges.

const ENTITIES = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;"
};

function escaped(text) {
  return String(text).replace(/[&<>"]/g, (character) => ENTITIES[character]);
}

function short(x) {
  if (x === null || x === undefined) return "–";
  if (typeof x !== "number") return String(x);
  if (Number.isInteger(x)) return String(x);
  const size = Math.abs(x);
  return size >= 1e-3 && size < 1e5 ? String(+x.toPrecision(4)) : x.toExponential(2);
}

// Widens the range [low, high] so that it holds all the values that are known.
function widen(range, values) {
  for (const value of values) {
    if (value === null || value === undefined) continue;
    if (value < range[0]) range[0] = value;
    if (value > range[1]) range[1] = value;
  }
  return range;
}
