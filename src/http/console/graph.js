// A graph of the last minutes in SVG: lines, a quiet grid, and the values under the pointer.

import { h, setAttribute, setText } from "./dom.js";
import { short, timeOfDay } from "./format.js";

const NS = "http://www.w3.org/2000/svg";
const PAD = { left: 44, right: 8, top: 8, bottom: 22 };
/** The time from left to right: as much as is known, between these. */
const WINDOW_MS = { least: 60_000, most: 300_000 };

function svg(name, attributes = {}) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

/** The next round number: 1, 2, 5 times a power of ten. */
export function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  const step = [1, 2, 5, 10].find((factor) => value <= factor * power);
  return step * power;
}

/** `series`: name in the history, label, and whether the area below is filled. */
export function graph({ title, series, show, height = 220 }) {
  const values = series.map((one) => h("span", { class: "value" }, "0"));
  const when = h("span", { class: "when" });
  const legend = h("div", { class: "legend" },
    series.map((one, at) => h("span", { class: `key ${one.name}` }, h("i", { "aria-hidden": "true" }), `${one.label} `, values[at])),
    when);
  const drawing = svg("svg", { role: "img", height, focusable: "false" });
  const label = svg("title");
  const grid = svg("g", { class: "grid" });
  const lines = series.map((one) => ({
    area: one.fill ? svg("path", { class: `area ${one.name}` }) : null,
    line: svg("path", { class: `line ${one.name}` }),
  }));
  const cursor = svg("line", { class: "cursor", visibility: "hidden" });
  drawing.append(label, grid, ...lines.flatMap(({ area, line }) => [area, line].filter(Boolean)), cursor);
  const element = h("figure", { class: "graph" }, h("figcaption", {}, h("h2", {}, title), legend), drawing);

  let width = 0;
  let history = null;
  let pointed = null;
  new ResizeObserver(([entry]) => {
    width = Math.floor(entry.contentRect.width);
    draw();
  }).observe(element);
  drawing.addEventListener("pointermove", (event) => {
    pointed = event.clientX - drawing.getBoundingClientRect().left;
    draw();
  });
  drawing.addEventListener("pointerleave", () => {
    pointed = null;
    draw();
  });

  function draw() {
    if (!history || width <= PAD.left + PAD.right) return;
    setAttribute(drawing, "viewBox", `0 0 ${width} ${height}`);
    setAttribute(drawing, "width", width);
    const end = history.at_ms.at(-1) ?? Date.now();
    const inner = { width: width - PAD.left - PAD.right, height: height - PAD.top - PAD.bottom };
    const most = Math.max(1, ...series.flatMap((one) => history[one.name]));
    const top = roundUp(most);
    const known = end - (history.at_ms[0] ?? end);
    const shown = Math.min(Math.max(known, WINDOW_MS.least), WINDOW_MS.most);
    const x = (ms) => PAD.left + inner.width * (1 - (end - ms) / shown);
    const y = (value) => PAD.top + inner.height * (1 - value / top);
    drawGrid(top, end, shown, x, y);
    series.forEach((one, at) => {
      const points = history[one.name].map((value, index) => `${x(history.at_ms[index]).toFixed(1)},${y(value).toFixed(1)}`);
      const path = points.length ? `M${points.join("L")}` : "";
      setAttribute(lines[at].line, "d", path);
      if (lines[at].area) {
        const floor = y(0).toFixed(1);
        setAttribute(lines[at].area, "d", path && `${path}V${floor}H${x(history.at_ms[0]).toFixed(1)}Z`);
      }
    });
    point(x, inner);
    const latest = series.map((one) => `${one.label} ${show(history[one.name].at(-1) ?? 0)}`);
    setText(label, `${title}: ${latest.join(", ")}`);
  }

  function drawGrid(top, end, shown, x, y) {
    grid.replaceChildren();
    for (const part of [0, 0.5, 1]) {
      const at = y(top * part);
      grid.append(svg("line", { x1: PAD.left, x2: width - PAD.right, y1: at, y2: at }));
      const text = svg("text", { x: PAD.left - 8, y: at + 4, "text-anchor": "end" });
      text.textContent = short(top * part);
      grid.append(text);
    }
    const most = width < 560 ? 3 : 6;
    const every = [15_000, 30_000, 60_000, 120_000].find((step) => shown / step <= most) ?? 120_000;
    for (let ms = Math.ceil((end - shown) / every) * every; ms <= end; ms += every) {
      const at = x(ms);
      if (at < PAD.left + 16 || at > width - 24) continue;
      const text = svg("text", { x: at, y: height - 5, "text-anchor": "middle" });
      text.textContent = every < 60_000 ? timeOfDay(ms) : timeOfDay(ms).slice(0, 5);
      grid.append(text, svg("line", { class: "tick", x1: at, x2: at, y1: y(0), y2: y(0) + 4 }));
    }
  }

  function point(x, inner) {
    let index = history.at_ms.length - 1;
    const isPointed = pointed !== null && pointed >= PAD.left && index >= 0;
    if (isPointed) {
      const nearest = (best, ms, at) => (Math.abs(x(ms) - pointed) < Math.abs(x(history.at_ms[best]) - pointed) ? at : best);
      index = history.at_ms.reduce(nearest, 0);
      const at = x(history.at_ms[index]);
      for (const [name, value] of Object.entries({ x1: at, x2: at, y1: PAD.top, y2: PAD.top + inner.height })) {
        setAttribute(cursor, name, value);
      }
    }
    setAttribute(cursor, "visibility", isPointed ? "visible" : "hidden");
    series.forEach((one, at) => setText(values[at], show(history[one.name][index] ?? 0)));
    setText(when, isPointed ? `at ${timeOfDay(history.at_ms[index])}` : "now");
  }

  return {
    element,
    update(next) {
      history = next;
      draw();
    },
  };
}
