// The table of all runs of a sweep, sorted, filtered and paged by the server.

import { change } from "./address.js";
import { badge } from "./bar.js";
import { arrange, h, setText } from "./dom.js";
import { askSweep } from "./server.js";
import { count, duration, moment, score, value } from "./text.js";

const SIZES = ["25", "50", "100", "200"];
const WAIT = 250;
const HINT = "Filter numbers with >=0.5, 0.1..0.3 or 3, texts with a part of them, or several with commas between. " +
  "Keys: / searches, ↑ ↓ go from run to run, Enter opens one. Tick several to compare them.";
const STEPS = { ArrowDown: 1, ArrowUp: -1 };
const EXAMPLES = { number: "e.g. >0.5", moment: "2026-", text: "" };

export function makeRunsTable(key, openRun, tickRun) {
  const rows = new Map();
  const head = h("thead");
  const body = h("tbody", { onkeydown: walk });
  const caption = h("caption", { class: "unseen" }, "All runs of this sweep");
  const table = h("table", { class: "runs" }, caption, head, body);
  const wide = h("div", { class: "all-runs", tabindex: 0, role: "region", "aria-label": "Table of runs" }, table);
  const search = h("input", { type: "search", placeholder: "Search by run id", "aria-label": "Search by run id" });
  const found = h("span", { class: "hint", role: "status" });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const clear = h("button", { type: "button", hidden: true, onclick: clearFilters }, "Clear filters");
  const pager = makePager();
  const tools = h("div", { class: "tools" }, search, clear, found, pager.element);
  const element = h("section", {}, h("h2", {}, "All runs"), tools, problem, wide, h("p", { class: "hint" }, HINT));
  let columns = [];
  let waiting = 0;
  let asked = { query: null, control: null };
  let shown = null;

  search.addEventListener("input", () => later({ q: search.value.trim() }));

  // Changes the address a moment after the last key.
  function later(changes) {
    clearTimeout(waiting);
    waiting = setTimeout(() => change({ ...changes, page: null }, true), WAIT);
  }

  function clearFilters() {
    const names = [...new URLSearchParams(location.search).keys()].filter((n) => n.startsWith("f.") || n === "q");
    change(Object.fromEntries([...names, "page"].map((name) => [name, null])));
  }

  // The arrow keys go from run to run.
  function walk(event) {
    const step = STEPS[event.key];
    const row = event.target.closest("tr");
    if (!step || !row || event.target.tagName === "SELECT") return;
    const next = step > 0 ? row.nextElementSibling : row.previousElementSibling;
    if (!next) return;
    event.preventDefault();
    next.querySelector(event.target.type === "checkbox" ? "input" : "button").focus();
  }

  function queryOf(parameters) {
    const kept = [...parameters].filter(([n]) => n.startsWith("f.") || ["q", "sort", "page", "size"].includes(n));
    return new URLSearchParams(kept).toString();
  }

  // Shows what the address asks for; asks the server if that is something else than before, or if it is told to.
  async function show(parameters, open, again = false) {
    const query = queryOf(parameters);
    if (document.activeElement !== search) search.value = parameters.get("q") || "";
    // A slow server is not asked again for what it is asked already.
    if ((query !== shown || again) && query !== asked.query) {
      if (asked.control) asked.control.abort();
      const now = { query, control: new AbortController() };
      asked = now;
      const answer = await askSweep(key, `/runs?${query}`, { signal: now.control.signal });
      if (now !== asked) return;
      asked = { query: null, control: null };
      if (!answer || answer.reading) return;
      shown = query;
      problem.hidden = !answer.trouble;
      setText(problem, answer.trouble || "");
      if (answer.trouble) return;
      showHead(answer.columns, parameters);
      showRows(answer.rows);
      pager.show(answer);
      const all = answer.matched === answer.total;
      setText(found, all ? `${count(answer.total)} runs` : `${count(answer.matched)} of ${count(answer.total)} runs`);
      clear.hidden = ![...parameters.keys()].some((n) => n.startsWith("f.") || n === "q");
    }
    for (const [run, row] of rows) row.mark(open.includes(run));
  }

  function showHead(now, parameters) {
    if (JSON.stringify(now) !== JSON.stringify(columns)) {
      const changed = now.map((column) => column.name).join() !== columns.map((column) => column.name).join();
      columns = now;
      if (changed || !head.contains(document.activeElement)) makeHeads();
      if (changed) rows.clear();
    }
    for (const cell of head.querySelectorAll("[data-column]")) {
      const name = cell.dataset.column;
      if (cell.tagName === "TH") {
        const isDown = parameters.get("sort") === `-${name}`;
        const sort = isDown ? "descending" : parameters.get("sort") === name && "ascending";
        if (sort) cell.setAttribute("aria-sort", sort);
        else cell.removeAttribute("aria-sort");
      } else if (cell !== document.activeElement) {
        cell.value = parameters.get(`f.${name}`) || "";
      }
    }
  }

  function makeHeads() {
    const titles = columns.map((column) => {
      const button = h("button", { type: "button", class: "sort", onclick: () => sortBy(column) }, column.title);
      return h("th", { scope: "col", "data-column": column.name, class: column.kind }, button);
    });
    const filters = columns.map((column) => h("td", {}, makeFilter(column)));
    const corner = h("td", {}, h("span", { class: "unseen" }, "Filters"));
    const choose = h("th", { scope: "col" }, h("span", { class: "unseen" }, "Compare"));
    head.replaceChildren(h("tr", {}, choose, titles), h("tr", { class: "filters" }, corner, filters));
  }

  function makeFilter(column) {
    const label = { "data-column": column.name, "aria-label": `Filter by ${column.title}` };
    if (column.choices) {
      const options = ["", ...column.choices].map((choice) =>
        h("option", { value: choice && `=${choice}` }, choice || "all")
      );
      const set = (event) => change({
        [`f.${column.name}`]: event.target.value,
        page: null
      });
      return h("select", { ...label, onchange: set }, options);
    }
    const hint = column.name === "seconds" ? "s, e.g. >60" : EXAMPLES[column.kind];
    const set = (event) => later({
      [`f.${column.name}`]: event.target.value.trim()
    });
    return h("input", { ...label, type: "text", placeholder: hint, oninput: set });
  }

  // First the order that is usually wanted, then the other, then none.
  function sortBy(column) {
    const up = column.name;
    const down = `-${column.name}`;
    const first = column.kind === "text" || column.value || ["draw", "seed"].includes(up) ? up : down;
    const order = [first, first === up ? down : up, null];
    const now = new URLSearchParams(location.search).get("sort");
    change({ sort: order[(order.indexOf(now) + 1) % 3], page: null });
  }

  function showRows(now) {
    const wanted = now.map((run) => {
      if (!rows.has(run.run)) rows.set(run.run, makeRow(run.run, columns, openRun, tickRun));
      rows.get(run.run).show(run);
      return rows.get(run.run).element;
    });
    arrange(body, wanted);
    const there = new Set(now.map((run) => run.run));
    for (const run of rows.keys()) {
      if (!there.has(run)) rows.delete(run);
    }
  }

  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.matches("input, select, textarea") || !element.isConnected) return;
    event.preventDefault();
    search.focus();
  });
  return { element, show };
}

