// The list of sweeps.

import { change, compareLink, sweepLink } from "./address.js";
import { badge, makeBar, percent } from "./bar.js";
import { arrange, h, setText } from "./dom.js";
import { ask } from "./server.js";
import { count, leftOf, pausedAt, rateOf, score, stateOf } from "./text.js";

// The heads that say nothing to the eye are read by screen readers.
const UNSEEN = ["Choose", "Share that has ended"];
const HEAD = [
  ...[UNSEEN[0], "Sweep", "State", "Progress", UNSEEN[1]],
  ...["Running", "Failed", "Rate", "Time left", "Best score"]
];

export function listPage() {
  const rows = new Map();
  const body = h("tbody");
  const compare = h("a", { class: "button", "data-link": true }, "Compare side by side");
  const search = h("input", {
    type: "search",
    placeholder: "Filter by name or folder",
    "aria-label": "Filter sweeps by name or folder",
    oninput: () => change({ q: search.value }, true)
  });
  const note = h("p", { class: "hint" });
  const heads = HEAD.map((text) =>
    h("th", { scope: "col" }, UNSEEN.includes(text) ? h("span", { class: "unseen" }, text) : text)
  );
  const table = h("table", { class: "sweeps" }, h("thead", {}, h("tr", {}, heads)), body);
  const tools = h("div", { class: "tools" }, search, compare);
  const element = h("div", {}, h("h1", {}, "Sweeps"), tools, h("div", { class: "wide" }, table), note);
  let sweeps = [];

  function chosen() {
    return (new URLSearchParams(location.search).get("chosen") || "").split(",").filter(Boolean);
  }

  function choose(key, on) {
    const others = chosen().filter((other) => other !== key);
    change({ chosen: (on ? [...others, key] : others).join(",") }, true);
  }

  function show() {
    const words = new URLSearchParams(location.search).get("q") || "";
    if (document.activeElement !== search) search.value = words;
    const shown = sweeps.filter((s) => `${s.name} ${s.folder}`.toLowerCase().includes(words.toLowerCase()));
    for (const sweep of shown) {
      if (!rows.has(sweep.key)) rows.set(sweep.key, makeRow(sweep.key, choose));
      rows.get(sweep.key).show(sweep, chosen().includes(sweep.key));
    }
    arrange(body, shown.map((sweep) => rows.get(sweep.key).element));
    compare.hidden = chosen().length < 2;
    compare.setAttribute("href", compareLink(chosen()));
    setText(note, shown.length ? "Tick two or more sweeps to compare them." : "No sweep fits this filter.");
  }

  async function refresh() {
    const answer = await ask("/api/sweeps");
    if (!answer || answer.trouble) return;
    sweeps = answer.sweeps;
    document.title = `${sweeps.length} sweeps · mulex`;
    show();
  }

  return {
    element,
    keys: [],
    path: [],
    fits: (address) => address.page === "list",
    show,
    refresh
  };
}

function makeRow(key, choose) {
  const bar = makeBar();
  const tick = h("input", { type: "checkbox", onchange: () => choose(key, tick.checked) });
  const name = h("a", { href: sweepLink(key), "data-link": true });
  const folder = h("small");
  const state = h("td");
  const numbers = HEAD.slice(4).map(() => h("td", { class: "number" }));
  const first = h("th", { scope: "row" }, name, folder);
  const element = h("tr", {}, h("td", {}, tick), first, state, h("td", { class: "bars" }, bar.element), numbers);

  function show(sweep, isChosen) {
    tick.checked = isChosen;
    tick.setAttribute("aria-label", `Compare ${sweep.name}`);
    setText(name, sweep.name);
    setText(folder, sweep.folder);
    const word = stateOf(sweep);
    const kept = pausedAt(sweep);
    if (state.textContent !== word + kept) state.replaceChildren(badge(word), kept && h("small", {}, kept));
    state.title = sweep.problem;
    const known = sweep.total !== undefined;
    bar.show(known ? sweep : { done: 0, running: 0, failed: 0, pending: 0, total: 0 });
    const texts = [
      known ? `${percent(sweep)} of ${count(sweep.total)}` : "",
      ...["running", "failed"].map((part) => known ? count(sweep[part]) : ""),
      ...(known ? [rateOf(sweep), leftOf(sweep), score(sweep.best)] : ["", "", ""])
    ];
    texts.forEach((text, i) => setText(numbers[i], text));
    numbers[2].classList.toggle("bad", Boolean(sweep.failed));
  }
  return { element, show };
}
