// What came of the test of a connection to an operator: each step, what is wrong, and what helps.

import { h, prose } from "./dom.js";
import { milliseconds } from "./format.js";

const STEPS = { resolve: "Name", connect: "TCP", tls: "TLS", bind: "Bind", unbind: "Unbind" };

/** Step by step. */
export function testResult(found) {
  const title = found.live ? "It is bound already" : found.ok ? "The connection works" : `It fails at this step: ${STEPS[found.failed] ?? found.failed}`;
  return h("section", { class: `card note ${found.ok ? "good" : "bad"}` }, h("h2", {}, title),
    found.steps.length ? h("ol", { class: "timeline" }, found.steps.map(item)) : null,
    h("p", {}, found.detail, "."),
    found.cure ? h("p", {}, h("strong", {}, "What helps: "), prose(found.cure)) : null,
    found.steps.length ? h("p", { class: "quiet" }, `Tried by node ${found.node}.`) : null);
}

function item({ step, ok, detail, took_ms: took }) {
  return h("li", { class: `step ${ok ? "good" : "bad"}` },
    h("div", { class: "step-head" }, h("strong", {}, STEPS[step] ?? step), h("span", {}, milliseconds(took))),
    h("div", { class: "step-detail" }, detail));
}
