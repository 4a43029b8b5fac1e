// The page: all charts, and the methods that are shown.

// The highest value of all heat maps of a chart, which share one scale.
function highestCell(chart) {
  let highest = 1e-9;
  for (const m of chart.panels.flatMap((panel) => panel.marks)) {
    if (m.mark === "cells") highest = widen([0, highest], m.value)[1];
  }
  return highest;
}

function drawChart(chart, index) {
  const figure = document.getElementById(chart.name);
  const panels = figure.querySelector(".panels");
  const styles = [...figure.querySelectorAll(".key li")].map((li) => [li.dataset.style, li.textContent]);
  chart.keyOf = Object.fromEntries(styles);
  chart.most = highestCell(chart);
  const all = chart.panels.reduce((range, panel) => widen(range, valuesOf(panel, "y")), [Infinity, -Infinity]);
  panels.classList.toggle("one", chart.panels.length === 1);
  panels.classList.toggle("fixed", chart.columns > 0 && chart.columns <= 4);
  panels.style.setProperty("--n", chart.columns);
  chart.panels.forEach((panel, k) => {
    const yValues = chart.sameY ? all : valuesOf(panel, "y");
    panels.append(drawPanel(chart, panel, yValues, `clip-${index}-${k}`));
  });
  addToKey(chart, figure.querySelector(".key"));
}

// The key of a chart says what its colours mean, unless they are those of the methods at the top of the page.
function addToKey(chart, key) {
  const add = (background, width, text) => {
    const swatch = `<i style="${width}background:${background}"></i>`;
    key.insertAdjacentHTML("beforeend", `<li>${swatch}${escaped(text)}</li>`);
  };
  if (chart.scale) {
    add(`linear-gradient(90deg,${data.heat})`, "width:6em;", `${chart.scale}, 0 to ${short(chart.most)}`);
    return;
  }
  const methods = new Set(data.methods.map((method) => method.key));
  for (const [name, series] of Object.entries(chart.series)) {
    if (!methods.has(name)) add(series.colour, "", series.name);
  }
}

data.charts.forEach(drawChart);

const rules = document.head.appendChild(document.createElement("style"));
const toggles = document.querySelectorAll("nav button");

function applyOff() {
  const hidden = [...off].map((name) => `svg [data-s="${CSS.escape(name)}"] { display: none; }`);
  rules.textContent = hidden.join("\n");
  toggles.forEach((button) => button.setAttribute("aria-pressed", String(!off.has(button.dataset.method))));
  sessionStorage.setItem("off", JSON.stringify([...off]));
}

toggles.forEach((button) => {
  const key = button.dataset.method;
  button.style.setProperty("--colour", data.methods.find((method) => method.key === key).colour);
  button.addEventListener("click", () => {
    if (!off.delete(key)) off.add(key);
    applyOff();
  });
});
applyOff();
