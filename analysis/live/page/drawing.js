// What the report's drawing code needs from the page around it. The server joins that code to this module.

// The colours of heat maps, which every sweep's figures bring along.
const data = { heat: [], lost: "" };
const tip = document.getElementById("tip");
// The keys of the series that are switched off.
export const off = new Set();
// What a point stands for, and what happens when somebody chooses it; the page sets both.
let describe = () => "";
let openRun = () => {};

export function setUp(hooks) {
  describe = hooks.describe;
  openRun = hooks.openRun;
}

export function useColours(figures) {
  data.heat = figures.heat;
  data.lost = figures.lost;
}
