// A chart of lines over any time in SVG, what was a week before as dotted lines, and the values under the pointer.

import { h, setAttribute, setText } from "./dom.js";
import { drawing, key, svg } from "./drawing.js";
import { DAY_MS, MINUTE_MS, local } from "./format.js";

/** What may lie between two times below the chart. */
const TICKS_MS = [5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880, 7_200, 10_080, 20_160].map((minutes) => minutes * MINUTE_MS);

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
  const dotted = key("before", "a week before");
  dotted.hidden = true;
  const legend = h("div", { class: "legend" }, series.map((one, at) => key(one.name, `${one.label} `, values[at])), dotted, when);
  const before = series.map((one) => svg("path", { class: `line before ${one.name}` }));
  const lines = series.map((one) => svg("path", { class: `line ${one.name}` }));
  let shown = null;
  const plot = drawing({ title, legend, parts: [...before, ...lines], draw, height, left: 52, isPointed: true });

  function draw() {
    if (!shown) return;
    const { since, until, points } = shown;
    const all = [...points, ...shown.before].flatMap((point) => series.map((one) => point[one.name] ?? 0));
    const x = (ms) => plot.left + plot.width * ((Math.min(Math.max(ms, since), until) - since) / (until - since));
    const y = plot.levels(all.reduce((most, value) => Math.max(most, value), 1));
    drawTicks(x);
    series.forEach((one, at) => {
      setAttribute(lines[at], "d", line(points, one.name, x, y));
      setAttribute(before[at], "d", steps(shown.before, one.name, x, y));
    });
    dotted.hidden = shown.before.length === 0;
    point(x);
    plot.say(series.map((one) => `${one.label} at most ${show(points.reduce((most, value) => Math.max(most, value[one.name] ?? 0), 0))}`));
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

  function drawTicks(x) {
    const most = plot.isNarrow ? 3 : 8;
    const every = TICKS_MS.find((length) => (shown.until - shown.since) / length <= most) ?? TICKS_MS.at(-1);
    // Days begin here, not in Greenwich, also where clocks were changed meanwhile.
    const offset = (ms) => new Date(ms).getTimezoneOffset() * MINUTE_MS;
    const shift = offset(shown.since);
    for (let here = Math.ceil((shown.since - shift) / every) * every; here + shift <= shown.until; here += every) {
      const ms = here + offset(here + shift);
      plot.tick(x(ms), tick(ms, every));
    }
  }

  function point(x) {
    const { points } = shown;
    const { pointed } = plot;
    const isPointed = pointed !== null && pointed >= plot.left && points.length > 0;
    const middle = (one) => x((one.at + one.end) / 2);
    const nearest = isPointed ? points.reduce((best, one) => (Math.abs(middle(one) - pointed) < Math.abs(middle(best) - pointed) ? one : best)) : points.at(-1);
    plot.point(isPointed ? middle(nearest) : null);
    const then = nearest && shown.before.find((one) => one.at <= nearest.at && nearest.at < one.end);
    series.forEach((one, at) => {
      const was = then && then[one.name] !== null ? ` (${show(then[one.name])})` : "";
      setText(values[at], `${show(nearest?.[one.name] ?? 0)}${was}`);
    });
    setText(when, nearest ? `at ${local(new Date(nearest.at).toISOString())}` : "");
  }

  return {
    element: plot.element,
    /** `since` and `until` in milliseconds; `before` are points of a week before, moved by a week. */
    update(next) {
      shown = next;
      plot.redraw();
    },
  };
}
