// A chart of bars in SVG, one for each place from left to right, with its series on top of each other.

import { h } from "./dom.js";
import { drawing, key, svg } from "./drawing.js";

/**
 * `series`: name in the places, and label. A place has a `label` and a number for each series; `tick` stands below it. A click on
 * a bar calls `pick` with its place and its series: what it does must be had without a mouse elsewhere, too.
 */
export function bars({ title, series: first, show, pick = null, height = 220 }) {
  let series = first;
  const legend = h("div", { class: "legend" });
  const keys = () => series.map((one) => key(one.name, one.label));
  legend.append(...keys());
  const inside = svg("g");
  let places = [];
  const plot = drawing({ title, legend, parts: [inside], draw, height });

  function draw() {
    if (!places.length) return;
    const sum = (place) => series.reduce((total, one) => total + place[one.name], 0);
    const y = plot.levels(Math.max(1, ...places.map(sum)));
    const step = plot.width / places.length;
    const every = Math.ceil(places.length / (plot.isNarrow ? 3 : 8));
    inside.replaceChildren(...places.map((place, index) => {
      const x = plot.left + step * index;
      if (index % every === 0) plot.below(x + step / 2, place.tick ?? place.label.slice(5));
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
    }));
    plot.say(series.map((one) => `${show(places.reduce((total, place) => total + place[one.name], 0))} ${one.label}`));
  }

  return {
    element: plot.element,
    update(next, others = series) {
      places = next;
      if (others !== series) {
        series = others;
        legend.replaceChildren(...keys());
      }
      plot.redraw();
    },
  };
}
