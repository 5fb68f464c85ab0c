// One bind: how it stands, and its PDUs as they pass while somebody looks.

import { may, segment } from "./api.js";
import { command } from "./dialog.js";
import { chip, h, heading, nothing, setAttribute, setChip, setText, table } from "./dom.js";
import { milliseconds, number, rate, span } from "./format.js";
import { placeOf } from "./kinds.js";
import { serverNow } from "./live.js";
import { bindState } from "./states.js";
import { columns, steps } from "./steps.js";
import { kindOf, windowCell } from "./view_binds.js";

const ERRORS = 20;
/** Whose page a bind leads to, by its direction. */
const OWNERS = { in: "accounts", callback: "accounts", out: "operators", gateway: "operators" };
/** A bind has commands only when its peer can be unbound. */
const UNBOUND = ["in", "out", "gsm"];

/** Whether its peer can be unbound now. */
function canDisconnect({ direction, state }) {
  return UNBOUND.includes(direction) && state === "bound";
}

/** The button that unbinds a peer. */
function disconnectCommand({ node, session }) {
  return command({
    label: "Disconnect", describe: `Disconnect bind ${node}/${session}`, path: `/v1/binds/${segment(node)}/${segment(session)}/disconnect`, tone: "risky",
    ask: { title: "Disconnect this bind?", text: "It is unbound. An ESME may bind again at once; a bind to an operator finishes its window first and is made again.", action: "Disconnect" },
    said: "It is being unbound",
  });
}

/** The column of a list of binds with that button. */
export function disconnectColumn() {
  return { title: "Commands", class: "commands", hidden: !may("operate"), render: (cell, row) => {
    if (!canDisconnect(row)) cell.replaceChildren();
    else if (!cell.firstChild) cell.append(disconnectCommand(row));
  } };
}

export default function bind({ rest }) {
  const [node, session] = rest;
  const path = `/v1/binds/${segment(node)}/${segment(session)}`;
  const state = chip("…", "quiet");
  const facts = Object.fromEntries(["Peer", "Kind", "Bound for", "SMPP version", "Window", "Answers in", "In per second", "Out per second", "Received", "Sent", "Errors", "Last error"]
    .map((name) => [name, h("dd")]));
  const disconnect = disconnectCommand({ node, session });
  const owner = h("a", { hidden: true });
  /** Who may only read sees no texts, and commands nothing. */
  const noTexts = !may("operate");
  const texts = h("input", { type: "checkbox", onchange: () => feed.isRunning() && begin() });
  const list = table({
    caption: "PDUs, newest first",
    dense: true,
    key: (row) => row.key,
    columns: [
      columns.at,
      { title: "Way", text: (row) => (row.pdu.out ? "we →" : "→ us") },
      { title: "PDU", class: "mono", text: (row) => row.pdu.command },
      { title: "Sequence", numeric: true, text: (row) => row.pdu.sequence },
      { title: "Status", text: (row) => row.status || "" },
      columns.addresses,
      { title: "Message id", class: "mono wrap", text: (row) => row.pdu.message_id || "" },
      { title: "Text", class: "wrap", text: (row) => row.pdu.text ?? "" },
    ],
    empty: () => nothing("No PDU yet", "PDUs appear here as they pass. Nothing was kept before somebody looked."),
  });
  const errors = h("ul", { class: "attention" });
  const errorBox = h("section", { class: "card warn", "aria-labelledby": "bind-errors", hidden: true }, h("h2", { id: "bind-errors" }, "Errors while you look"), errors);
  const toggle = h("button", { type: "button", class: "small", onclick: () => (feed.isRunning() ? feed.stop() : begin()) }, "Watch");
  const feed = steps({ list, hear: note, onState: (isOn) => setText(toggle, isOn ? "Stop" : "Watch") });

  /** Keeps the answers that are errors. */
  function note(step) {
    if (!step.status || step.status === "ESME_ROK") return;
    errorBox.hidden = false;
    const what = `${step.pdu.command} ${step.pdu.sequence}: ${step.status}`;
    errors.prepend(h("li", {}, `${columns.at.text(step)} ${step.pdu.out ? "we answered" : "they answered"} ${what}`));
    while (errors.children.length > ERRORS) errors.lastElementChild.remove();
  }

  function begin() {
    return feed.start("GET", `${path}/pdus?for=15m${texts.checked ? "&text=true" : ""}`);
  }
  list.update([]);
  begin();

  function update(live) {
    if (!live.binds || !live.hello) return;
    const found = live.binds.binds.find((one) => String(one.node) === node && String(one.session) === session);
    disconnect.hidden = noTexts || !found || !canDisconnect(found);
    if (!found) {
      const isElsewhere = String(live.hello.node) !== node;
      setChip(state, isElsewhere ? `on node ${node}` : "gone", "quiet");
      disconnect.hidden = noTexts || !isElsewhere;
      return;
    }
    setChip(state, ...bindState(found.state));
    setText(facts.Peer, found.peer || "–");
    setText(facts.Kind, kindOf(found));
    setText(facts["Bound for"], found.since ? span(serverNow() - Date.parse(found.since)) : "–");
    setText(facts["SMPP version"], found.interface_version || "–");
    windowCell(facts.Window, found);
    setText(facts["Answers in"], milliseconds(found.answer_ms));
    setText(facts["In per second"], rate(found.received_per_second));
    setText(facts["Out per second"], rate(found.sent_per_second));
    setText(facts.Received, number(found.received_total));
    setText(facts.Sent, number(found.sent_total));
    setText(facts.Errors, number(found.errors_total));
    setText(facts["Last error"], found.last_error || "none");
    const plural = OWNERS[found.direction];
    if (plural && found.name) {
      setText(owner, found.name);
      setAttribute(owner, "href", placeOf(plural, found.name));
      owner.hidden = false;
    }
    setText(title, `${found.name || "Bind"} ${node}/${session}`);
  }
  const head = heading(`Bind ${node}/${session}`, state, h("div", { class: "buttons" }, disconnect));
  const title = head.querySelector("h1");
  return {
    title: `Bind ${node}/${session}`,
    elements: [
      h("p", { class: "crumb" }, h("a", { href: "#/binds" }, "Binds"), owner),
      head,
      h("section", { class: "card", "aria-label": "Figures" }, h("dl", { class: "facts" }, Object.entries(facts).map(([name, value]) => h("div", {}, h("dt", {}, name), value)))),
      errorBox,
      h("section", { class: "card", "aria-labelledby": "pdus" },
        h("div", { class: "card-head" }, h("h2", { id: "pdus" }, "PDUs"),
          h("label", { class: "choice", hidden: noTexts }, texts, " with texts"), h("div", { class: "buttons" }, toggle)),
        ...feed.elements, list.element),
    ],
    stream: { kinds: ["binds"], list: "binds", find: `${node}/${session}` },
    update,
    close: () => feed.stop(),
  };
}
