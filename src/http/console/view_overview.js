// Overview: what goes through now, what waits, and what needs a look.

import { h, heading, nothing, setAttribute, setText, table } from "./dom.js";
import { age, milliseconds, number, rate, utc } from "./format.js";
import { graph } from "./graph.js";
import { serverNow } from "./live.js";
import { queueState, stateCell } from "./states.js";

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
  const busiest = table({
    caption: "Busiest queues",
    dense: true,
    key: (row) => row.name,
    columns: [
      { title: "Queue", render: (cell, row) => {
        if (!cell.firstChild) cell.append(h("a", { href: "#/queues" }, row.name));
      } },
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
    tell(now, live.queues);
    if (live.queues) {
      const load = (row) => row.waiting + row.scheduled + row.in_flight + row.delivered_per_second;
      const shown = live.queues.queues.toSorted((one, other) => load(other) - load(one) || one.name.localeCompare(other.name)).slice(0, 6);
      busiest.update(shown);
    }
  }

  function tell(now, queues) {
    const suspended = (queues?.queues ?? []).filter((row) => row.suspended).map((row) => `queue ${row.name} is suspended: nothing leaves it until it is resumed`);
    const lines = [...now.not_ready, ...now.degraded, ...suspended];
    const wanted = lines.length ? lines : ["Nothing. Every operator is bound and the store works."];
    if (attention.dataset.lines !== wanted.join("\n")) {
      attention.dataset.lines = wanted.join("\n");
      attention.replaceChildren(...wanted.map((line) => h("li", {}, line)));
    }
    attentionBox.classList.toggle("warn", lines.length > 0);
  }

  return {
    elements: [
      heading("Overview"),
      h("div", { class: "tiles" }, Object.values(tiles).map((one) => one.element)),
      h("section", { class: "card" }, traffic.element),
      h("div", { class: "columns" }, queues, h("div", { class: "stack" }, attentionBox, h("section", { class: "card" }, backlog.element))),
    ],
    update,
  };
}
