// A sparkline: the last two minutes of one figure as a line without axes, its present value in words beside it.

import { h, setAttribute, setText } from "./dom.js";
import { svg } from "./drawing.js";
import { milliseconds, rate } from "./format.js";

const WIDTH = 96;
const HEIGHT = 22;

/** `label` says what it shows; `show` writes a value. */
function spark(label, show, tone = "sent") {
  const line = svg("path", { class: `line ${tone}` });
  const title = svg("title");
  const element = svg("svg", { class: "spark", role: "img", width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}` });
  element.append(title, line);
  return {
    element,
    update(values) {
      const known = values.map((value) => value ?? 0);
      const top = Math.max(...known, 1e-9);
      const step = known.length > 1 ? WIDTH / (known.length - 1) : 0;
      const points = known.map((value, at) => `${(step * at).toFixed(1)},${(HEIGHT - 2 - (HEIGHT - 4) * (value / top)).toFixed(1)}`);
      setAttribute(line, "d", known.length > 1 ? `M${points.join("L")}` : "");
      const said = `${label}: now ${show(known.at(-1) ?? 0)}, at most ${show(Math.max(0, ...known))} in the last two minutes`;
      setText(title, said);
    },
  };
}

/** What is drawn of an operator: label, how a value is written, colour. */
const TRENDS = { sent: ["Out per second", rate, "sent"], throttled: ["Throttled per second", rate, "failed"], answer_ms: ["Answers in", milliseconds, "accepted"] };

/** A figure with its last two minutes. */
export function trend(cell, row, name, text) {
  if (!cell.firstChild) {
    const drawn = spark(...TRENDS[name]);
    cell.append(drawn.element, h("span", { class: "figure" }));
    cell.drawn = drawn;
  }
  setText(cell.lastChild, text);
  cell.drawn.update(row.lists?.[name] ?? []);
}
