// A chart of bars in SVG, one for each place from left to right, with its series on top of each other.

import { h, setAttribute, setText } from "./dom.js";
import { short } from "./format.js";
import { roundUp } from "./graph.js";

const NS = "http://www.w3.org/2000/svg";
const PAD = { left: 44, right: 8, top: 8, bottom: 22 };

function svg(name, attributes = {}, text = null) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== null) element.textContent = text;
  return element;
}

/**
 * `series`: name in the places, and label. A place has a `label` and a number for each series; `tick` stands below it. A click on
 * a bar calls `pick` with its place and its series: what it does must be had without a mouse elsewhere, too.
 */
export function bars({ title, series: first, show, pick = null, height = 220 }) {
  let series = first;
  const legend = h("div", { class: "legend" });
  const keys = () => series.map((one) => h("span", { class: `key ${one.name}` }, h("i", { "aria-hidden": "true" }), one.label));
  legend.append(...keys());
  const drawing = svg("svg", { role: "img", height, focusable: "false" });
  const label = svg("title");
  const inside = svg("g");
  drawing.append(label, inside);
  const element = h("figure", { class: "graph" }, h("figcaption", {}, h("h2", {}, title), legend), drawing);
  let width = 0;
  let places = [];
  new ResizeObserver(([entry]) => {
    width = Math.floor(entry.contentRect.width);
    draw();
  }).observe(element);

  function draw() {
    // Narrower than its margins while the page is laid out.
    if (!places.length || width <= PAD.left + PAD.right) return;
    setAttribute(drawing, "viewBox", `0 0 ${width} ${height}`);
    setAttribute(drawing, "width", width);
    const sum = (place) => series.reduce((total, one) => total + place[one.name], 0);
    const top = roundUp(Math.max(1, ...places.map(sum)));
    const room = { width: width - PAD.left - PAD.right, height: height - PAD.top - PAD.bottom };
    const y = (value) => PAD.top + room.height * (1 - value / top);
    const step = room.width / places.length;
    const grid = svg("g", { class: "grid" });
    for (const part of [0, 0.5, 1]) {
      const at = y(top * part);
      grid.append(svg("line", { x1: PAD.left, x2: width - PAD.right, y1: at, y2: at }),
        svg("text", { x: PAD.left - 8, y: at + 4, "text-anchor": "end" }, short(top * part)));
    }
    const every = Math.ceil(places.length / (width < 560 ? 3 : 8));
    const drawn = places.map((place, index) => {
      const x = PAD.left + step * index;
      if (index % every === 0) grid.append(svg("text", { x: x + step / 2, y: height - 5, "text-anchor": "middle" }, place.tick ?? place.label.slice(5)));
      let below = 0;
      const bar = svg("g");
      bar.append(svg("title", {}, `${place.label}: ${series.map((one) => `${show(place[one.name])} ${one.label}`).join(", ")}`));
      for (const one of series) {
        const from = below;
        below += place[one.name];
        const rect = svg("rect", { class: `bar ${one.name}`, x: x + step * 0.1, width: step * 0.8, y: y(below), height: y(from) - y(below) });
        if (pick) {
          rect.classList.add("pickable");
          rect.addEventListener("click", () => pick(place, one));
        }
        bar.append(rect);
      }
      return bar;
    });
    inside.replaceChildren(grid, ...drawn);
    const totals = series.map((one) => `${show(places.reduce((total, place) => total + place[one.name], 0))} ${one.label}`);
    setText(label, `${title}: ${totals.join(", ")}`);
  }

  return {
    element,
    update(next, others = series) {
      places = next;
      if (others !== series) {
        series = others;
        legend.replaceChildren(...keys());
      }
      draw();
    },
  };
}
