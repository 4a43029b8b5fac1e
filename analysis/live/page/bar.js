// A bar of what has become of some runs: done, running, failed, and the rest pending.

import { h } from "./dom.js";
import { count, STATES } from "./text.js";

export function makeBar() {
  const parts = STATES.slice(0, 3).map((state) => h("i", { class: state }));
  const element = h("div", { class: "bar", role: "img" }, parts);
  return {
    element,
    // Shows counts: an object with done, running, failed, pending and total.
    show(counts) {
      parts.forEach((part, i) => {
        part.style.width = `${counts.total ? (100 * counts[STATES[i]]) / counts.total : 0}%`;
      });
      element.setAttribute("aria-label", describeCounts(counts));
      element.title = describeCounts(counts);
    }
  };
}

export function describeCounts(counts) {
  const words = STATES.filter((state) => counts[state]).map((state) => `${count(counts[state])} ${state}`);
  return `${words.join(", ") || "no runs"} of ${count(counts.total)}`;
}

export function percent(counts) {
  if (!counts.total) return "–";
  const share = (100 * (counts.done + counts.failed + (counts.partly || 0))) / counts.total;
  return `${share < 10 ? share.toFixed(1) : Math.floor(share)} %`;
}

export function badge(state) {
  return h("span", { class: `badge ${state.split(/[ ,]/)[0]}` }, state);
}
