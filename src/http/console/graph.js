// A graph of the last minutes in SVG: lines, a quiet grid, and the values under the pointer.

import { h, setAttribute, setText } from "./dom.js";
import { drawing, key, svg } from "./drawing.js";
import { timeOfDay } from "./format.js";

/** The time from left to right: as much as is known, between these. */
const WINDOW_MS = { least: 60_000, most: 300_000 };

/** `series`: name in the history, label, and whether the area below is filled. */
export function graph({ title, series, show, height = 220 }) {
  const values = series.map(() => h("span", { class: "value" }, "0"));
  const when = h("span", { class: "when" });
  const legend = h("div", { class: "legend" }, series.map((one, at) => key(one.name, `${one.label} `, values[at])), when);
  const lines = series.map((one) => ({
    area: one.fill ? svg("path", { class: `area ${one.name}` }) : null,
    line: svg("path", { class: `line ${one.name}` }),
  }));
  const parts = lines.flatMap(({ area, line }) => [area, line].filter(Boolean));
  let history = null;
  const plot = drawing({ title, legend, parts, draw, height, isPointed: true });

  function draw() {
    if (!history) return;
    const end = history.at_ms.at(-1) ?? Date.now();
    const known = end - (history.at_ms[0] ?? end);
    const shown = Math.min(Math.max(known, WINDOW_MS.least), WINDOW_MS.most);
    const x = (ms) => plot.left + plot.width * (1 - (end - ms) / shown);
    const y = plot.levels(Math.max(1, ...series.flatMap((one) => history[one.name])));
    const most = plot.isNarrow ? 3 : 6;
    const every = [15_000, 30_000, 60_000, 120_000].find((step) => shown / step <= most) ?? 120_000;
    for (let ms = Math.ceil((end - shown) / every) * every; ms <= end; ms += every) {
      plot.tick(x(ms), every < 60_000 ? timeOfDay(ms) : timeOfDay(ms).slice(0, 5));
    }
    series.forEach((one, at) => {
      const points = history[one.name].map((value, index) => `${x(history.at_ms[index]).toFixed(1)},${y(value).toFixed(1)}`);
      const path = points.length ? `M${points.join("L")}` : "";
      setAttribute(lines[at].line, "d", path);
      if (lines[at].area) {
        const floor = y(0).toFixed(1);
        setAttribute(lines[at].area, "d", path && `${path}V${floor}H${x(history.at_ms[0]).toFixed(1)}Z`);
      }
    });
    point(x);
    plot.say(series.map((one) => `${one.label} ${show(history[one.name].at(-1) ?? 0)}`));
  }

  function point(x) {
    let index = history.at_ms.length - 1;
    const isPointed = plot.pointed !== null && plot.pointed >= plot.left && index >= 0;
    if (isPointed) {
      const nearest = (best, ms, at) => (Math.abs(x(ms) - plot.pointed) < Math.abs(x(history.at_ms[best]) - plot.pointed) ? at : best);
      index = history.at_ms.reduce(nearest, 0);
    }
    plot.point(isPointed ? x(history.at_ms[index]) : null);
    series.forEach((one, at) => setText(values[at], show(history[one.name][index] ?? 0)));
    setText(when, isPointed ? `at ${timeOfDay(history.at_ms[index])}` : "now");
  }

  return {
    element: plot.element,
    update(next) {
      history = next;
      plot.redraw();
    },
  };
}
