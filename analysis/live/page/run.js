// The panel beside the page: one run, or several side by side.

import { badge } from "./bar.js";
import { COLOURS, columnsOf, drawCurves, nameOf, titleOf } from "./curves.js";
import { h, setText } from "./dom.js";
import { askSweep } from "./server.js";
import { ago, duration, moment, score, value } from "./text.js";

const MOST = 8;

export function makeRunPanel(key, setRuns) {
  const title = h("h2");
  const close = h("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => leave() }, "×");
  const choice = h("select", { "aria-label": "What the curve shows", onchange: () => draw() });
  const chart = h("div", { class: "curve" });
  const body = h("div");
  const element = h("aside", { class: "panel", tabindex: -1, "aria-label": "Runs that are open", hidden: true },
    h("div", { class: "panel-head" }, title, close), choice, chart, body);
  let open = [];
  let details = [];
  let before = "";
  let asking = false;
  const panel = { element, show, returnTo: null };

  element.addEventListener("keydown", (event) => {
    if (event.key === "Escape") leave();
  });

  function leave() {
    setRuns([]);
    if (panel.returnTo && panel.returnTo.isConnected) panel.returnTo.focus();
  }

  async function show(runs, again = false) {
    const now = [...new Set(runs)].slice(0, MOST);
    const isNew = now.join() !== open.join();
    if (!isNew && !again) return;
    // A slow server is not asked again for what it is asked already.
    if (!isNew && asking) return;
    const wasClosed = !open.length;
    open = now;
    element.hidden = !open.length;
    if (!open.length) {
      asking = false;
      before = "";
      return;
    }
    asking = true;
    const answers = await Promise.all(open.map((run) => askSweep(key, `/runs/${encodeURIComponent(run)}`)));
    if (now !== open) return;
    asking = false;
    details = answers.filter((answer) => answer && !answer.trouble);
    const missing = answers.filter((answer) => answer && answer.trouble).map((answer) => answer.trouble);
    const text = JSON.stringify(answers);
    if (text !== before) fill(missing);
    before = text;
    if (wasClosed && panel.returnTo) element.focus();
  }

  function fill(missing) {
    element.classList.toggle("many", details.length > 2);
    setText(title, details.length === 1 ? `Run ${details[0].run}` : `${details.length} runs side by side`);
    const columns = columnsOf(details);
    const chosen = choice.value;
    choice.replaceChildren(...columns.map((name) => h("option", { value: name }, titleOf(name))));
    if (columns.includes(chosen)) choice.value = chosen;
    choice.hidden = columns.length < 2;
    draw();
    const parts = details.length === 1 ? one(details[0]) : several(details, remove);
    body.replaceChildren(...missing.map((line) => h("p", { class: "problem" }, line)), ...parts);
  }

  function draw() {
    const svg = drawCurves(details, choice.value || "eval_return");
    chart.replaceChildren(svg || h("p", { class: "hint" }, noCurve(details)));
  }

  function remove(run) {
    setRuns(open.filter((other) => other !== run));
  }
  return panel;
}

function noCurve(runs) {
  return runs.length === 1 && runs[0].status === "pending" ? "This run has not begun." : "There is no curve yet.";
}

// What is known of a run, by heading: [heading, [[name, text], ...]].
function factsOf(run) {
  const { origin } = run;
  const where = [
    ["host", origin.host],
    ["process", origin.pid],
    ["engine", origin.engine],
    ["started", origin.started_at && moment(origin.started_at)],
    ["finished", origin.finished_at && moment(origin.finished_at)],
    ["last sign of life", origin.updated === undefined ? null : ago(origin.updated)],
    ["training time", origin.seconds === undefined ? null : duration(origin.seconds)],
    ["checkpoint", run.checkpoint && `of iteration ${run.checkpoint.iteration}, ${ago(run.checkpoint.age)}`],
    ["version", origin.package_version],
    ["commit", origin.git_commit && origin.git_commit.slice(0, 10)]
  ];
  return [
    ["Run", [
      ["method", run.method],
      ["world", run.world],
      ["draw, seed", `${run.draw}, ${run.seed}`],
      ["score", score(run.score)],
      ["iteration", `${run.iteration} of ${run.iterations}`]
    ]],
    ["Hyperparameters", run.values.map((drawn) => [drawn.title, value(drawn.value)])],
    ["Where and when", where.filter(([, text]) => text !== null && text !== undefined && text !== "")]
  ];
}

function one(run) {
  const parts = [h("p", {}, badge(run.status))];
  if (run.error) parts.push(h("h3", {}, "Error"), h("pre", { class: "error", tabindex: 0 }, run.error));
  for (const [heading, facts] of factsOf(run)) {
    if (!facts.length) continue;
    const pairs = facts.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, String(text))]);
    parts.push(h("h3", {}, heading), h("dl", {}, pairs));
  }
  return [...parts, ...commandOf(run)];
}

function commandOf(run) {
  if (!run.command) {
    const why = "No options of mulex train describe this run: its method, learner or world is in the spec alone.";
    return [h("h3", {}, "Train it alone"), h("p", { class: "hint" }, why)];
  }
  const copy = h("button", { type: "button" }, "Copy");
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(run.command).catch(() => getSelection().selectAllChildren(code));
    setText(copy, "Copied");
  });
  const code = h("code", { tabindex: 0 }, run.command);
  return [h("h3", {}, "Train it alone"), h("div", { class: "command" }, code, copy)];
}

// A column for each run; rows in which runs differ stand out.
function several(runs, remove) {
  const heads = runs.map((run, i) => {
    const swatch = h("i", { class: "swatch" });
    swatch.style.background = COLOURS[i % COLOURS.length];
    const label = `Take out ${nameOf(run)}`;
    const out = h("button", { type: "button", class: "plain", "aria-label": label }, "×");
    out.addEventListener("click", () => remove(run.run));
    return h("th", { scope: "col" }, swatch, h("span", { class: "id" }, run.run.slice(0, 8)), out);
  });
  const rows = [rowOf("status", runs.map((run) => run.status), (text) => badge(text))];
  const facts = runs.map((run) => factsOf(run));
  facts[0].forEach(([heading], part) => {
    rows.push(h("tr", { class: "heading" }, h("th", { scope: "colgroup", colspan: runs.length + 1 }, heading)));
    const known = facts.map((parts) => new Map(parts[part][1]));
    for (const name of new Set(known.flatMap((pairs) => [...pairs.keys()]))) {
      rows.push(rowOf(name, known.map((pairs) => String(pairs.get(name) ?? "–"))));
    }
  });
  const corner = h("td", {}, h("span", { class: "unseen" }, "What"));
  const table = h("table", { class: "beside" }, h("thead", {}, h("tr", {}, corner, heads)), h("tbody", {}, rows));
  const errors = runs.filter((run) => run.error).flatMap((run) => {
    const heading = h("h3", {}, `Error of ${run.run.slice(0, 8)}`);
    return [heading, h("pre", { class: "error", tabindex: 0 }, run.error)];
  });
  return [h("div", { class: "wide" }, table), ...errors];
}

function rowOf(name, texts, cell = (text) => text) {
  const differ = new Set(texts).size > 1;
  const cells = texts.map((text) => h("td", {}, cell(text)));
  return h("tr", { class: differ ? "differ" : null }, h("th", { scope: "row" }, name), cells);
}
