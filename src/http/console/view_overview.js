// Overview: what goes through now, what waits, and what needs a look.

import { h, heading, nothing, setAttribute, setText, table } from "./dom.js";
import { age, localTimes, milliseconds, number, percent, rate, utc } from "./format.js";
import { graph } from "./graph.js";
import { placeOf, showLink, showNamed } from "./kinds.js";
import { serverNow } from "./live.js";
import { trend } from "./spark.js";
import { nodeState, operatorState, queueState, stateCell } from "./states.js";
import { firstStepsCard } from "./view_first_steps.js";

function tile(label, href = null) {
  const value = h("div", { class: "tile-value" }, "–");
  const note = h("div", { class: "tile-note" }, "");
  const inside = [h("div", { class: "tile-label" }, label), value, note];
  const element = href ? h("a", { class: "tile", href }, inside) : h("div", { class: "tile" }, inside);
  return {
    element,
    set(text, small, tone = "", title = null) {
      setText(value, text);
      setText(note, small);
      const wanted = `tile ${tone}`.trim();
      if (element.className !== wanted) element.className = wanted;
      setAttribute(note, "title", title);
    },
  };
}

function item({ text, page, runbook }) {
  return h("li", {}, page ? h("a", { href: page }, localTimes(text)) : localTimes(text),
    runbook && h("a", { class: "runbook", href: `/docs/runbooks.md#${runbook.toLowerCase()}`, "aria-label": `What to do: ${text}` }, "What to do"));
}

/** Operators that are shown, the busiest ones; the page of operators has all. */
const OPERATORS = 12;
/** Queues that are shown. */
const QUEUES = 6;
/** What needs a look is shown up to this. */
const ATTENTION = 20;

/** Each operator with what it takes, throttles and refuses, and how quickly it answers. */
function operatorTable() {
  const list = table({
    caption: "Operators",
    dense: true,
    key: (row) => row.id,
    columns: [
      { title: "Operator", render: (cell, row) => showLink(cell, placeOf("operators", row.id), row.id) },
      { title: "State", render: (cell, row) => stateCell(cell, operatorState(row)) },
      { title: "Out per second", numeric: true, render: (cell, row) => trend(cell, row, "sent", rate(row.queue.delivered_per_second)) },
      { title: "Throttled", numeric: true, render: (cell, row) => {
        trend(cell, row, "throttled", percent(row.queue.throttled_share));
        cell.classList.toggle("bad-figure", row.queue.throttled_share >= 0.05);
      } },
      { title: "Refused per second", numeric: true, text: (row) => rate(row.queue.refused_per_second) },
      { title: "Repeated per second", numeric: true, text: (row) => rate(row.queue.retried_per_second) },
      { title: "Answers in", numeric: true, render: (cell, row) => trend(cell, row, "answer_ms", milliseconds(row.answer_ms)) },
    ],
    empty: () => nothing("No operators", "Add an operator to deliver messages."),
  });
  const more = h("p", { hidden: true }, h("a", { href: "#/operators" }));
  return {
    element: h("section", { class: "card", "aria-labelledby": "operators" }, h("h2", { id: "operators" }, "Operators"), list.element, more),
    update(live) {
      if (!live.operators || !live.queues) return;
      const all = live.operators.total ?? 0;
      more.hidden = all <= OPERATORS;
      setText(more.firstChild, `The ${OPERATORS} busiest of ${number(all)}: all operators`);
      // Rows that change places every second cannot be read.
      const shown = live.operators.operators.toSorted((one, other) => one.id.localeCompare(other.id));
      const rows = shown.map((operator) => ({
        ...operator,
        queue: live.queues.queues.find((queue) => queue.name === `operator:${operator.id}`) ?? IDLE,
        lists: live.operatorHistory.get(`operator:${operator.id}`),
      }));
      list.update(rows);
    },
  };
}

const IDLE = { delivered_per_second: 0, throttled_share: 0, throttled_per_second: 0, refused_per_second: 0, retried_per_second: 0 };
/** What each node has of it all; nothing to see with one node. */
function nodeTable() {
  const share = (cell, part, whole) => {
    if (!cell.firstChild) cell.append(h("span", { class: "meter" }, h("i")), h("span"));
    const width = `${whole ? Math.round((100 * part) / whole) : 0}%`;
    const bar = cell.firstChild.firstChild;
    if (bar.style.width !== width) bar.style.width = width;
    setText(cell.lastChild, number(part));
  };
  const column = (title, figure) => ({ title, numeric: true, render: (cell, row) => share(cell, figure(row), row.sum(figure)) });
  const list = table({
    caption: "Share of each node",
    dense: true,
    key: (row) => `${row.node} ${row.epoch}`,
    columns: [
      { title: "Node", render: (cell, row) => {
        if (!cell.firstChild) cell.append(h("a", { href: "#/nodes" }, ""));
        setText(cell.firstChild, row.this_node ? `${row.node} (this one)` : row.node);
      } },
      { title: "State", render: (cell, row) => stateCell(cell, nodeState(row.state)) },
      column("Accepted", (row) => row.accepted_total),
      column("Delivered", (row) => row.delivered_total),
      column("Waiting", (row) => row.waiting + row.scheduled),
      column("Binds up", (row) => row.bound),
      column("ESMEs", (row) => row.esmes),
    ],
    empty: () => nothing("One node"),
  });
  const element = h("section", { class: "card", "aria-labelledby": "shares", hidden: true }, h("h2", { id: "shares" }, "Each node's share"), list.element);
  return {
    element,
    update(live) {
      const all = live.nodes?.nodes ?? [];
      element.hidden = all.length < 2;
      const sum = (figure) => all.reduce((total, one) => total + figure(one), 0);
      list.update(all.map((one) => ({ ...one, sum })));
    },
  };
}

