// The head of a sweep's page: how it stands as a whole, and by method and world.

import { badge, describeCounts, makeBar, percent } from "./bar.js";
import { arrange, h, setText } from "./dom.js";
import { ago, count, leftOf, pausedAt, quoted, rateOf, score, several, stateOf } from "./text.js";

const TILES = ["Progress", "Done", "Running", "Failed", "Pending", "Rate", "Time left", "Best score"];

export function makeHead() {
  const bar = makeBar();
  const title = h("h1");
  const state = h("span");
  const folder = h("p", { class: "hint" });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const paused = h("p", { hidden: true });
  const values = TILES.map(() => h("dd"));
  const tiles = h("dl", { class: "tiles" }, TILES.map((name, i) => h("div", {}, h("dt", {}, name), values[i])));
  const above = [h("div", { class: "title" }, title, state), folder, problem, paused];
  const element = h("div", { class: "head" }, above, bar.element, tiles);

  function show(sweep) {
    setText(title, sweep.name);
    const word = stateOf(sweep);
    if (state.textContent !== word) state.replaceChildren(badge(word));
    const kept = pausedAt(sweep);
    paused.hidden = !kept;
    const resume = `mulex resume ${quoted(sweep.folder)}`;
    const words = ["Paused, ", kept, ". Continue with ", resume];
    if (paused.textContent !== words.join("")) paused.replaceChildren(...words.slice(0, 3), h("code", {}, resume));
    const read = sweep.read === null ? "" : ` · read ${ago(sweep.read)}`;
    const where = sweep.running ? ` · ${several(sweep.packs, "pack")} on ${several(sweep.hosts, "machine")}` : "";
    setText(folder, sweep.folder + where + read);
    problem.hidden = !sweep.problem;
    setText(problem, sweep.problem);
    if (sweep.total === undefined) return;
    bar.show(sweep);
    const counts = ["done", "running", "failed", "pending"].map((name) => count(sweep[name]));
    const texts = [percent(sweep), ...counts, rateOf(sweep), leftOf(sweep), score(sweep.best)];
    texts.forEach((text, i) => setText(values[i], text));
    values[3].classList.toggle("bad", sweep.failed > 0);
  }
  return { element, show };
}

const COLUMNS = ["Method", "World", "", "Done", "Running", "Failed", "Pending", "Best", "Median"];

// Progress by method and world. `choose` is called with the method and world of a line that somebody picks.
export function makeLines(choose) {
  const rows = new Map();
  const body = h("tbody");
  const heads = COLUMNS.map((text) => h("th", { scope: "col" }, text || h("span", { class: "unseen" }, "progress")));
  const table = h("table", { class: "lines" }, h("thead", {}, h("tr", {}, heads)), body);

  function makeRow(line) {
    const bar = makeBar();
    const numbers = COLUMNS.slice(3).map(() => h("td", { class: "number" }));
    const swatch = h("i", { class: "swatch" });
    const label = `Show the runs of ${line.title} in ${line.world}`;
    const pick = h("button", { type: "button", class: "plain", "aria-label": label, onclick: () => choose(line) });
    pick.append(swatch, line.title);
    const element = h("tr", {}, h("th", { scope: "row" }, choose ? pick : [swatch, line.title]),
      h("td", {}, line.world), h("td", { class: "bars" }, bar.element), numbers);
    return { element, bar, numbers, swatch };
  }

  function show(sweep) {
    for (const line of sweep.lines) {
      const id = `${line.world}\n${line.method}`;
      if (!rows.has(id)) rows.set(id, makeRow(line));
      const { bar, numbers, swatch } = rows.get(id);
      bar.show(line);
      swatch.style.background = sweep.series[line.method].colour;
      const counts = ["done", "running", "failed", "pending"].map((name) => count(line[name]));
      [...counts, score(line.best), score(line.median)].forEach((text, i) => setText(numbers[i], text));
      numbers[2].classList.toggle("bad", line.failed > 0);
    }
    arrange(body, sweep.lines.map((line) => rows.get(`${line.world}\n${line.method}`).element));
  }
  return { element: h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Progress" }, table), show };
}

// What went wrong, by reason. `openRun` is called with one of the runs.
export function makeFailures(openRun) {
  const list = h("ul", { class: "failures" });
  const element = h("section", { hidden: true }, h("h2", {}, "What went wrong"), list);
  let before = "";

  function show(sweep) {
    const now = JSON.stringify([sweep.failures, sweep.damaged]);
    if (now === before) return;
    before = now;
    element.hidden = !sweep.failures.length && !sweep.damaged.length;
    const items = sweep.failures.map(({ status, reason, runs, run }) => {
      const open = h("button", { type: "button", onclick: (event) => openRun(run, event.currentTarget) }, "Show a run");
      return h("li", {}, badge(status), h("b", {}, `${count(runs)} ×`), h("code", {}, reason), open);
    });
    const damaged = sweep.damaged.map((name) => h("li", {}, badge("damaged"), h("code", {}, name)));
    list.replaceChildren(...items, ...damaged);
  }
  return { element, show };
}

export { describeCounts, percent };
