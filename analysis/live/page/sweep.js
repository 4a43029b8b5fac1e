// The page of one sweep.

import { change, readAddress, sweepLink } from "./address.js";
import { h, say } from "./dom.js";
import { makeFigures, makeStatistics } from "./figures.js";
import { describeCounts, makeFailures, makeHead, makeLines, percent } from "./head.js";
import { makeRunPanel } from "./run.js";
import { askSweep } from "./server.js";
import { makeRunsTable } from "./table.js";

const TABS = [
  ["runs", "Runs"],
  ["figures", "Figures"],
  ["statistics", "Statistics"],
  ["spec", "Spec"]
];
// Between two announcements of the progress to a screen reader.
const SAY_AFTER = 20000;

export function sweepPage({ key }) {
  const head = makeHead();
  const lines = makeLines((line) => change({ "f.method": `=${line.method}`, "f.world": `=${line.world}`, page: null }));
  const panel = makeRunPanel(key, (runs) => setRuns(runs));
  const openRun = (run, from) => {
    panel.returnTo = from;
    setRuns([run]);
  };
  const failures = makeFailures(openRun);
  const table = makeRunsTable(key, openRun, (run, on) => {
    const others = openRuns().filter((other) => other !== run);
    setRuns(on ? [...others, run] : others);
  });
  const figures = makeFigures(key, openRun);
  const statistics = makeStatistics();
  const spec = makeSpec(key);
  const views = {
    runs: h("div", {}, lines.element, failures.element, table.element),
    figures: figures.element,
    statistics: statistics.element,
    spec: spec.element
  };
  const links = Object.fromEntries(TABS.map(([name, text]) => [name, h("a", { "data-link": true }, text)]));
  const tabs = h("nav", { class: "tabs", "aria-label": "Parts of this sweep" }, Object.values(links));
  const view = h("div", { class: "view" });
  const element = h("div", {}, head.element, tabs, h("div", { class: "split" }, view, panel.element));
  let said = { at: 0, text: "" };
  let figureMark = null;

  function openRuns() {
    return (readAddress().parameters.get("runs") || "").split(",").filter(Boolean);
  }

  function setRuns(runs) {
    change({ runs: runs.join(",") });
  }

  function announce(sweep) {
    const text = describeCounts(sweep);
    if (Date.now() - said.at < SAY_AFTER || text === said.text) return;
    if (said.text) say(text);
    said = { at: Date.now(), text };
  }

  function show(address) {
    const tab = views[address.parameters.get("tab")] ? address.parameters.get("tab") : "runs";
    if (view.firstChild !== views[tab]) view.replaceChildren(views[tab]);
    for (const [name, link] of Object.entries(links)) {
      const parameters = new URLSearchParams(address.parameters);
      if (name === "runs") parameters.delete("tab");
      else parameters.set("tab", name);
      link.setAttribute("href", sweepLink(key, parameters));
      if (name === tab) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (tab === "runs") table.show(address.parameters, openRuns());
    if (tab === "figures" || tab === "statistics") loadFigures();
    if (tab === "spec") spec.load();
    panel.show(openRuns());
  }

  async function loadFigures() {
    const made = await figures.load();
    if (made) statistics.show(made);
  }

  async function refresh(marks) {
    const sweep = await askSweep(key);
    if (!sweep) return;
    if (sweep.trouble) {
      head.show({ name: key, folder: "", problem: sweep.trouble, read: null });
      return;
    }
    head.show(sweep);
    document.title = `${percent(sweep)} · ${sweep.name} · mulex`;
    if (sweep.total === undefined) {
      if (!sweep.problem) setTimeout(() => refresh(marks), 500);
      return;
    }
    lines.show(sweep);
    failures.show(sweep);
    figures.expect(sweep);
    announce(sweep);
    const { parameters } = readAddress();
    const tab = parameters.get("tab");
    if (!tab || tab === "runs") table.show(parameters, openRuns(), true);
    const mark = marks[key] && marks[key].join();
    if ((tab === "figures" || tab === "statistics") && mark !== figureMark) loadFigures();
    figureMark = mark;
    panel.show(openRuns(), true);
  }

  return {
    element,
    keys: [key],
    path: [
      ["Sweeps", "/"],
      [key, null]
    ],
    fits: (address) => address.page === "sweep" && address.key === key,
    show,
    refresh
  };
}

function makeSpec(key) {
  const text = h("pre", { tabindex: 0, "aria-label": "The sweep's spec" });
  let loaded = false;
  return {
    element: h("section", {}, h("h2", {}, "spec.yaml"), text),
    async load() {
      if (loaded) return;
      loaded = true;
      const answer = await askSweep(key, "/spec");
      text.textContent = (answer && (answer.spec || answer.trouble)) || "This sweep has no spec.";
    }
  };
}
