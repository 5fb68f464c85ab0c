// Nodes: who shares the store, and what each of them holds.

import { get } from "./api.js";
import { h, heading, nothing, setAttribute, setText, table } from "./dom.js";
import { local, number, showAge, span } from "./format.js";
import { serverNow } from "./live.js";
import { nodeState, stateCell } from "./states.js";
import { thisNode } from "./this_node.js";

export default function nodes() {
  const list = table({
    caption: "Nodes",
    key: (row) => `${row.node} ${row.epoch}`,
    columns: [
      { title: "Node", render: (cell, row) => {
        setText(cell, row.this_node ? `${row.node} (this one)` : row.node);
      } },
      { title: "State", render: (cell, row) => {
        stateCell(cell, nodeState(row.state));
        setAttribute(cell, "title", row.state === "lost" ? "its lease is over" : `lease for ${span(row.lease_ms)} more`);
      } },
      { title: "Name", class: "mono", text: (row) => row.name },
      { title: "Version", text: (row) => row.version },
      { title: "Roles", text: (row) => row.roles.join(", ") + (row.janitor ? " · janitor now" : "") },
      { title: "HTTP", class: "mono", text: (row) => row.http || "–" },
      { title: "Partitions", numeric: true, render: (cell, row) => {
        setText(cell, number(row.partitions));
        setAttribute(cell, "title", row.queues.map((share) => `${share.queue}: ${share.partitions}`).join("\n") || null);
      } },
      { title: "Binds held", numeric: true, render: (cell, row) => {
        setText(cell, number(row.binds_held));
        setAttribute(cell, "title", row.binds.join("\n") || null);
      } },
      { title: "Binds up", numeric: true, text: (row) => number(row.bound) },
      { title: "ESMEs", numeric: true, text: (row) => number(row.esmes) },
      { title: "Waiting", numeric: true, text: (row) => number(row.waiting + row.scheduled) },
      { title: "In flight", numeric: true, text: (row) => number(row.in_flight) },
      { title: "Member for", numeric: true, render: (cell, row) => showAge(cell, row.since, serverNow()) },
    ],
    empty: () => nothing("One node, on its own", "This SMSC keeps its messages in an embedded store. With [postgres] in the configuration many nodes share one, and are listed here."),
  });
  const own = thisNode();
  const archive = h("p", { role: "status" });
  get("/v1/archive").then((said) => setText(archive, archiveText(said)), (error) => setText(archive, error.message));
  return {
    elements: [
      heading("Nodes"),
      h("p", { class: "lead" }, "Each node's share. The figures of queues, operators and the overview are those of the whole cluster; the list of binds is that of the node that answers."),
      h("section", { class: "card" }, list.element), own.element,
      h("section", { class: "card" }, h("h2", {}, "Archive"), archive),
    ],
    close: own.close,
    stream: { kinds: ["nodes"] },
    update(live) {
      if (live.nodes) list.update(live.nodes.nodes);
    },
  };
}

/** How the archive stood when the page was opened. */
function archiveText(archive) {
  if (!archive.enabled) return "Finished messages are not archived: [archive] in the configuration.";
  const place = archive.dir ? `${archive.format} in ${archive.dir}` : archive.format;
  const since = archive.oldest_at ? `, the oldest of ${local(archive.oldest_at)}` : "";
  return `Finished messages go to ${place}. ${number(archive.waiting)} wait${since}. This node has written ${number(archive.messages)}, and ${number(archive.failures)} writes have failed.`;
}
