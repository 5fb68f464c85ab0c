// What charts have in common: a figure as wide as the page lets it be, the levels and times behind it, and a line under the pointer.

import { h, setAttribute, setText } from "./dom.js";
import { short } from "./format.js";

const NS = "http://www.w3.org/2000/svg";

/** Makes an element of SVG. */
export function svg(name, attributes = {}, text = null) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== null) element.textContent = text;
  return element;
}

/** The next round number: 1, 2, 5 times a power of ten. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  const step = [1, 2, 5, 10].find((factor) => value <= factor * power);
  return step * power;
}

/** A series in a legend: its colour, and what it is. */
export function key(name, ...text) {
  return h("span", { class: `key ${name}` }, h("i", { "aria-hidden": "true" }), ...text);
}

/**
 * A figure with a drawing of `parts`. `draw()` is called when its width or what the pointer is at has changed, and by `redraw`.
 * With `left`, the room for numbers beside it, and `isPointed`, whether it follows the pointer.
 */
export function drawing({ title, legend, parts, draw, height, left = 44, isPointed = false }) {
  const label = svg("title");
  const grid = svg("g", { class: "grid" });
  const cursor = isPointed ? svg("line", { class: "cursor", visibility: "hidden" }) : null;
  const image = svg("svg", { role: "img", height, focusable: "false" });
  image.append(label, grid, ...parts, ...(cursor ? [cursor] : []));
  /** Where the lines are: its edges, and where the pointer is, null if elsewhere. */
  const plot = {
    element: h("figure", { class: "graph" }, h("figcaption", {}, h("h2", {}, title), legend), image),
    left,
    top: 8,
    bottom: height - 22,
    width: 0,
    isNarrow: false,
    pointed: null,
    redraw() {
      // Narrower than its margins while the page is laid out.
      if (plot.width <= 0) return;
      setAttribute(image, "viewBox", `0 0 ${left + plot.width + 8} ${height}`);
      setAttribute(image, "width", left + plot.width + 8);
      draw();
    },
    /** Draws the grid anew: nothing, half and all of the next round number. Gives where a value is. */
    levels(most) {
      const top = roundUp(most);
      const y = (value) => plot.top + (plot.bottom - plot.top) * (1 - value / top);
      grid.replaceChildren(...[0, 0.5, 1].flatMap((part) => [
        svg("line", { x1: left, x2: left + plot.width, y1: y(top * part), y2: y(top * part) }),
        svg("text", { x: left - 8, y: y(top * part) + 4, "text-anchor": "end" }, short(top * part)),
      ]));
      return y;
    },
    /** Writes below it. */
    below(x, text) {
      grid.append(svg("text", { x, y: height - 5, "text-anchor": "middle" }, text));
    },
    /** Writes a time below it, unless that would be cut off. */
    tick(x, text) {
      if (x < left + 16 || x > left + plot.width - 16) return;
      plot.below(x, text);
      grid.append(svg("line", { class: "tick", x1: x, x2: x, y1: plot.bottom, y2: plot.bottom + 4 }));
    },
    /** Shows the line under the pointer; null for none. */
    point(x) {
      const at = x ?? 0;
      for (const [name, value] of Object.entries({ x1: at, x2: at, y1: plot.top, y2: plot.bottom })) setAttribute(cursor, name, value);
      setAttribute(cursor, "visibility", x === null ? "hidden" : "visible");
    },
    /** What it shows, in words. */
    say(totals) {
      setText(label, `${title}: ${totals.join(", ")}`);
    },
  };
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry.contentRect.width);
    plot.width = width - left - 8;
    plot.isNarrow = width < 560;
    plot.redraw();
  }).observe(plot.element);
  const follow = (x) => {
    plot.pointed = x;
    plot.redraw();
  };
  if (isPointed) {
    image.addEventListener("pointermove", (event) => follow(event.clientX - image.getBoundingClientRect().left));
    image.addEventListener("pointerleave", () => follow(null));
  }
  return plot;
}
