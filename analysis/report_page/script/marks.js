// Marks: each function returns a piece of SVG for a mark m in a colour, with the scales sx and sy.

const SHAPES = {
  best: "M0-5L5 4H-5Z",
  worst: "M0 5L5-4H-5Z",
  median: "M0-6L5 0L0 6L-5 0Z",
  ring: "M-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0"
};
const DASHES = {
  solid: "",
  dotted: ' stroke-dasharray="2 4"',
  dashed: ' stroke-dasharray="6 4"'
};
const MANY = 300;
const LOST_INK = "#D55E00";

function path(x, y, sx, sy) {
  return x.map((v, i) => (i ? "L" : "M") + sx(v).toFixed(1) + " " + sy(y[i]).toFixed(1)).join("");
}

function drawLine(m, colour, sx, sy) {
  const line = path(m.x, m.y, sx, sy);
  return `<path d="${line}" fill="none" stroke="${colour}" stroke-width="2"${DASHES[m.style]}/>`;
}

function drawSpan(m, colour, sx, sy) {
  return `<path d="${path(m.x, m.y, sx, sy)}" stroke="${colour}" stroke-width="2" stroke-opacity=".5"/>`;
}

function drawBand(m, colour, sx, sy) {
  const x = [...m.x, ...m.x.slice().reverse()];
  const y = [...m.low, ...m.high.slice().reverse()];
  return `<path d="${path(x, y, sx, sy)}Z" fill="${colour}" fill-opacity=".18"/>`;
}

function drawShape(m, colour, sx, sy) {
  return `<path d="${path(m.x, m.y, sx, sy)}Z" fill="${colour}" fill-opacity=".35" stroke="${colour}"/>`;
}

function drawPoints(m, colour, sx, sy) {
  const radius = m.x.length > MANY ? 1.8 : 3;
  const kind = m.kind === "ring" ? "" : "mark";
  return m.x.map((value, i) => {
    const x = sx(value).toFixed(1);
    const y = sy(m.y[i]).toFixed(1);
    if (m.kind === "dot") return `<circle class="dot" cx="${x}" cy="${y}" r="${radius}" fill="${colour}"/>`;
    return `<path class="${kind}" d="${SHAPES[m.kind]}" fill="${colour}" transform="translate(${x} ${y})"/>`;
  }).join("");
}

function drawBars(m, colour, sx, sy) {
  return m.position.map((position, i) => {
    const a = sy(position - m.thickness / 2);
    const b = sy(position + m.thickness / 2);
    const width = Math.max(sx(m.length[i]) - sx(0), 0.5);
    const box = `x="${sx(0)}" y="${Math.min(a, b)}" width="${width}" height="${Math.abs(b - a)}"`;
    return `<rect ${box} fill="${colour}"/>`;
  }).join("");
}

function drawCells(m, colour, sx, sy, chart) {
  return m.row.map((row, i) => {
    const x = sx(m.column[i] - 0.5);
    const y = sy(row - 0.5);
    const width = sx(m.column[i] + 0.5) - x;
    const height = sy(row + 0.5) - y;
    const fill = m.lost[i] >= 1 ? data.lost : heat(m.value[i] / chart.most);
    const box = `x="${x}" y="${y}" width="${width}" height="${height}"`;
    const cell = `<rect ${box} fill="${fill}" stroke="#fff" stroke-width=".6"/>`;
    return cell + drawCross(x + width / 2, y + height / 2, (width / 2) * 0.8 * Math.sqrt(m.lost[i]));
  }).join("");
}

// A cross whose arms reach so far from its middle.
function drawCross(x, y, reach) {
  if (!(reach > 0)) return "";
  const arms = `M${x - reach} ${y - reach}l${2 * reach} ${2 * reach}m0 ${-2 * reach}l${-2 * reach} ${2 * reach}`;
  return `<path d="${arms}" stroke="${LOST_INK}" stroke-width="1.6"/>`;
}

// The colour of a heat map for a share between 0 and 1.
function heat(share) {
  const at = Math.max(0, Math.min(1, share || 0)) * (data.heat.length - 1);
  const i = Math.min(Math.floor(at), data.heat.length - 2);
  const part = (hex, k) => parseInt(hex.slice(1 + 2 * k, 3 + 2 * k), 16);
  const mixed = [0, 1, 2].map((k) => {
    const from = part(data.heat[i], k);
    return Math.round(from + (part(data.heat[i + 1], k) - from) * (at - i));
  });
  return `rgb(${mixed})`;
}

// A line across the whole panel. Its text stands above its end, along a sloped line; beside it where little of that is
// in the panel.
function drawRule(m, sx, sy) {
  const y = (x) => sy(m.y + m.slope * x);
  const line = `<path class="rule" d="M${sx(sx.low)} ${y(sx.low)}L${sx(sx.high)} ${y(sx.high)}"/>`;
  if (!m.text) return line;
  const words = escaped(m.text);
  const text = (x, height, rest) => `${line}<text class="faint" x="${x}" y="${height}"${rest}>${words}</text>`;
  if (m.slope <= 0) return text(sx(sx.high), y(sx.high) - 4, ' text-anchor="end"');
  const enters = sx((sy.low - m.y) / m.slope);
  const leaves = sx((sy.high - m.y) / m.slope);
  const [left, right] = [sx(sx.low), sx(sx.high)];
  if (leaves < (left + right) / 2 && !m.at_start) return text(leaves + 12, sy(sy.high) + 12, "");
  if (enters > (left + right) / 2 && m.at_start) return text(enters - 12, sy(sy.low) - 6, ' text-anchor="end"');
  const rise = (y(sx.low) - y(sx.high)) / (right - left);
  const x = m.at_start ? Math.max(left, enters) + 8 : Math.min(right, leaves - 20 / rise);
  const height = y(sx.low) - rise * (x - left);
  const turn = `rotate(${(-Math.atan(rise) * 180) / Math.PI} ${x} ${height})`;
  return text(x, height - 4, ` text-anchor="${m.at_start ? "start" : "end"}" transform="${turn}"`);
}

const DRAW = {
  line: drawLine,
  band: drawBand,
  shape: drawShape,
  points: drawPoints,
  bars: drawBars,
  cells: drawCells,
  span: drawSpan
};
