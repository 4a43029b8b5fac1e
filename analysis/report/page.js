"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const runs = data.runs, tip = document.getElementById("tip"), card = document.getElementById("run");
const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const short = (x) => (x === null || x === undefined ? "–" : Number.isInteger(x) ? String(x) : Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5 ? String(+x.toPrecision(4)) : x.toExponential(2));
const off = new Set(JSON.parse(sessionStorage.getItem("off") || "[]"));

// ---- scales: from values to places in a 460 x 320 drawing
const W = 460, H = 320;

function ticksOf(low, high, axis) {
  if (axis.ticks.length) return axis.ticks.filter(([x]) => x >= Math.min(low, high) && x <= Math.max(low, high));
  if (axis.log) {
    const powers = [];
    for (let p = Math.ceil(Math.log10(low) - 1e-9); p <= Math.log10(high) + 1e-9; p++) powers.push(10 ** p);
    const found = powers.length > 1 ? powers : [low, Math.sqrt(low * high), high];
    return found.map((x) => [x, powers.length > 1 ? (Math.abs(Math.log10(x)) < 3 ? short(x) : "1e" + Math.round(Math.log10(x))) : x.toPrecision(2)]);
  }
  const rough = (high - low) / 5, unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 2.5, 5, 10].find((m) => m * unit >= rough);
  const found = [];
  for (let x = Math.ceil(low / step - 1e-9) * step; x <= high + step * 1e-9; x += step) found.push([x, short(+x.toPrecision(10))]);
  return found;
}

function makeScale(axis, values, from, to) {
  let [low, high] = axis.limits || [Math.min(...values), Math.max(...values)];
  if (!axis.limits) {
    if (low === high) [low, high] = axis.log ? [low / 2, high * 2] : [low - 0.5, high + 0.5];
    const pad = 0.04;
    if (axis.log) { const r = (high / low) ** pad; low /= r; high *= r; } else { const r = (high - low) * pad; low -= r; high += r; }
  }
  const f = axis.log ? Math.log : (x) => x;
  const scale = (x) => from + ((f(x) - f(low)) / (f(high) - f(low))) * (to - from);
  return Object.assign(scale, { low, high, ticks: ticksOf(low, high, axis) });
}

function extent(values, out) { for (const v of values) if (v !== null && v !== undefined) { if (v < out[0]) out[0] = v; if (v > out[1]) out[1] = v; } return out; }

function valuesOf(panel, which) {
  const out = [Infinity, -Infinity];
  for (const m of panel.marks) {
    if (m.mark === "rule") { if (which === "y" && !m.slope) extent([m.y], out); }
    else if (m.mark === "band") extent(which === "x" ? m.x : [...m.low, ...m.high], out);
    else if (m.mark === "bars") extent(which === "x" ? [0, ...m.length] : m.position, out);
    else if (m.mark === "cells") extent(which === "x" ? m.column : m.row, out);
    else extent(m[which], out);
  }
  return out[0] === Infinity ? [0, 1] : out;
}

// ---- marks, each a piece of SVG
const path = (x, y, sx, sy) => x.map((v, i) => (i ? "L" : "M") + sx(v).toFixed(1) + " " + sy(y[i]).toFixed(1)).join("");
const SHAPES = { best: "M0-5L5 4H-5Z", worst: "M0 5L5-4H-5Z", median: "M0-6L5 0L0 6L-5 0Z", ring: "M-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0" };
const DASH = { solid: "", dotted: ' stroke-dasharray="2 4"', dashed: ' stroke-dasharray="6 4"' };

