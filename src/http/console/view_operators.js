// Operators: whom we bind to, how that goes, what went wrong last, and the commands.

import { may, segment } from "./api.js";
import { csvButton } from "./csv.js";
import { command } from "./dialog.js";
import { chip, h, heading, nothing, select, setAttribute, setChip, setText } from "./dom.js";
import { milliseconds, number, percent, rate, showAge, span } from "./format.js";
import { bindPage, newPage, pageOf, placeOf } from "./kinds.js";
import { serverNow } from "./live.js";
import { livePage } from "./live_page.js";
import { testResult } from "./operator_test.js";
import { trend } from "./spark.js";
import { bindState, operatorState, stateCell } from "./states.js";
import { ticks } from "./ticks.js";
import { windowCell } from "./view_binds.js";

/** Cards on a page. */
const CARDS = 15;
/** Binds on a card; the page of binds has all. */
const BINDS = 6;
const ORDERS = [["", "By name"], ["state", "Worst state first"], ["-waiting", "Most waiting first"], ["-delivered_per_second", "Busiest first"], ["-throttled_share", "Most throttled first"], ["-answer_ms", "Slowest first"]];

function commands(id, tell) {
  const path = `/v1/operators/${segment(id)}`;
  return {
    suspend: command({
      label: "Suspend", describe: `Suspend ${id}`, path: `${path}/suspend`,
      ask: { title: `Suspend ${id}?`, text: "Every bind to this operator is closed and stays down until it is resumed. Its messages wait, or fail over to the next target of their route.", action: "Suspend" },
      said: `${id} is being unbound`,
    }),
    resume: command({ label: "Resume", describe: `Resume ${id}`, path: `${path}/resume`, said: `${id} is being bound` }),
    rebind: command({
      label: "Rebind", describe: `Rebind ${id}`, path: `${path}/rebind`,
      ask: { title: `Rebind ${id}?`, text: "Every bind to this operator is closed after its answers have come, and opened again.", action: "Rebind" },
      said: `${id} is being bound again`,
    }),
    test: testOrder(id, { label: "Test", describe: `Test the connection to ${id}`, after: tell }),
  };
}

/** A button that tries the connection; `force` also while binds are up. */
function testOrder(id, { label, describe, force = false, after }) {
  return command({
    label, describe, needs: "admin", path: `/v1/operators/${segment(id)}/test${force ? "?force=true" : ""}`,
    said: ({ detail }) => `${id}: ${detail}`, toneOf: ({ ok }) => (ok ? "good" : "bad"), after,
  });
}

function fact(label) {
  const value = h("dd");
  return { label: h("dt", {}, label), value };
}

/** Columns of the file. */
const IN_FILE = [
  ["operator", (row) => row.id], ["address", (row) => row.address], ["state", (row) => row.state], ["bound", (row) => row.bound], ["configured", (row) => row.configured],
  ["waiting", (row) => (row.queue ? row.queue.waiting + row.queue.scheduled : "")], ["answer_ms", (row) => row.answer_ms], ["rate", (row) => row.rate], ["last_error", (row) => row.last_error],
];