export default function overview() {
  const tiles = {
    accepted: tile("Accepted per second"),
    sent: tile("Sent per second"),
    delivered: tile("Delivered per second"),
    failed: tile("Failed per second"),
    waiting: tile("Waiting", "#/queues"),
    binds: tile("Binds to operators", "#/operators"),
    esmes: tile("ESMEs bound", "#/binds"),
    store: tile("Commit"),
  };
  const traffic = graph({
    title: "Messages per second",
    series: [
      { name: "accepted", label: "Accepted", fill: true },
      { name: "sent", label: "Sent to operators" },
      { name: "failed", label: "Failed" },
    ],
    show: rate,
  });
  const backlog = graph({
    title: "Waiting in queues",
    series: [{ name: "waiting", label: "Waiting", fill: true }],
    show: number,
    height: 140,
  });
  const attention = h("ul", { class: "attention" });
  const attentionBox = h("section", { class: "card", "aria-labelledby": "attention" }, h("h2", { id: "attention" }, "Needs a look"), attention);
  const operators = operatorTable();
  const nodes = nodeTable();
  const busiest = table({
    caption: "Busiest queues",
    dense: true,
    key: (row) => row.name,
    columns: [
      { title: "Queue", render: (cell, row) => showNamed(cell, row.name) },
      { title: "State", render: (cell, row) => stateCell(cell, queueState(row)) },
      { title: "Waiting", numeric: true, text: (row) => number(row.waiting + row.scheduled) },
      { title: "In flight", numeric: true, text: (row) => number(row.in_flight) },
      { title: "Out per second", numeric: true, text: (row) => rate(row.delivered_per_second) },
    ],
    empty: () => nothing("No queues yet", "Operators, accounts and routes in the configuration create queues."),
  });
  const queues = h("section", { class: "card", "aria-labelledby": "busiest" }, h("h2", { id: "busiest" }, "Queues"), busiest.element);

  function update(live) {
    traffic.update(live.history);
    backlog.update(live.history);
    const now = live.overview;
    if (!now) return;
    const { rates, totals, queued, binds, store } = now;
    tiles.accepted.set(rate(rates.accepted), `${number(totals.accepted)} since the start`);
    tiles.sent.set(rate(rates.sent), rates.retried ? `${rate(rates.retried)} per second to be repeated` : `${number(totals.sent)} since the start`);
    tiles.delivered.set(rate(rates.delivered), `${number(totals.delivered)} since the start`);
    const refused = totals.refused ? `${number(totals.refused)} refused on entry` : `${number(totals.failed)} since the start`;
    tiles.failed.set(rate(rates.failed), refused, rates.failed > 0 ? "warn" : "");
    const oldest = queued.oldest_at ? `oldest ${age(queued.oldest_at, serverNow())}` : "nothing waits";
    tiles.waiting.set(number(queued.waiting), queued.scheduled ? `${number(queued.scheduled)} scheduled, ${oldest}` : oldest, queued.suspended ? "warn" : "", queued.oldest_at && utc(queued.oldest_at));
    const isShort = binds.operators < binds.operators_wanted;
    const shares = (live.nodes?.nodes ?? []).filter((node) => node.state !== "lost");
    const byNode = (figure) => shares.map((node) => `node ${node.node}: ${number(node[figure])}`).join("\n") || null;
    tiles.binds.set(`${number(binds.operators)} of ${number(binds.operators_wanted)}`, isShort ? "some are missing" : "all are up", isShort ? "warn" : "", byNode("bound"));
    tiles.esmes.set(number(binds.esmes), `${rate(rates.told)} receipts per second`, "", byNode("esmes"));
    const free = store.free_mib >= 1024 ? `${number(Math.round(store.free_mib / 1024))} GiB free` : `${number(store.free_mib)} MiB free`;
    tiles.store.set(milliseconds(store.commit_ms), store.free_mib ? free : "", store.below_floor ? "bad" : "");
    tell(now);
    operators.update(live);
    nodes.update(live);
    if (live.queues) {
      const load = (row) => row.waiting + row.scheduled + row.in_flight + row.delivered_per_second;
      const shown = live.queues.queues.toSorted((one, other) => load(other) - load(one) || one.name.localeCompare(other.name)).slice(0, QUEUES);
      busiest.update(shown);
    }
  }

  /** What is wrong, each with where it is and what to do. */
  function tell({ attention: all, attention_omitted: omitted = 0 }) {
    const key = JSON.stringify([all, omitted]);
    if (attention.dataset.key !== key) {
      attention.dataset.key = key;
      attention.replaceChildren(...(all.length ? all.map(item) : [h("li", {}, "Nothing. Every operator is bound and the store works.")]),
        ...(omitted ? [h("li", {}, h("a", { href: "#/operators?sort=state" }, `${number(omitted)} more`))] : []));
    }
    attentionBox.classList.toggle("warn", all.length > 0);
  }

  return {
    elements: [
      heading("Overview"),
      firstStepsCard(),
      attentionBox,
      h("div", { class: "tiles" }, Object.values(tiles).map((one) => one.element)),
      h("section", { class: "card" }, traffic.element),
      operators.element,
      h("div", { class: "columns" }, queues, h("section", { class: "card" }, backlog.element)),
      nodes.element,
    ],
    stream: { kinds: ["operators", "queues", "nodes"], list: "operators", sort: "-delivered_per_second", limit: OPERATORS, busiest: QUEUES, attention: ATTENTION },
    update,
  };
}
