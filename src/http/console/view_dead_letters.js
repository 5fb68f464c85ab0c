// Dead letters: messages that ended in a failure, what was tried with each of them, and sending one
// again. The address of the page holds the question, as that of the messages does.

import { segment } from "./api.js";
import { bulk, filterOf } from "./bulk.js";
import { columnChoice } from "./columns.js";
import { command } from "./dialog.js";
import { field, h, nothing, setAttribute, setText, table } from "./dom.js";
import { milliseconds, time } from "./format.js";
import { targets } from "./targets.js";
import { columns, firstDigits, search, stateSelect, textInput } from "./view_messages.js";

const STATES = ["EXPIRED", "UNDELIVERABLE", "UNKNOWN", "REJECTED", "DELETED"];
/** Chosen in place of a queue. */
const BY_ROUTE = "wherever its route sends it";

const ways = async () => [BY_ROUTE, ...await targets()];

/** What was tried, one line per attempt. */
function attempts(row) {
  if (!row.history.length) return h("p", { class: "quiet" }, `It never left ${row.queue}.`);
  return h("ol", { class: "attempts" }, row.history.map((one) => h("li", {},
    time(one.at), ` ${one.queue} answered ${one.status} after ${milliseconds(one.latency_ms)}`, one.bind && ` by bind ${one.bind}`, one.in_words && `: ${one.in_words.meaning}`)));
}

/** The error with its name; what it means is on hover, and on the page of the message. */
function showError(cell, row) {
  const words = row.final?.in_words;
  const name = words && words.name !== row.state ? words.name : "";
  setText(cell, [row.final?.error, name].filter(Boolean).join(" "));
  setAttribute(cell, "title", words ? `${words.meaning} ${words.cure}` : null);
}

/** Whether a message can be sent again. */
export function hasFailed(message) {
  return Boolean(message.final) && STATES.includes(message.state) && !message.replayed_as;
}

/** The button that sends a failed message again. */
export function replay(message, after) {
  return command({
    label: "Replay", describe: `Replay ${message.id}`, path: `/v1/messages/${segment(message.id)}/replay`, after,
    ask: {
      title: "Send this message again?", text: `A new message with the same text goes to ${message.to}. Its sender is not told.`, action: "Replay",
      options: { label: "Send it to", values: ways },
    },
    body: (to) => (to === BY_ROUTE ? {} : { to }),
    said: (done) => `It is sent again as ${done.message}`,
  });
}

/** The button, or where the message that came of it is. */
function showReplay(cell, row) {
  const as = row.replayed_as ?? "";
  if (cell.dataset.as === as) return;
  cell.dataset.as = as;
  cell.replaceChildren(as ? h("a", { class: "mono", href: `#/messages/${as}` }, as) : replay(row, (done) => {
    row.replayed_as = done.message;
    showReplay(cell, row);
  }));
}

export default function deadLetters({ query }) {
  const inputs = Object.fromEntries(["to", "country", "network", "account", "operator", "error"].map((name) => [name, textInput(query, name)]));
  inputs.to.dataset.focus = true;
  inputs.state = stateSelect(query, "Failed", STATES);
  const list = table({
    caption: "Failed messages",
    choice: columnChoice("dead-letters"),
    key: (row) => row.id,
    columns: [
      columns.id, columns.state, { title: "Error", render: showError }, columns.to, columns.sender, columns.queue, { ...columns.accepted, isExtra: true }, columns.ended,
      { title: "Attempts", class: "wrap", render: (cell, row) => {
        if (!cell.firstChild) cell.append(h("details", {}, h("summary", { "aria-label": `${row.history.length} attempts of ${row.id}` }, String(row.history.length)), attempts(row)));
      } },
      { title: "Replay", render: showReplay },
    ],
    empty: () => nothing("Nothing has failed", "No failed message matches."),
  });
  const names = ["to", "country", "network", "account", "operator", "state", "error", "since", "until", "ended_since", "ended_until"];
  const replayAll = bulk({
    label: "Replay all found", verb: { imperative: "Replay", past: "sent again" }, path: "/v1/messages/replay", done: "replayed",
    filter: () => filterOf(query, names),
    explain: "Each goes again as a new message with the same text; senders are not told. What was sent again before is left out.",
    options: { label: "Send them to", values: ways }, rated: true, extra: (to) => (to === BY_ROUTE ? {} : { to }),
    after: () => page.reload(),
  });
  const page = search({
    // Who comes here asks what has failed lately, not what was accepted lately.
    name: "dead-letters", title: "Dead letters", query, list, order: "ended", beside: [replayAll],
    fields: [
      field("To number, or its first digits", inputs.to), field("Country", inputs.country), field("Network", inputs.network), field("Account", inputs.account), field("Operator", inputs.operator), field("State", inputs.state),
      field("Error", inputs.error),
    ],
    question: () => ({ ...Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value.trim()])), to: firstDigits(inputs.to.value) }),
  });
  return page;
}