/** One operator with its figures, binds and commands; `box` is what stands beside these. */
export function operatorCard(operator, box = null) {
  const state = chip("", "quiet");
  const facts = { binds: fact("Binds"), waiting: fact("Waiting"), rate: fact("Out per second"), limit: fact("At most"), oldest: fact("Oldest"), failback: fact("Last failback"),
    throttled: fact("Throttled"), refused: fact("Refused per second"), retried: fact("Repeated per second"), unanswered: fact("Never answered"), answers: fact("Answers in") };
  const error = h("p", { class: "last-error" });
  // What a test has found stays until it is closed.
  const tested = h("div", { hidden: true });
  const orders = commands(operator.id, tell);
  const rows = new Map();
  const list = h("ul", { class: "bind-list" });
  const moreBinds = h("a", { href: `#/binds?${new URLSearchParams({ find: operator.id })}`, hidden: true });
  const element = h("section", { class: "card operator", "aria-label": `Operator ${operator.id}` },
    h("div", { class: "card-head" }, h("h2", {}, h("a", { href: placeOf("operators", operator.id) }, operator.id)), h("a", { href: pageOf(`operators/${operator.id}`), "aria-label": `Settings of ${operator.id}` }, "Settings"), state, h("span", { class: "quiet mono" }, operator.address),
      h("div", { class: "buttons" }, orders.test, orders.suspend, orders.resume, orders.rebind, box)),
    error, tested,
    h("dl", { class: "facts" }, Object.values(facts).map((one) => h("div", {}, one.label, one.value))),
    list, moreBinds);
  return {
    element,
    update(now, binds, queue, lists) {
      const [text, tone] = operatorState(now);
      setChip(state, text, tone);
      setText(facts.binds.value, `${number(now.bound)} of ${number(now.configured)}`);
      setAttribute(facts.binds.value, "title", now.nodes.map((share) => `node ${share.node}: ${share.bound} of ${share.binds}`).join("\n") || null);
      setText(facts.waiting.value, queue ? number(queue.waiting + queue.scheduled) : "–");
      const row = { lists };
      trend(facts.rate.value, row, "sent", queue ? rate(queue.delivered_per_second) : "–");
      trend(facts.throttled.value, row, "throttled", queue ? percent(queue.throttled_share) : "–");
      facts.throttled.value.classList.toggle("bad-figure", (queue?.throttled_share ?? 0) >= 0.05);
      setAttribute(facts.throttled.value, "title", queue ? `${number(queue.throttled_total)} since the start, ${rate(queue.throttled_per_second)} per second` : null);
      setText(facts.refused.value, queue ? rate(queue.refused_per_second) : "–");
      setAttribute(facts.refused.value, "title", queue ? `${number(queue.refused_total)} since the start` : null);
      setText(facts.retried.value, queue ? rate(queue.retried_per_second) : "–");
      setText(facts.unanswered.value, queue ? number(queue.unanswered_total) : "–");
      trend(facts.answers.value, row, "answer_ms", milliseconds(now.answer_ms));
      setText(facts.limit.value, now.rate === null ? "–" : `${rate(now.rate)}${now.slowed ? ", throttled" : ""}`);
      showAge(facts.oldest.value, queue?.oldest_at ?? null, serverNow());
      showAge(facts.failback.value, now.health?.failback_at ?? null, serverNow());
      setText(error, now.last_error ? `Last error: ${now.last_error}` : "");
      error.hidden = !now.last_error;
      orders.resume.hidden = now.state !== "paused" && now.state !== "down" && now.state !== "partly up";
      orders.suspend.hidden = now.state === "paused";
      updateBinds(binds.slice(0, BINDS));
      list.hidden = binds.length === 0;
      setText(moreBinds, `${number(binds.length - BINDS)} more binds`);
      moreBinds.hidden = binds.length <= BINDS;
    },
  };

  function tell(found) {
    const close = h("button", { type: "button", class: "small", onclick: () => {
      tested.hidden = true;
      tested.replaceChildren();
      orders.test.focus();
    } }, "Close");
    const again = found.live ? testOrder(operator.id, { label: "Make another connection", describe: `Make another connection to ${operator.id}`, force: true, after: tell }) : null;
    tested.replaceChildren(testResult(found), h("div", { class: "buttons" }, again, close));
    tested.hidden = false;
    // The button that was used may be gone.
    if (document.activeElement === document.body) close.focus();
  }

  function updateBinds(binds) {
    const seen = new Set(binds.map((bind) => bind.session));
    for (const [session, row] of rows) {
      if (!seen.has(session)) {
        row.remove();
        rows.delete(session);
      }
    }
    for (const bind of binds) {
      let row = rows.get(bind.session);
      if (!row) {
        row = h("li", {}, h("a", { href: bindPage(bind) }), h("span"), h("span", { class: "window" }), h("span", { class: "quiet" }), h("span", { class: "quiet bind-note" }));
        rows.set(bind.session, row);
        list.append(row);
      }
      const [type, state, used, answers, note] = row.children;
      setText(type, bind.bind_type);
      stateCell(state, bindState(bind.state));
      windowCell(used, bind);
      setText(answers, bind.answer_ms === null ? "" : `answers in ${milliseconds(bind.answer_ms)}`);
      setText(note, noteOf(bind));
      setAttribute(note, "title", bind.last_error || null);
    }
  }
}

