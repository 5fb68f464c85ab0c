// Event sinks: what waits for each broker, since when, and what has become of publishing.

import { get, may } from "./api.js";
import { failedIn, readAgain } from "./dialog.js";
import { h, heading, nothing, setAttribute, setText, table } from "./dom.js";
import { number, showAge, span, utc } from "./format.js";
import { newPage, pageOf, showLink } from "./kinds.js";
import { serverNow } from "./live.js";
import { stateCell } from "./states.js";

export default function eventSinks() {
  const sinks = table({
    caption: "Event sinks",
    key: (row) => row.name,
    columns: [
      { title: "Sink", render: (cell, row) => showLink(cell, pageOf(`event_sinks/${row.name}`), row.name) },
      { title: "Kind", text: (row) => row.kind },
      { title: "Broker", text: brokerOf },
      { title: "State", render: (cell, row) => stateCell(cell, stateOf(row)) },
      { title: "Events", text: (row) => row.events.join(", ") },
      { title: "Subject or topic", class: "mono", text: (row) => row.subject },
      { title: "Waiting", numeric: true, text: (row) => number(row.waiting) },
      { title: "Oldest", numeric: true, text: (row) => (row.waiting ? span(row.oldest_ms) : "–") },
      { title: "Published", numeric: true, text: (row) => number(row.published) },
      { title: "Last", numeric: true, render: (cell, row) => showAge(cell, row.published_at, serverNow()) },
      { title: "Last error", class: "long", render: (cell, row) => {
        setText(cell, row.last_error ?? "");
        setAttribute(cell, "title", row.failed_at ? utc(row.failed_at) : null);
      } },
    ],
    empty: () => nothing("No event sinks", "Add one to publish events on a broker."),
  });

  const close = readAgain(async () => {
    sinks.update((await get("/v1/sinks")).sinks);
  }, (error) => failedIn(sinks, error));
  return {
    elements: [heading("Event sinks", h("a", { class: "button", href: newPage("event_sinks"), hidden: !may("admin") }, "Add a sink")), h("section", { class: "card" }, sinks.element)],
    close,
  };
}

/** Of several brokers the first, and how many more there are. */
function brokerOf(row) {
  if (!row.server) return row.publishes_here ? "not connected" : "known to another node";
  const [first, ...more] = row.server.split(", ");
  return more.length ? `${first} and ${more.length} more` : first;
}

/** A failure counts until something is published after it. */
function stateOf(row) {
  if (!row.enabled) return ["off", "quiet"];
  if (row.failed_at && (!row.published_at || row.failed_at > row.published_at)) return ["failing", "bad"];
  return row.waiting ? ["publishing", "good"] : ["all published", "good"];
}