const draw = {
  line: (m, c, sx, sy) => `<path d="${path(m.x, m.y, sx, sy)}" fill="none" stroke="${c}" stroke-width="2"${DASH[m.style]}/>`,
  band: (m, c, sx, sy) => `<path d="${path([...m.x, ...m.x.slice().reverse()], [...m.low, ...m.high.slice().reverse()], sx, sy)}Z" fill="${c}" fill-opacity=".18"/>`,
  shape: (m, c, sx, sy) => `<path d="${path(m.x, m.y, sx, sy)}Z" fill="${c}" fill-opacity=".35" stroke="${c}"/>`,
  points: (m, c, sx, sy) => m.kind === "dot"
    ? m.x.map((x, i) => `<circle class="dot" cx="${sx(x).toFixed(1)}" cy="${sy(m.y[i]).toFixed(1)}" r="${m.x.length > 300 ? 1.8 : 3}" fill="${c}"/>`).join("")
    : m.x.map((x, i) => `<path class="${m.kind === "ring" ? "" : "mark"}" d="${SHAPES[m.kind]}" fill="${c}" transform="translate(${sx(x).toFixed(1)} ${sy(m.y[i]).toFixed(1)})"/>`).join(""),
  bars: (m, c, sx, sy) => m.position.map((p, i) => {
    const a = sy(p - m.thickness / 2), b = sy(p + m.thickness / 2);
    return `<rect x="${sx(0)}" y="${Math.min(a, b)}" width="${Math.max(sx(m.length[i]) - sx(0), 0.5)}" height="${Math.abs(b - a)}" fill="${c}"/>`;
  }).join(""),
  cells: (m, c, sx, sy, chart) => m.row.map((r, i) => {
    const x = sx(m.column[i] - 0.5), y = sy(r - 0.5), w = sx(m.column[i] + 0.5) - x, h = sy(r + 0.5) - y, s = (w / 2) * 0.8 * Math.sqrt(m.lost[i]);
    const cross = m.lost[i] > 0 ? `<path d="M${x + w / 2 - s} ${y + h / 2 - s}l${2 * s} ${2 * s}m0 ${-2 * s}l${-2 * s} ${2 * s}" stroke="#D55E00" stroke-width="1.6"/>` : "";
    return `<rect x="${x}" y="${y}" width="${w}" height="${h}" fill="${m.lost[i] >= 1 ? data.lost : heat(m.value[i] / chart.most)}" stroke="#fff" stroke-width=".6"/>${cross}`;
  }).join(""),
};

function heat(share) {
  const at = Math.max(0, Math.min(1, share || 0)) * (data.heat.length - 1), i = Math.min(Math.floor(at), data.heat.length - 2);
  const part = (hex, k) => parseInt(hex.slice(1 + 2 * k, 3 + 2 * k), 16);
  return "rgb(" + [0, 1, 2].map((k) => Math.round(part(data.heat[i], k) + (part(data.heat[i + 1], k) - part(data.heat[i], k)) * (at - i))) + ")";
}

function rule(m, sx, sy) {
  const y = (x) => sy(m.y + m.slope * x);
  const text = m.text ? `<text class="faint" x="${W - 8}" y="${sy(m.y) - 4}" text-anchor="end">${escaped(m.text)}</text>` : "";
  return `<path class="rule" d="M${sx(sx.low)} ${y(sx.low)}L${sx(sx.high)} ${y(sx.high)}"/>${text}`;
}

function frame(panel, sx, sy, box, plain) {
  const lines = sy.ticks.map(([v, t]) => `<path class="grid" d="M${box.l} ${sy(v)}H${box.r}" ${plain || panel.y.ticks.length ? `opacity="0"` : ""}/><text x="${box.l - 6}" y="${sy(v) + 4}" text-anchor="end">${escaped(t)}</text>`);
  for (const [v, t] of sx.ticks) {
    lines.push(t.split("\n").map((row, i) => `<text x="${sx(v)}" y="${box.b + 17 + 15 * i}" text-anchor="middle">${escaped(row)}</text>`).join(""));
    if (!panel.x.ticks.length) lines.push(`<path class="grid" d="M${sx(v)} ${box.t}V${box.b}"/>`);
  }
  if (!plain) lines.push(`<path class="axis" d="M${box.l} ${box.t}V${box.b}H${box.r}" fill="none"/>`);
  lines.push(`<text x="${(box.l + box.r) / 2}" y="${H - 4}" text-anchor="middle">${escaped(panel.x.label)}</text>`);
  lines.push(`<text transform="translate(14 ${(box.t + box.b) / 2}) rotate(-90)" text-anchor="middle">${escaped(panel.y.label)}</text>`);
  return lines.join("") + `<text x="${(box.l + box.r) / 2}" y="13" text-anchor="middle">${escaped(panel.title)}</text>`;
}

