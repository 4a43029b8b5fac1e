// What a pointer or a key finds in a panel.

const NEAR = 14;
const NEAR_CLICK = 18;
const NEAR_WIDE = 30;
const STEPS = {
  ArrowRight: 1,
  ArrowDown: 1,
  ArrowLeft: -1,
  ArrowUp: -1
};

// Returns a function that describes all lines at a horizontal position, or null where a panel has no lines.
function lineReader(chart, panel, sx, box) {
  const lines = panel.marks.filter((m) => m.mark === "line");
  if (!lines.length) return null;
  return (px) => {
    const shown = lines.filter((m) => !off.has(m.series) && m.x.length);
    if (px < box.l || px > box.r || !shown.length) return null;
    const rows = shown.map((m) => {
      const style = chart.keyOf[m.style];
      return `${chart.series[m.series].name}${style ? ` (${style})` : ""}: ${short(m.y[closest(m.x, px, sx)])}`;
    });
    const x = shown[0].x[closest(shown[0].x, px, sx)];
    return `${panel.x.label} ${short(x)}\n${rows.join("\n")}`;
  };
}

// The index of the value that is drawn closest to a horizontal position.
function closest(values, px, sx) {
  let best = 0;
  for (let i = 1; i < values.length; i++) {
    if (Math.abs(sx(values[i]) - px) < Math.abs(sx(values[best]) - px)) best = i;
  }
  return best;
}

// The nearest point that is not switched off; wide ones, such as bars, are found from further away.
function nearest(points, x, y, reach) {
  let best = null;
  let least = Infinity;
  for (const p of points) {
    const distance = Math.hypot(p.x - x, p.y - y);
    if (!off.has(p.s) && distance <= (p.wide ? NEAR_WIDE : reach) && distance < least) {
      best = p;
      least = distance;
    }
  }
  return best;
}

function listen(svg, points, reader) {
  const ring = svg.querySelector(".at");
  let current = -1;

  const positionOf = (event) => {
    const b = svg.getBoundingClientRect();
    return [((event.clientX - b.left) / b.width) * WIDTH, ((event.clientY - b.top) / b.height) * HEIGHT];
  };
  const show = (p, x, y) => {
    ring.setAttribute("cx", p.x);
    ring.setAttribute("cy", p.y);
    ring.setAttribute("visibility", "visible");
    showTip(p.run === undefined ? p.text : describe(p.run), x, y);
  };
  const hide = () => {
    ring.setAttribute("visibility", "hidden");
    tip.hidden = true;
    svg.classList.remove("pick");
  };
  const move = (event) => {
    const [x, y] = positionOf(event);
    const p = nearest(points, x, y, NEAR);
    hide();
    if (p) {
      show(p, event.clientX, event.clientY);
      svg.classList.toggle("pick", p.run !== undefined);
      return;
    }
    const text = reader && reader(x);
    if (text) showTip(text, event.clientX, event.clientY);
  };
  const click = (event) => {
    const p = nearest(points, ...positionOf(event), NEAR_CLICK);
    if (p && p.run !== undefined) openRun(p.run, svg);
  };
  const press = (event) => {
    const step = STEPS[event.key];
    const p = points[current];
    if (event.key === "Enter" && p && p.run !== undefined) openRun(p.run, svg);
    if (!step || !points.some((point) => !off.has(point.s))) return;
    event.preventDefault();
    do {
      current = (current + step + points.length) % points.length;
    } while (off.has(points[current].s));
    const b = svg.getBoundingClientRect();
    const { x, y } = points[current];
    show(points[current], b.left + (x / WIDTH) * b.width, b.top + (y / HEIGHT) * b.height);
  };

  svg.addEventListener("pointermove", move);
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("blur", hide);
  svg.addEventListener("click", click);
  svg.addEventListener("keydown", press);
}

function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const b = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - b.width - 4)) + "px";
  tip.style.top = Math.max(4, y + 14 + b.height > innerHeight ? y - b.height - 10 : y + 14) + "px";
}
