// Binds: every SMPP session, its window and how quickly the other side answers.

import { columnChoice } from "./columns.js";
import { h, heading, nothing, setAttribute, setText, table } from "./dom.js";
import { milliseconds, number, rate, showAge } from "./format.js";
import { bindPage, showLink } from "./kinds.js";
import { serverNow } from "./live.js";
import { livePage } from "./live_page.js";
import { bindState, stateCell } from "./states.js";

/** How full the window is, as a bar and as numbers. */
export function windowCell(cell, bind) {
  if (!cell.firstChild) cell.append(h("span", { class: "meter" }, h("i")), h("span"));
  const part = bind.window ? Math.min(1, bind.in_flight / bind.window) : 0;
  const bar = cell.firstChild.firstChild;
  const width = `${Math.round(part * 100)}%`;
  if (bar.style.width !== width) bar.style.width = width;
  setText(cell.lastChild, `${number(bind.in_flight)} / ${number(bind.window)}`);
}

const KINDS = { callback: "callbacks", gateway: "gateway, to us" };

/** What a bind is, in words. */
export function kindOf({ direction, bind_type: type }) {
  if (KINDS[direction]) return KINDS[direction];
  if (direction === "gsm") return `to GSM network, ${type || "gsup"}`;
  if (direction === "local") return `local, ${type || "unknown"}`;
  return `${direction === "out" ? "to operator" : "from ESME"}${type && `, ${type}`}`;
}

/** Columns of every list of binds. */
export const bindColumns = {
  id: { title: "Bind", class: "mono", render: (cell, row) => showLink(cell, bindPage(row), `${row.node}/${row.session}`) },
  kind: { title: "Kind", text: kindOf },
  state: { title: "State", sort: "state", render: (cell, row) => {
    stateCell(cell, bindState(row.state));
    setAttribute(cell, "title", row.last_error || null);
  } },
  peer: { title: "Peer", class: "mono", text: (row) => row.peer || "–" },
  window: { title: "Window", sort: "in_flight", numeric: true, render: windowCell },
  received: { title: "In / s", sort: "received_per_second", numeric: true, text: (row) => rate(row.received_per_second) },
  sent: { title: "Out / s", sort: "sent_per_second", numeric: true, text: (row) => rate(row.sent_per_second) },
  since: { title: "Bound for", sort: "since", numeric: true, render: (cell, row) => showAge(cell, row.since, serverNow()) },
};

export default function binds({ query }) {
  const side = h("select", { "aria-label": "Direction", onchange: () => page.change({ page: 1 }) },
    h("option", { value: "" }, "All"), h("option", { value: "out" }, "To operators"), h("option", { value: "in" }, "From ESMEs"), h("option", { value: "gateway" }, "From gateways"), h("option", { value: "gsm" }, "To GSM networks"), h("option", { value: "callback" }, "Callbacks"), h("option", { value: "local" }, "Programs on this machine"));
  side.value = query.get("direction") ?? "";
  // Of a direction that is none nothing is chosen.
  if (side.selectedIndex < 0) side.value = "";
  const page = livePage({ path: "binds", list: "binds", kinds: ["binds"], limit: 50, query, label: "Filter binds by name or peer", kept: () => ({ direction: side.value }) });
  const list = table({
    caption: "Binds",
    choice: columnChoice("binds"),
    sorted: page.sorted,
    key: (row) => row.session,
    columns: [
      { title: "Name", sort: "name", render: (cell, row) => showLink(cell, bindPage(row), row.name || "not bound yet") },
      bindColumns.kind, bindColumns.state, bindColumns.peer, bindColumns.window,
      { title: "Answers in", sort: "answer_ms", numeric: true, text: (row) => milliseconds(row.answer_ms) },
      bindColumns.received, bindColumns.sent,
      { title: "Errors", sort: "errors_total", numeric: true, text: (row) => number(row.errors_total) },
      bindColumns.since,
    ],
    empty: () => (page.isFiltered() || side.value ? nothing("No bind is like that", "A part of the name or of the peer is enough; with * it is the whole name.")
      : nothing("No binds", "No sessions. ESMEs bind to smpp.listen; the SMSC binds to operators once they are configured.")),
  });
  return {
    elements: [heading("Binds", side, page.filter), h("section", { class: "card" }, list.element), page.below],
    stream: page.stream,
    update({ binds: now }) {
      if (!now) return;
      list.update(now.binds);
      page.tell(now.binds.length, now.omitted);
    },
  };
}
