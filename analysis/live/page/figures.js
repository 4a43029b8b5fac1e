// The report's figures and statistics, drawn again whenever the sweep has finished more runs.

import { drawPanel, off, setUp, short, useColours, valuesOf, widen } from "./drawing.js";
import { h, setText } from "./dom.js";
import { askSweep } from "./server.js";

const hidden = new CSSStyleSheet();
document.adoptedStyleSheets = [...document.adoptedStyleSheets, hidden];
let clips = 0;

// A point of a chart knows the sweep's figures and the row of its run.
setUp({
  describe: ({ figures, i }) => describe(figures.runs, figures, i),
  openRun: ({ figures, i }, from) => figures.openRun(figures.runs.run[i], from)
});

function describe(runs, figures, i) {
  const method = figures.methods.find((known) => known.key === runs.method[i]);
  const names = Object.keys(runs.values).filter((name) => runs.values[name][i] !== null);
  return [
    `${method.name}, ${runs.world[i]}, draw ${runs.draw[i]}, seed ${runs.seed[i]}`,
    `${figures.scores[runs.world[i]]}: ${short(runs.score[i])}`,
    ...names.map((name) => `${runs.names[name]}: ${short(runs.values[name][i])}`)
  ].join("\n");
}

export function makeFigures(key, openRun) {
  const note = h("p", { class: "hint", role: "status" }, "The figures are being made.");
  const methods = h("div", { class: "methods", role: "group", "aria-label": "Methods shown" });
  const charts = h("div", { class: "charts" });
  const element = h("section", {}, h("h2", {}, "Figures"), note, methods, charts);
  let mark = "";
  let made = null;
  let expected = 0;

  function show() {
    useColours(made);
    methods.replaceChildren(...made.methods.map((method) => makeToggle(method)));
    charts.replaceChildren(...made.charts.map((chart) => makeChart(chart, made)));
    const skipped = made.skipped.map((line) => h("li", {}, line));
    const title = h("summary", {}, "Figures that do not apply here");
    if (skipped.length) charts.append(h("details", {}, title, h("ul", {}, skipped)));
    describeAge();
  }

  // Says of how many runs the figures are, which may be fewer than there are by now.
  function describeAge() {
    if (!made || made.message) return;
    const runs = made.runs.run.length;
    const known = `Of ${runs.toLocaleString("en")} finished runs`;
    const newer = expected > runs ? `; ${expected - runs} more have finished since` : "";
    setText(note, `${known}${newer}. Point at a mark for its run, click it for its curve. ` +
      "With the keyboard: Tab to a figure, arrow keys from run to run, Enter for the curve.");
  }

  return {
    element,
    // Gives the figures if there are new ones.
    async load() {
      const answer = await fetch(`/api/sweeps/${encodeURIComponent(key)}/figures`, {
        headers: mark ? { "If-None-Match": mark } : {}
      }).catch(() => null);
      if (!answer || answer.status !== 200) return null;
      mark = answer.headers.get("ETag");
      made = await answer.json();
      if (made.message) {
        setText(note, made.message);
        charts.replaceChildren();
        return null;
      }
      made.openRun = openRun;
      show();
      return made;
    },
    expect(sweep) {
      expected = sweep.done + sweep.failed;
      describeAge();
    }
  };
}

function makeToggle(method) {
  const swatch = h("i", { class: "swatch" });
  swatch.style.background = method.colour;
  const button = h("button", { type: "button", "aria-pressed": String(!off.has(method.key)) }, swatch, method.name);
  button.addEventListener("click", () => {
    if (!off.delete(method.key)) off.add(method.key);
    button.setAttribute("aria-pressed", String(!off.has(method.key)));
    hidden.replaceSync([...off].map((name) => `svg [data-s="${CSS.escape(name)}"] { display: none; }`).join("\n"));
  });
  return button;
}

export function makeChart(chart, figures) {
  const key = h("ul", { class: "key" }, chart.key.map(([text, style]) => h("li", { "data-style": style }, text)));
  const panels = h("div", { class: "panels" });
  panels.classList.toggle("one", chart.panels.length === 1);
  chart.keyOf = Object.fromEntries(chart.key.map(([text, style]) => [style, text]));
  chart.most = highestCell(chart);
  const all = chart.panels.reduce((range, panel) => widen(range, valuesOf(panel, "y")), [Infinity, -Infinity]);
  for (const panel of chart.panels) {
    for (const m of panel.marks) {
      if (m.runs && typeof m.runs[0] === "number") m.runs = m.runs.map((i) => ({ figures, i }));
    }
    panels.append(drawPanel(chart, panel, chart.sameY ? all : valuesOf(panel, "y"), `clip-${clips++}`));
  }
  addColours(chart, figures, key);
  const caption = h("figcaption", {}, `${chart.caption} `, chart.note ? h("em", {}, chart.note) : null);
  const kind = chart.panels.length > 2 ? "many" : null;
  return h("figure", { class: kind, "data-figure": chart.name }, h("h3", {}, chart.title), key, panels, caption);
}

// The highest value of all heat maps of a chart, which share one scale.
function highestCell(chart) {
  const cells = chart.panels.flatMap((panel) => panel.marks).filter((m) => m.mark === "cells");
  return cells.reduce((highest, m) => widen([0, highest], m.value)[1], 1e-9);
}

// The key of a chart says what its colours mean, unless they are those of the methods.
function addColours(chart, figures, key) {
  const add = (background, text, isWide) => {
    const swatch = h("i", { class: isWide ? "scale" : "swatch" });
    swatch.style.background = background;
    key.append(h("li", {}, swatch, text));
  };
  if (chart.scale) {
    add(`linear-gradient(90deg, ${figures.heat})`, `${chart.scale}, 0 to ${short(chart.most)}`, true);
    return;
  }
  const methods = new Set(figures.methods.map((method) => method.key));
  for (const [name, series] of Object.entries(chart.series)) {
    if (!methods.has(name)) add(series.colour, series.name, false);
  }
}

export function makeStatistics() {
  const element = h("section", {}, h("h2", {}, "Statistics"), h("p", { class: "hint" }, "They are being computed."));
  return {
    element,
    show(made) {
      element.replaceChildren(h("h2", {}, "Statistics"), ...made.statistics.map(makeSection));
    }
  };
}

export function makeSection({ title, head, rows }) {
  const heads = head.map((text) => h("th", { scope: "col" }, text));
  const body = rows.map((row) => h("tr", {}, row.map((text) => h("td", {}, text))));
  const table = h("table", {}, h("caption", {}, title), h("thead", {}, h("tr", {}, heads)), h("tbody", {}, body));
  return h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": title }, table);
}
