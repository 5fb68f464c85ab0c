// One operator: how it does now, its binds, failures, usage, messages and changes, and what can be done with it.

import { get, may, segment } from "./api.js";
import { failed, failedPage } from "./dialog.js";
import { h, heading, nothing, setText, table } from "./dom.js";
import { number, rate } from "./format.js";
import { graph } from "./graph.js";
import { newPage, pageOf } from "./kinds.js";
import { finding, placeCards, showNoSuch } from "./place.js";
import { disconnectColumn } from "./view_bind.js";
import { bindColumns } from "./view_binds.js";
import { operatorCard } from "./view_operators.js";

/** Binds that are shown; the page of binds has all. */
const BINDS = 50;
/** How often it is asked whether one is still there that the stream does not bring. */
const ASK_EVERY_MS = 5_000;

export default function operator({ rest }) {
  const [name] = rest;
  const queueName = `operator:${name}`;
  const place = h("div", { class: "stack" }, h("section", { class: "card" }, h("div", { class: "empty" }, nothing("Loading …"))));
  const chart = graph({
    title: "Messages per second", series: [{ name: "sent", label: "sent", fill: true }, { name: "failed", label: "throttled or refused" }], show: rate, height: 160,
  });
  const binds = table({
    caption: "Binds",
    dense: true,
    key: (row) => row.session,
    columns: [
      bindColumns.id, bindColumns.kind, bindColumns.state, bindColumns.window, bindColumns.sent, bindColumns.received, bindColumns.since,
      { title: "Last error", class: "wrap", text: (row) => row.last_error || "–" },
      disconnectColumn(),
    ],
    empty: () => nothing("No binds on this node", "Those of other nodes are counted above."),
  });
  const allBinds = h("a", { href: `#/binds?${new URLSearchParams({ find: finding(name) })}` }, "On the page of binds");
  const cards = placeCards({ about: queueName, resource: `operators/${name}`, by: "operator", name });
  const body = h("div", { class: "stack" }, place,
    h("section", { class: "card" }, chart.element),
    h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", {}, "Binds"), allBinds), binds.element),
    ...cards.elements);
  const buttons = h("div", { class: "buttons" },
    may("admin") ? h("a", { class: "button small", href: newPage("routes", { to: name }) }, "Add a route to it") : null,
    h("a", { class: "button small", href: "#/routes" }, "Where a number goes"),
    may("operate") ? h("a", { class: "button small", href: "#/compose" }, "Test message") : null,
    may("operate") ? h("a", { class: "button small", href: `#/trace?${new URLSearchParams({ operator: name })}` }, "Trace") : null,
    h("a", { class: "button small", href: pageOf(`operators/${name}`) }, "Settings"));
  let card = null;
  let isOpen = true;
  let isGone = false;
  let askedAt = 0;

  async function look() {
    askedAt = Date.now();
    try {
      await get(`/v1/operators/${segment(name)}`);
    } catch (error) {
      if (!isOpen) return;
      if (error.status === 404) {
        isGone = true;
        buttons.replaceChildren();
        showNoSuch(body, "operator", name, "#/operators");
      } else if (!card) failedPage(place, error);
      else if (error.status === 401) failed(error);
    }
  }
  look();
  return {
    title: name,
    elements: [h("p", { class: "crumb" }, h("a", { href: "#/operators" }, "Operators")), heading(name, buttons), body],
    stream: { kinds: ["operators", "queues", "binds"], list: "operators", name, limit: 1 },
    update(live) {
      if (isGone || !live.operators || !live.overview) return;
      const now = live.operators.operators.find((one) => one.id === name);
      if (!now) {
        if (Date.now() - askedAt > ASK_EVERY_MS) look();
        return;
      }
      cards.refresh();
      if (!card) {
        card = operatorCard(now);
        place.replaceChildren(card.element);
      }
      const queue = live.queues?.queues.find((one) => one.name === queueName);
      const lists = live.operatorHistory.get(queueName);
      // Its binds have a table of their own here.
      card.update(now, [], queue, lists);
      const own = (live.binds?.binds ?? []).filter((bind) => bind.direction === "out" && bind.name === name);
      binds.update(own.slice(0, BINDS));
      setText(allBinds, own.length > BINDS ? `All ${number(own.length)} on the page of binds` : "On the page of binds");
      if (!lists) return;
      const end = live.overview.at_ms;
      chart.update({
        at_ms: lists.sent.map((_, at) => end - (lists.sent.length - 1 - at) * 1_000),
        sent: lists.sent.map((value) => value ?? 0),
        failed: lists.sent.map((_, at) => (lists.throttled[at] ?? 0) + (lists.refused[at] ?? 0)),
      });
    },
    close() {
      isOpen = false;
    },
  };
}