function drawPanel(chart, panel, yValues, id) {
  const isMap = panel.marks.some((m) => m.mark === "cells"), named = panel.y.ticks.some(([, t]) => t.length > 4);
  const box = { l: isMap ? 8 : named ? 116 : 64, r: W - 8, t: panel.title ? 22 : 8, b: H - (isMap ? 8 : 48) };
  if (isMap) { const side = Math.min(box.r - box.l, box.b - box.t); box.l = (W - side) / 2; box.r = box.l + side; box.b = box.t + side; }
  const sx = makeScale(panel.x, valuesOf(panel, "x"), box.l, box.r), sy = makeScale(panel.y, yValues, box.b, box.t);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const points = [];
  let inside = "";
  for (const m of panel.marks) {
    if (m.mark === "rule") { inside += rule(m, sx, sy); continue; }
    inside += `<g data-s="${escaped(m.series)}">${draw[m.mark](m, chart.series[m.series].colour, sx, sy, chart)}</g>`;
    if (m.mark === "points") m.x.forEach((x, i) => { if (m.runs) points.push({ x: sx(x), y: sy(m.y[i]), run: m.runs[i], s: m.series }); });
    if (m.mark === "points" && m.kind === "ring") points.push({ x: sx(m.x[0]), y: sy(m.y[0]), text: `${panel.x.label}: ${short(m.x[0])}\n${panel.y.label}: ${short(m.y[0])}`, s: m.series });
    if (m.mark === "bars") m.position.forEach((p, i) => points.push({ x: sx(m.length[i] / 2), y: sy(p), text: short(m.length[i]), s: m.series, reach: 400 }));
    if (m.mark === "cells") m.row.forEach((r, i) => points.push({ x: sx(m.column[i]), y: sy(r), s: m.series, text: `row ${r}, column ${m.column[i]}\n` + (m.lost[i] < 1 ? `${short(m.value[i])} steps` : "no policy arrives") + (m.lost[i] > 0 && m.lost[i] < 1 ? `\n${Math.round(100 * m.lost[i])} % never arrive` : "") }));
  }
  svg.setAttribute("viewBox", `0 0 ${W} ${H}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("aria-label", `${panel.title} ${panel.y.label} by ${panel.x.label}`.trim());
  svg.innerHTML = `<defs><clipPath id="${id}"><rect x="${box.l - 7}" y="${box.t - 7}" width="${box.r - box.l + 14}" height="${box.b - box.t + 14}"/></clipPath></defs>` +
    frame(panel, sx, sy, box, isMap) + `<g clip-path="url(#${id})">${inside}</g><circle class="at" r="6" visibility="hidden"/>`;
  points.sort((a, b) => a.x - b.x || a.y - b.y);
  listen(svg, points, lineReader(chart, panel, sx, box));
  return svg;
}

// ---- what a pointer or a key finds
function lineReader(chart, panel, sx, box) {
  const lines = panel.marks.filter((m) => m.mark === "line");
  if (!lines.length) return null;
  return (px) => {
    if (px < box.l || px > box.r) return null;
    let at = null;
    const rows = lines.filter((m) => !off.has(m.series) && m.x.length).map((m) => {
      let best = 0;
      for (let i = 1; i < m.x.length; i++) if (Math.abs(sx(m.x[i]) - px) < Math.abs(sx(m.x[best]) - px)) best = i;
      at = at === null ? m.x[best] : at;
      const style = chart.keyOf[m.style];
      return `${chart.series[m.series].name}${style ? " (" + style + ")" : ""}: ${short(m.y[best])}`;
    });
    return rows.length ? `${panel.x.label} ${short(at)}\n${rows.join("\n")}` : null;
  };
}

function nearest(points, x, y, reach) {
  let best = null, least = reach * reach;
  for (const p of points) {
    if (off.has(p.s)) continue;
    const d = (p.x - x) ** 2 + (p.y - y) ** 2;
    if (d <= (p.reach ? Math.max(least, 900) : least) && (!best || d < least)) { best = p; least = d; }
  }
  return best;
}

function listen(svg, points, reader) {
  const ring = svg.querySelector(".at");
  let current = -1;
  const place = (event) => { const b = svg.getBoundingClientRect(); return [((event.clientX - b.left) / b.width) * W, ((event.clientY - b.top) / b.height) * H]; };
  const show = (p, x, y) => { ring.setAttribute("cx", p.x); ring.setAttribute("cy", p.y); ring.setAttribute("visibility", "visible"); showTip(p.run === undefined ? p.text : describe(p.run), x, y); };
  const hide = () => { ring.setAttribute("visibility", "hidden"); tip.hidden = true; svg.classList.remove("pick"); };
  svg.addEventListener("pointermove", (event) => {
    const [x, y] = place(event), p = nearest(points, x, y, 14);
    hide();
    if (p) { show(p, event.clientX, event.clientY); svg.classList.toggle("pick", p.run !== undefined); return; }
    const text = reader && reader(x);
    if (text) showTip(text, event.clientX, event.clientY);
  });
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("blur", hide);
  svg.addEventListener("click", (event) => { const p = nearest(points, ...place(event), 18); if (p && p.run !== undefined) openRun(p.run, svg); });
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter" && points[current] && points[current].run !== undefined) openRun(points[current].run, svg);
    if (!step || !points.some((p) => !off.has(p.s))) return;
    event.preventDefault();
    do current = (current + step + points.length) % points.length; while (off.has(points[current].s));
    const b = svg.getBoundingClientRect();
    show(points[current], b.left + (points[current].x / W) * b.width, b.top + (points[current].y / H) * b.height);
  });
}

function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const b = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - b.width - 4)) + "px";
  tip.style.top = Math.max(4, y + 14 + b.height > innerHeight ? y - b.height - 10 : y + 14) + "px";
}

const methodOf = (i) => data.methods.find((m) => m.key === runs.method[i]);
const scoreName = (i) => data.scores[runs.world[i]];
const valuesIn = (i) => Object.keys(runs.values).filter((name) => runs.values[name][i] !== null).map((name) => [runs.names[name], short(runs.values[name][i])]);

function describe(i) {
  const head = `${methodOf(i).name}, ${runs.world[i]}, draw ${runs.draw[i]}, seed ${runs.seed[i]}`;
  return [head, `${scoreName(i)}: ${short(runs.score[i])}`, ...valuesIn(i).map(([name, value]) => `${name}: ${value}`)].join("\n");
}

// ---- one run
const coded = new Uint16Array(Uint8Array.from(atob(data.curves.data), (c) => c.charCodeAt(0)).buffer);

function curveOf(i) {
  const n = data.curves.at.length, x = [], y = [];
  for (let k = 0; k < n; k++) {
    const v = coded[i * n + k];
    if (v !== 65535) { x.push(data.curves.at[k]); y.push(data.curves.low + (v / 65534) * (data.curves.high - data.curves.low)); }
  }
  return { x, y };
}

let before = null;

function openRun(i, from) {
  const { x, y } = curveOf(i), method = methodOf(i);
  const facts = [["method", method.name], ["world", runs.world[i]], ["draw, seed", `${runs.draw[i]}, ${runs.seed[i]}`], [scoreName(i), short(runs.score[i])], ["outcome", runs.outcome[i]], ["seconds", short(runs.seconds[i])], ...valuesIn(i), ...(runs.error[i] ? [["error", runs.error[i]]] : [])];
  card.innerHTML = `<h3>${escaped(runs.run[i])}</h3><button type="button" class="close" aria-label="Close">×</button><div class="curve"></div><dl>${facts.map(([k, v]) => `<dt>${escaped(k)}</dt><dd>${escaped(v)}</dd>`).join("")}</dl>`;
  const axis = { log: false, ticks: [], limits: null };
  const panel = { title: "", x: { ...axis, label: "Iteration" }, y: { ...axis, label: "Return" }, marks: [{ mark: "line", series: method.key, x, y, style: "solid" }] };
  const chart = { series: { [method.key]: method }, keyOf: {} };
  if (x.length) card.querySelector(".curve").append(drawPanel(chart, panel, extent([data.curves.low, data.curves.high], [0, 0]), "clip-run"));
  else card.querySelector(".curve").textContent = "It has no curve.";
  card.hidden = false;
  before = from;
  card.querySelector(".close").addEventListener("click", closeRun);
  card.focus();
}

function closeRun() { card.hidden = true; if (before) before.focus(); }

addEventListener("keydown", (event) => { if (event.key === "Escape" && !card.hidden) closeRun(); });
document.querySelectorAll("button.run").forEach((b) => b.addEventListener("click", () => openRun(+b.dataset.run, b)));

// ---- the page
function drawChart(chart, index) {
  const figure = document.getElementById(chart.name), place = figure.querySelector(".panels");
  chart.keyOf = Object.fromEntries([...figure.querySelectorAll(".key li")].map((li) => [li.dataset.style, li.textContent]));
  chart.most = Math.max(1e-9, ...chart.panels.flatMap((p) => p.marks.filter((m) => m.mark === "cells").flatMap((m) => m.value.filter((v) => v !== null))));
  const all = chart.panels.reduce((out, p) => extent(valuesOf(p, "y"), out), [Infinity, -Infinity]);
  place.classList.toggle("one", chart.panels.length === 1);
  place.classList.toggle("fixed", chart.columns > 0 && chart.columns <= 4);
  place.style.setProperty("--n", chart.columns);
  chart.panels.forEach((panel, k) => place.append(drawPanel(chart, panel, chart.sameY ? all : valuesOf(panel, "y"), `clip-${index}-${k}`)));
  const known = new Set(data.methods.map((m) => m.key)), key = figure.querySelector(".key");
  if (chart.scale) key.insertAdjacentHTML("beforeend", `<li><i style="width:6em;background:linear-gradient(90deg,${data.heat})"></i>${escaped(chart.scale)}, 0 to ${short(chart.most)}</li>`);
  else for (const [name, s] of Object.entries(chart.series)) if (!known.has(name)) key.insertAdjacentHTML("beforeend", `<li><i style="background:${s.colour}"></i>${escaped(s.name)}</li>`);
}

data.charts.forEach(drawChart);

const rules = document.head.appendChild(document.createElement("style"));

function applyOff() {
  rules.textContent = [...off].map((name) => `svg [data-s="${CSS.escape(name)}"] { display: none; }`).join("\n");
  document.querySelectorAll("nav button").forEach((b) => b.setAttribute("aria-pressed", String(!off.has(b.dataset.method))));
  sessionStorage.setItem("off", JSON.stringify([...off]));
}

document.querySelectorAll("nav button").forEach((b) => {
  b.style.setProperty("--colour", data.methods.find((m) => m.key === b.dataset.method).colour);
  b.addEventListener("click", () => { off.has(b.dataset.method) ? off.delete(b.dataset.method) : off.add(b.dataset.method); applyOff(); });
});
applyOff();

const version = document.body.dataset.version;
if (version) setInterval(async () => {
  const answer = await fetch("version").catch(() => null);
  if (answer && answer.ok && (await answer.text()) !== version && card.hidden) location.reload();
}, 5000);
