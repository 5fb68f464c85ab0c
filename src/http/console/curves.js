// A chart of lines over any time in SVG, what was a week before as dotted lines, and the values under the pointer.

import { h, setAttribute, setText } from "./dom.js";
import { local, short } from "./format.js";
import { roundUp } from "./graph.js";

const NS = "http://www.w3.org/2000/svg";
const PAD = { left: 52, right: 8, top: 8, bottom: 22 };
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** What may lie between two times below the chart. */
const TICKS_MS = [5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880, 7_200, 10_080, 20_160].map((minutes) => minutes * MINUTE_MS);

function svg(name, attributes = {}, text = null) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== null) element.textContent = text;
  return element;
}

/** What stands below the chart: the time of a day, or the day. */
function tick(ms, every) {
  const at = new Date(ms);
  const two = (value) => String(value).padStart(2, "0");
  return every < DAY_MS ? `${two(at.getHours())}:${two(at.getMinutes())}` : `${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/**
 * `series`: name in the points, and label. A point has `at` and `end` in milliseconds and a number for each series, or null where
 * there is none.
 */
export function curves({ title, series, show, height = 220 }) {
  const values = series.map(() => h("span", { class: "value" }, ""));
  const when = h("span", { class: "when" });
  const dotted = h("span", { class: "key before", hidden: true }, h("i", { "aria-hidden": "true" }), "a week before");
  const legend = h("div", { class: "legend" },
    series.map((one, at) => h("span", { class: `key ${one.name}` }, h("i", { "aria-hidden": "true" }), `${one.label} `, values[at])), dotted, when);
  const drawing = svg("svg", { role: "img", height, focusable: "false" });
  const label = svg("title");
  const grid = svg("g", { class: "grid" });
  const before = series.map((one) => svg("path", { class: `line before ${one.name}` }));
  const lines = series.map((one) => svg("path", { class: `line ${one.name}` }));
  const cursor = svg("line", { class: "cursor", visibility: "hidden" });
  drawing.append(label, grid, ...before, ...lines, cursor);
  const element = h("figure", { class: "graph" }, h("figcaption", {}, h("h2", {}, title), legend), drawing);
  let width = 0;
  let shown = null;
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
    if (!shown || width <= PAD.left + PAD.right) return;
    const { since, until, points } = shown;
    setAttribute(drawing, "viewBox", `0 0 ${width} ${height}`);
    setAttribute(drawing, "width", width);
    const room = { width: width - PAD.left - PAD.right, height: height - PAD.top - PAD.bottom };
    const all = [...points, ...shown.before].flatMap((point) => series.map((one) => point[one.name] ?? 0));
    const top = roundUp(all.reduce((most, value) => Math.max(most, value), 1));
    const x = (ms) => PAD.left + room.width * ((Math.min(Math.max(ms, since), until) - since) / (until - since));
    const y = (value) => PAD.top + room.height * (1 - value / top);
    drawGrid(top, x, y);
    series.forEach((one, at) => {
      setAttribute(lines[at], "d", line(points, one.name, x, y));
      setAttribute(before[at], "d", steps(shown.before, one.name, x, y));
    });
    dotted.hidden = shown.before.length === 0;
    point(x, room);
    const totals = series.map((one) => `${one.label} at most ${show(points.reduce((most, value) => Math.max(most, value[one.name] ?? 0), 0))}`);
    setText(label, `${title}: ${totals.join(", ")}`);
  }

  /** From the middle of each point to that of the next one. */
  function line(points, name, x, y) {
    let path = "";
    let isOn = false;
    for (const one of points) {
      if (one[name] === null) {
        isOn = false;
        continue;
      }
      path += `${isOn ? "L" : "M"}${x((one.at + one.end) / 2).toFixed(1)},${y(one[name]).toFixed(1)}`;
      isOn = true;
    }
    return path;
  }

  /** Along each point: hours may be longer than what is shown. */
  function steps(points, name, x, y) {
    const known = points.filter((one) => one[name] !== null && one.end > shown.since && one.at < shown.until);
    return known.map((one, at) => {
      const level = y(one[name]).toFixed(1);
      const goesOn = at > 0 && known[at - 1].end >= one.at;
      return `${goesOn ? `V${level}` : `M${x(one.at).toFixed(1)},${level}`}H${x(one.end).toFixed(1)}`;
    }).join("");
  }

  function drawGrid(top, x, y) {
    grid.replaceChildren();
    for (const part of [0, 0.5, 1]) {
      const at = y(top * part);
      grid.append(svg("line", { x1: PAD.left, x2: width - PAD.right, y1: at, y2: at }),
        svg("text", { x: PAD.left - 8, y: at + 4, "text-anchor": "end" }, short(top * part)));
    }
    const most = width < 560 ? 3 : 8;
    const every = TICKS_MS.find((length) => (shown.until - shown.since) / length <= most) ?? TICKS_MS.at(-1);
    // Days begin here, not in Greenwich, also where clocks were changed meanwhile.
    const offset = (ms) => new Date(ms).getTimezoneOffset() * MINUTE_MS;
    const shift = offset(shown.since);
    for (let here = Math.ceil((shown.since - shift) / every) * every; here + shift <= shown.until; here += every) {
      const ms = here + offset(here + shift);
      const at = x(ms);
      if (at < PAD.left + 16 || at > width - 24) continue;
      grid.append(svg("text", { x: at, y: height - 5, "text-anchor": "middle" }, tick(ms, every)),
        svg("line", { class: "tick", x1: at, x2: at, y1: y(0), y2: y(0) + 4 }));
    }
  }

  function point(x, room) {
    const { points } = shown;
    const isPointed = pointed !== null && pointed >= PAD.left && points.length > 0;
    const middle = (one) => x((one.at + one.end) / 2);
    const nearest = isPointed ? points.reduce((best, one) => (Math.abs(middle(one) - pointed) < Math.abs(middle(best) - pointed) ? one : best)) : points.at(-1);
    if (isPointed) {
      const at = middle(nearest);
      for (const [name, value] of Object.entries({ x1: at, x2: at, y1: PAD.top, y2: PAD.top + room.height })) setAttribute(cursor, name, value);
    }
    setAttribute(cursor, "visibility", isPointed ? "visible" : "hidden");
    const then = nearest && shown.before.find((one) => one.at <= nearest.at && nearest.at < one.end);
    series.forEach((one, at) => {
      const was = then && then[one.name] !== null ? ` (${show(then[one.name])})` : "";
      setText(values[at], `${show(nearest?.[one.name] ?? 0)}${was}`);
    });
    setText(when, nearest ? `at ${local(new Date(nearest.at).toISOString())}` : "");
  }

  return {
    element,
    /** `since` and `until` in milliseconds; `before` are points of a week before, moved by a week. */
    update(next) {
      shown = next;
      draw();
    },
  };
}
