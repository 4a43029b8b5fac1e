// One panel: its frame, its marks, and what can be pointed at.

// A panel's title on one line.
function titleOf(panel) {
  return panel.title.replace("\n", ": ");
}

// The width of a letter, roughly, and the least room left of the y axis.
const LETTER = 8.5;
const LEAST = 64;

// Where the axes are in the drawing: left, right, top and bottom.
function boxOf(panel, isMap) {
  const top = panel.title ? 22 : 8;
  if (isMap) {
    const side = Math.min(WIDTH - 16, HEIGHT - 8 - top);
    const left = (WIDTH - side) / 2;
    return { l: left, r: left + side, t: top, b: top + side };
  }
  return { l: LEAST, r: WIDTH - 8, t: top, b: HEIGHT - 48 };
}

// The room that the texts at the y axis need beside its label.
function roomFor(panel, sy) {
  const longest = Math.max(0, ...sy.ticks.map(([, text]) => text.length));
  return longest * LETTER + (panel.y.label ? 26 : 10);
}

function drawFrame(panel, sx, sy, box, isMap) {
  const middle = (box.l + box.r) / 2;
  const parts = [drawYTicks(panel, sy, box, isMap), drawXTicks(panel, sx, box)];
  if (!isMap) parts.push(`<path class="axis" d="M${box.l} ${box.t}V${box.b}H${box.r}" fill="none"/>`);
  const beside = `translate(14 ${(box.t + box.b) / 2}) rotate(-90)`;
  parts.push(`<text x="${middle}" y="${HEIGHT - 4}" text-anchor="middle">${escaped(panel.x.label)}</text>`);
  parts.push(`<text transform="${beside}" text-anchor="middle">${escaped(panel.y.label)}</text>`);
  parts.push(`<text x="${middle}" y="13" text-anchor="middle">${escaped(titleOf(panel))}</text>`);
  return parts.join("");
}

function drawYTicks(panel, sy, box, isMap) {
  const hidden = isMap || panel.y.ticks.length ? ' opacity="0"' : "";
  return sy.ticks.map(([value, text]) => {
    const line = `<path class="grid" d="M${box.l} ${sy(value)}H${box.r}"${hidden}/>`;
    return `${line}<text x="${box.l - 6}" y="${sy(value) + 4}" text-anchor="end">${escaped(text)}</text>`;
  }).join("");
}

function drawXTicks(panel, sx, box) {
  return sx.ticks.map(([value, text]) => {
    const x = sx(value);
    const rows = text.split("\n").map((row, i) =>
      `<text x="${x}" y="${box.b + 17 + 15 * i}" text-anchor="middle">${escaped(row)}</text>`
    );
    if (!panel.x.ticks.length) rows.push(`<path class="grid" d="M${x} ${box.t}V${box.b}"/>`);
    return rows.join("");
  }).join("");
}

// The points of a mark that a pointer can find, each with the run or the text that belongs to it.
function pointsOf(m, panel, sx, sy) {
  const s = m.series;
  if (m.mark === "points" && m.runs) {
    return m.x.map((x, i) => ({ x: sx(x), y: sy(m.y[i]), run: m.runs[i], s }));
  }
  if (m.mark === "points" && m.kind === "ring") {
    const text = `${panel.x.label}: ${short(m.x[0])}\n${panel.y.label}: ${short(m.y[0])}`;
    return [{ x: sx(m.x[0]), y: sy(m.y[0]), text, s }];
  }
  if (m.mark === "bars") {
    return m.position.map((position, i) => {
      const text = short(m.length[i]);
      return { x: sx(m.length[i] / 2), y: sy(position), text, s, wide: true };
    });
  }
  if (m.mark === "cells") {
    return m.row.map((row, i) => ({ x: sx(m.column[i]), y: sy(row), text: cellText(m, i), s }));
  }
  return [];
}

function cellText(m, i) {
  const lines = [`row ${m.row[i]}, column ${m.column[i]}`];
  lines.push(m.lost[i] < 1 ? `${short(m.value[i])} steps` : "no policy arrives");
  if (m.lost[i] > 0 && m.lost[i] < 1) lines.push(`${Math.round(100 * m.lost[i])} % never arrive`);
  return lines.join("\n");
}

function drawPanel(chart, panel, yValues, id) {
  const isMap = panel.marks.some((m) => m.mark === "cells");
  const box = boxOf(panel, isMap);
  const sy = makeScale(panel.y, yValues, box.b, box.t);
  if (!isMap) box.l = Math.min(WIDTH / 2, Math.max(LEAST, roomFor(panel, sy)));
  const sx = makeScale(panel.x, valuesOf(panel, "x"), box.l, box.r);
  const points = [];
  let inside = "";
  for (const m of panel.marks) {
    if (m.mark === "rule") {
      inside += drawRule(m, sx, sy);
      continue;
    }
    const colour = chart.series[m.series].colour;
    inside += `<g data-s="${escaped(m.series)}">${DRAW[m.mark](m, colour, sx, sy, chart)}</g>`;
    for (const point of pointsOf(m, panel, sx, sy)) points.push(point);
  }
  const clip = `x="${box.l - 7}" y="${box.t - 7}" width="${box.r - box.l + 14}" height="${box.b - box.t + 14}"`;
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("aria-label", `${titleOf(panel)} ${panel.y.label} by ${panel.x.label}`.trim());
  svg.innerHTML = `<defs><clipPath id="${id}"><rect ${clip}/></clipPath></defs>` +
    drawFrame(panel, sx, sy, box, isMap) +
    `<g clip-path="url(#${id})">${inside}</g><circle class="at" r="6" visibility="hidden"/>`;
  points.sort((a, b) => a.x - b.x || a.y - b.y);
  listen(svg, points, lineReader(chart, panel, sx, box));
  return svg;
}