function makeRow(run, columns, openRun, tickRun) {
  const tick = h("input", { type: "checkbox", "aria-label": `Compare run ${run}` });
  tick.addEventListener("change", () => tickRun(run, tick.checked));
  const open = h("button", { type: "button", class: "plain id", onclick: () => openRun(run, open) }, run);
  const cells = columns.map((column) => h("td", { class: column.kind }, column.name === "run" ? open : null));
  const element = h("tr", {}, h("td", {}, tick), cells);

  function show(row) {
    columns.forEach((column, i) => {
      const text = cellText(column, row);
      if (column.name === "run" || cells[i].textContent === text) return;
      if (column.name === "status") cells[i].replaceChildren(badge(text));
      else setText(cells[i], text);
      if (column.name === "error") cells[i].title = text;
    });
  }

  function mark(isOpen) {
    tick.checked = isOpen;
    element.classList.toggle("open", isOpen);
  }
  return { element, show, mark };
}

function cellText(column, row) {
  const x = row[column.name];
  if (column.name === "iteration") return row.iterations ? `${x} / ${row.iterations}` : String(x);
  if (column.name === "score") return score(x);
  if (column.name === "seconds") return duration(x);
  if (column.name === "error") return x ? x.trim().split("\n")[0] : "";
  return column.kind === "moment" ? (x === null ? "–" : moment(x)) : value(x);
}

function makePager() {
  const step = (by) => () => change({ page: now.page + by > 1 ? String(now.page + by) : null });
  const before = h("button", { type: "button", "aria-label": "Page before", onclick: step(-1) }, "‹");
  const after = h("button", { type: "button", "aria-label": "Next page", onclick: step(1) }, "›");
  const where = h("span");
  const size = h("select", { "aria-label": "Runs on a page" }, SIZES.map((n) => h("option", { value: n }, n)));
  size.addEventListener("change", () => change({ size: size.value === "50" ? null : size.value, page: null }));
  const element = h("span", { class: "pager" }, before, where, after, size, h("span", { class: "hint" }, "a page"));
  let now = { page: 1, pages: 1 };
  return {
    element,
    show(answer) {
      now = answer;
      before.disabled = now.page <= 1;
      after.disabled = now.page >= now.pages;
      size.value = new URLSearchParams(location.search).get("size") || "50";
      setText(where, `${count(now.page)} of ${count(now.pages)}`);
    }
  };
}
