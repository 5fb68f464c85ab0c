// Binds: every SMPP session, its window and how quickly the other side answers.

import { h, heading, nothing, setAttribute, setText, table } from "./dom.js";
import { milliseconds, number, rate, showAge } from "./format.js";
import { serverNow } from "./live.js";
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

export default function binds() {
  const list = table({
    caption: "Binds",
    key: (row) => row.session,
    columns: [
      { title: "Name", render: (cell, row) => {
        if (!cell.firstChild) cell.append(h("a", { href: `#/binds/${row.node}/${row.session}` }, ""));
        setText(cell.firstChild, row.name || "not bound yet");
      } },
      { title: "Kind", text: kindOf },
      { title: "State", render: (cell, row) => {
        stateCell(cell, bindState(row.state));
        setAttribute(cell, "title", row.last_error || null);
      } },
      { title: "Peer", class: "mono", text: (row) => row.peer || "–" },
      { title: "Window", numeric: true, render: windowCell },
      { title: "Answers in", numeric: true, text: (row) => milliseconds(row.answer_ms) },
      { title: "In / s", numeric: true, text: (row) => rate(row.received_per_second) },
      { title: "Out / s", numeric: true, text: (row) => rate(row.sent_per_second) },
      { title: "Errors", numeric: true, text: (row) => number(row.errors_total) },
      { title: "Bound for", numeric: true, render: (cell, row) => showAge(cell, row.since, serverNow()) },
    ],
    empty: () => nothing("No binds", "No sessions. ESMEs bind to smpp.listen; the SMSC binds to operators once they are configured."),
  });
  const filter = h("input", { type: "search", placeholder: "Filter by name or peer", "aria-label": "Filter binds by name or peer", oninput: () => draw() });
  const side = h("select", { "aria-label": "Direction", onchange: () => draw() },
    h("option", { value: "" }, "All"), h("option", { value: "out" }, "To operators"), h("option", { value: "in" }, "From ESMEs"), h("option", { value: "gateway" }, "From gateways"), h("option", { value: "gsm" }, "To GSM networks"), h("option", { value: "callback" }, "Callbacks"), h("option", { value: "local" }, "Programs on this machine"));
  const more = h("p", { class: "quiet" });
  let last = null;
  function draw() {
    if (!last) return;
    const wanted = filter.value.trim().toLowerCase();
    const fits = (bind) => (!side.value || bind.direction === side.value) && `${bind.name} ${bind.peer}`.toLowerCase().includes(wanted);
    list.update(last.binds.filter(fits));
    setText(more, last.omitted ? `${number(last.omitted)} more binds are not shown; GET /v1/binds has them all.` : "");
  }
  return {
    elements: [heading("Binds", side, filter), h("section", { class: "card" }, list.element), more],
    update(live) {
      last = live.binds;
      draw();
    },
  };
}
