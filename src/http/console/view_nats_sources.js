// Sources of commands on NATS: what each node takes from them, what became of it, and why one fails.

import { get, may } from "./api.js";
import { failedIn, readAgain } from "./dialog.js";
import { h, heading, nothing, setText, table } from "./dom.js";
import { number, showTime } from "./format.js";
import { newPage, pageOf, showLink, showOwner } from "./kinds.js";
import { stateCell } from "./states.js";

export default function natsSources() {
  const sources = table({
    caption: "Sources of commands on NATS",
    key: (row) => row.name,
    columns: [
      { title: "Source", render: (cell, row) => showLink(cell, pageOf(`nats_sources/${row.name}`), row.name) },
      { title: "State", render: (cell, row) => stateCell(cell, stateOf(row)) },
      { title: "Stream", class: "mono", text: (row) => row.settings.stream },
      { title: "Subject", class: "mono", text: (row) => row.settings.subject },
      { title: "Account", render: (cell, row) => showOwner(cell, "accounts", row.settings.account) },
      { title: "Operator", render: (cell, row) => (row.settings.operator ? showOwner(cell, "operators", row.settings.operator) : setText(cell, "by routes")) },
      { title: "Acknowledged when", text: (row) => (row.settings.mode === "operator" ? "the operator has answered" : "stored") },
      { title: "Waiting", numeric: true, text: (row) => count(row, "waiting") },
      { title: "Done up to", numeric: true, text: (row) => count(row, "done_up_to") },
      { title: "Under way here", numeric: true, text: (row) => count(row, "in_flight") },
      { title: "Accepted", numeric: true, text: (row) => count(row, "accepted") },
      { title: "Repeated", numeric: true, text: (row) => count(row, "repeated") },
      { title: "Delayed", numeric: true, text: (row) => count(row, "delayed") },
      { title: "Dead letters", numeric: true, text: (row) => count(row, "dead") },
      { title: "Terminated", numeric: true, text: (row) => count(row, "terminated") },
      { title: "Note", text: (row) => row.state?.trouble ?? "" },
    ],
    empty: () => nothing("No sources", "Add one to make messages of commands on NATS JetStream."),
  });

  const ended = table({
    caption: "Commands that ended without a dead letter, because it could not be published; the last ones on this node",
    key: (row) => `${row.source}/${row.at}/${row.stream_sequence}`,
    columns: [
      { title: "Source", text: (row) => row.source },
      { title: "At", render: (cell, row) => showTime(cell, row.at) },
      { title: "Place in the stream", numeric: true, text: (row) => String(row.stream_sequence) },
      { title: "Ended because", text: (row) => row.reason },
    ],
    empty: () => nothing("None", "Dead letters were published, or there were none."),
  });
  const endedPart = h("section", { class: "card", hidden: true }, ended.element);

  const close = readAgain(async () => {
    const [{ nats_sources: all }, { sources: states }] = await Promise.all([get("/v1/nats-sources"), get("/v1/nats-sources/state")]);
    const rows = states.flatMap((state) => state.ended.map((one) => ({ ...one, source: state.name })));
    endedPart.hidden = !rows.length;
    ended.update(rows);
    sources.update(all.map((one) => ({ ...one, state: states.find((state) => state.name === one.name) })));
  }, (error) => failedIn(sources, error));
  return {
    elements: [heading("NATS sources", h("a", { class: "button", href: newPage("nats_sources"), hidden: !may("admin") }, "Add a source")), h("section", { class: "card" }, sources.element), endedPart],
    close,
  };
}

function count({ state }, field) {
  return state ? number(state[field]) : "–";
}

function stateOf({ settings, state }) {
  if (!settings.enabled) return ["disabled", "quiet"];
  if (!state) return ["not on this node", "quiet"];
  if (!state.connected) return ["away", "bad"];
  return state.trouble ? ["in trouble", "warn"] : ["connected", "good"];
}