function noteOf(bind) {
  if (bind.state === "bound") return bind.since ? `for ${span(serverNow() - Date.parse(bind.since))}` : "";
  const next = bind.next_reconnect_at ? `again in ${span(Date.parse(bind.next_reconnect_at) - serverNow())}` : "";
  return [bind.last_error, next].filter(Boolean).join(" · ");
}

export default function operators({ query }) {
  const cards = new Map();
  const list = h("div", { class: "stack" });
  const page = livePage({ path: "operators", list: "operators", kinds: ["operators", "queues", "binds"], limit: CARDS, query, label: "Filter operators by id or address" });
  const marks = ticks({
    what: "operators", path: (id, { verb }) => `/v1/operators/${segment(id)}/${verb}`, shown: () => [...cards.keys()],
    orders: [
      { label: "Suspend", verb: "suspend", text: "Every bind to these is closed and stays down until they are resumed; their messages wait, or fail over:" },
      { label: "Resume", verb: "resume", text: "These are bound again:" },
    ],
  });
  const csv = csvButton({ path: "/v1/operators", query: page.found, items: "operators", columns: IN_FILE, file: "operators.csv", cursor: "after", keep: isListed });
  page.sorted.keep(ORDERS.map(([by]) => by.replace(/^-/, "")));
  /** The API finds any value; the list, only id and address. */
  function isListed({ id, address }) {
    const words = (page.found().find ?? "").toLowerCase().split(/\s+/);
    return words.every((word) => word.includes("*") || `${id} ${address}`.toLowerCase().includes(word));
  }
  const order = select("order", ORDERS, page.sorted.now());
  order.setAttribute("aria-label", "Order");
  order.addEventListener("change", () => page.sorted.set(order.value));
  const empty = h("section", { class: "card", hidden: true }, h("div", { class: "empty" }));
  return {
    elements: [heading("Operators", order, page.filter, h("div", { class: "buttons" }, csv), h("a", { class: "button", href: newPage("operators"), hidden: !may("admin") }, "Add an operator")), marks.bar, list, empty, page.below],
    stream: page.stream,
    update(live) {
      if (!live.operators) return;
      const all = live.operators.operators;
      const said = page.isFiltered() ? nothing("No operator is like that", "A part of the id or of the address is enough; with * it is the whole id.") : nothing("No operators", "Add one to deliver messages.");
      if (empty.textContent !== said.textContent) empty.firstElementChild.replaceChildren(said);
      empty.hidden = all.length > 0;
      const shown = new Set(all.map((operator) => operator.id));
      for (const [id, one] of cards) {
        if (shown.has(id)) continue;
        one.element.remove();
        cards.delete(id);
      }
      let place = list.firstElementChild;
      for (const operator of all) {
        if (!cards.has(operator.id)) cards.set(operator.id, operatorCard(operator, marks.box(operator.id)));
        const one = cards.get(operator.id);
        if (one.element === place) place = place.nextElementSibling;
        else list.insertBefore(one.element, place);
        const binds = (live.binds?.binds ?? []).filter((bind) => bind.direction === "out" && bind.name === operator.id);
        const queue = live.queues?.queues.find((other) => other.name === `operator:${operator.id}`);
        one.update(operator, binds, queue, live.operatorHistory.get(`operator:${operator.id}`));
      }
      page.tell(all.length, (live.operators.total ?? all.length) - all.length);
    },
  };
}
