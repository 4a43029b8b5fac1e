// One run: its description, its curve, and the card that shows both.

const NO_VALUE = 65535;
const coded = new Uint16Array(Uint8Array.from(atob(data.curves.data), (c) => c.charCodeAt(0)).buffer);
// Where the focus was before the card was opened.
let before = null;

function methodOf(i) {
  return data.methods.find((method) => method.key === runs.method[i]);
}

function scoreName(i) {
  return data.scores[runs.world[i]];
}

// The hyperparameters that a run has, with their values.
function valuesIn(i) {
  const names = Object.keys(runs.values).filter((name) => runs.values[name][i] !== null);
  return names.map((name) => [runs.names[name], short(runs.values[name][i])]);
}

function describe(i) {
  const head = `${methodOf(i).name}, ${runs.world[i]}, draw ${runs.draw[i]}, seed ${runs.seed[i]}`;
  const values = valuesIn(i).map(([name, value]) => `${name}: ${value}`);
  return [head, `${scoreName(i)}: ${short(runs.score[i])}`, ...values].join("\n");
}

// The curve of a run from its code: 16-bit steps between the lowest and the highest return of all runs.
function curveOf(i) {
  const { at, low, high } = data.curves;
  const x = [];
  const y = [];
  at.forEach((iteration, k) => {
    const code = coded[i * at.length + k];
    if (code === NO_VALUE) return;
    x.push(iteration);
    y.push(low + (code / (NO_VALUE - 1)) * (high - low));
  });
  return { x, y };
}

function factsOf(i) {
  const facts = [
    ["method", methodOf(i).name],
    ["world", runs.world[i]],
    ["draw, seed", `${runs.draw[i]}, ${runs.seed[i]}`],
    [scoreName(i), short(runs.score[i])],
    ["outcome", runs.outcome[i]],
    ["seconds", short(runs.seconds[i])],
    ...valuesIn(i)
  ];
  if (runs.error[i]) facts.push(["error", runs.error[i]]);
  return facts.map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`).join("");
}

function drawCurve(i) {
  const { x, y } = curveOf(i);
  if (!x.length) return "This run has no curve.";
  const method = methodOf(i);
  const axis = { log: false, ticks: [], limits: null };
  const panel = {
    title: "",
    x: { ...axis, label: "Iteration" },
    y: { ...axis, label: "Return" },
    marks: [{ mark: "line", series: method.key, x, y, style: "solid" }]
  };
  const series = Object.fromEntries([
    [method.key, method]
  ]);
  return drawPanel({ series, keyOf: {} }, panel, widen([0, 0], [data.curves.low, data.curves.high]), "clip-run");
}

function openRun(i, from) {
  const close = '<button type="button" class="close" aria-label="Close">×</button>';
  card.innerHTML = `<h3>${escaped(runs.run[i])}</h3>${close}<div class="curve"></div><dl>${factsOf(i)}</dl>`;
  card.querySelector(".curve").append(drawCurve(i));
  card.querySelector(".close").addEventListener("click", closeRun);
  card.hidden = false;
  before = from;
  card.focus();
}

function closeRun() {
  card.hidden = true;
  if (before) before.focus();
}

addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !card.hidden) closeRun();
});
document.querySelectorAll("button.run").forEach((button) => {
  button.addEventListener("click", () => openRun(+button.dataset.run, button));
});
