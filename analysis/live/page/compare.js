// Two or more sweeps side by side: how they stand, their statistics, and every figure that one of them has.

import { go, sweepLink } from "./address.js";
import { h, setText } from "./dom.js";
import { makeChart, makeSection } from "./figures.js";
import { useColours } from "./drawing.js";
import { makeHead, makeLines } from "./head.js";
import { askSweep } from "./server.js";

export function comparePage({ parameters }) {
  const keys = [...new Set(parameters.getAll("sweep"))];
  const columns = keys.map((key) => makeColumn(key));
  const heads = h("div", { class: "beside-each" }, columns.map((column) => column.element));
  const figures = h("div");
  const note = h("p", { class: "hint", role: "status" });
  const empty = keys.length ? null : h("p", {}, "No sweep is named; choose some in the list of sweeps.");
  const element = h("div", { class: "compare" }, h("h1", {}, "Side by side"), empty, heads, note, figures);
  element.style.setProperty("--n", keys.length);

  function showFigures() {
    const made = columns.map((column) => column.made);
    const names = [...new Set(made.flatMap((of) => of ? of.charts.map((chart) => chart.name) : []))];
    const rows = names.map((name) => made.map((of) => of && of.charts.find((chart) => chart.name === name)));
    const drawn = rows.map((row) => h("div", { class: "beside-each" }, row.map((chart, i) => {
      if (!made[i]) return h("p", { class: "hint" }, columns[i].message ? "" : "This figure is being made.");
      if (!chart) return h("p", { class: "hint" }, "This sweep has no such figure.");
      useColours(made[i]);
      return makeChart(chart, made[i]);
    })));
    const statistics = made.map((of) => h("div", {}, of ? of.statistics.slice(0, 1).map(makeSection) : []));
    figures.replaceChildren(h("div", { class: "beside-each" }, statistics), ...drawn);
  }

  return {
    element,
    keys,
    path: [
      ["Sweeps", "/"],
      [keys.join(" and "), null]
    ],
    fits: (address) => address.page === "compare" && address.parameters.getAll("sweep").join() === keys.join(),
    show() {
      document.title = `${keys.join(" and ")} · mulex`;
    },
    async refresh() {
      const news = await Promise.all(columns.map((column) => column.refresh()));
      if (news.some(Boolean)) showFigures();
      const waiting = columns.some((column) => !column.made && !column.message);
      const messages = columns.filter((column) => column.message).map((column) => `${column.key}: ${column.message}`);
      setText(note, [...messages, ...(waiting ? ["The figures are being made."] : [])].join(" "));
    }
  };
}

function makeColumn(key) {
  const head = makeHead();
  const lines = makeLines(null);
  const link = h("a", { href: sweepLink(key), "data-link": true }, "Open this sweep");
  const element = h("div", {}, head.element, h("p", {}, link), lines.element);
  const column = { key, element, made: null, message: "", refresh };
  let mark = "";

  // Gives whether there are new figures.
  async function refresh() {
    const sweep = await askSweep(key);
    if (!sweep || sweep.trouble) {
      if (sweep) {
        head.show({ name: key, folder: "", problem: sweep.trouble, read: null });
        column.message = sweep.trouble;
      }
      return false;
    }
    head.show(sweep);
    if (sweep.lines) lines.show(sweep);
    const answer = await fetch(`/api/sweeps/${encodeURIComponent(key)}/figures`, {
      headers: mark ? { "If-None-Match": mark } : {}
    }).catch(() => null);
    if (!answer || answer.status !== 200) return false;
    mark = answer.headers.get("ETag");
    const made = await answer.json();
    column.message = made.message || "";
    if (made.message) return false;
    made.openRun = (run) => go(sweepLink(key, `runs=${run}`));
    column.made = made;
    return true;
  }
  return column;
}
