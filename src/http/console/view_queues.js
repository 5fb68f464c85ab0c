// Queues: what waits where, since when, and the commands of a queue.

import { may, segment } from "./api.js";
import { columnChoice } from "./columns.js";
import { csvButton } from "./csv.js";
import { command } from "./dialog.js";
import { h, heading, nothing, setAttribute, setText, table } from "./dom.js";
import { number, rate, showAge } from "./format.js";
import { showNamed } from "./kinds.js";
import { live, serverNow } from "./live.js";
import { livePage } from "./live_page.js";
import { queueState, stateCell } from "./states.js";
import { isTarget, targets } from "./targets.js";
import { ticks } from "./ticks.js";

/** Columns of the file. */
const IN_FILE = [
  ["queue", (row) => row.name], ["suspended", (row) => row.suspended], ["suspended_by", (row) => row.suspended_by], ["waiting", (row) => row.waiting],
  ["scheduled", (row) => row.scheduled], ["in_flight", (row) => row.in_flight], ["oldest_at", (row) => row.oldest_at], ["sessions", (row) => row.sessions],
  ["delivered", (row) => row.delivered_total], ["failed", (row) => row.failed_total], ["suspects", (row) => row.suspects],
];

/** How many a purge or a move takes now. */
function waitingIn(name) {
  const now = (live.queues?.queues ?? []).find((queue) => queue.name === name);
  if (!now) return "What waits here is not counted now.";
  const all = now.waiting + now.scheduled;
  const held = now.in_flight ? ` ${number(now.in_flight)} more are with sessions and are left alone.` : "";
  return `${number(all)} ${all === 1 ? "message waits" : "messages wait"} here, ${number(now.scheduled)} of them for their time.${held}`;
}

/** Suspend, or resume what is suspended. */
export function holdCommand({ name, suspended }, after = null) {
  const path = `/v1/queues/${segment(name)}`;
  if (suspended) return command({ label: "Resume", describe: `Resume ${name}`, path: `${path}/resume`, said: `${name} hands out again`, after });
  return command({
    label: "Suspend", describe: `Suspend ${name}`, path: `${path}/suspend`, after,
    ask: {
      title: `Suspend ${name}?`,
      text: "Nothing is sent until it is resumed. Messages are still accepted and wait; their validity keeps running.",
      action: "Suspend",
    },
    said: `${name} is suspended`,
  });
}

/** Suspend or resume, move, and purge; made anew only when the queue changes between the two. */
function queueCommands(cell, queue) {
  const key = String(queue.suspended);
  if (cell.dataset.made === key) return;
  const hadFocus = cell.contains(document.activeElement);
  cell.dataset.made = key;
  const path = `/v1/queues/${segment(queue.name)}`;
  const hold = holdCommand(queue);
  const purge = command({
    label: "Purge",
    describe: `Purge ${queue.name}`,
    path: `${path}/purge`,
    tone: "risky",
    ask: {
      title: `Purge ${queue.name}?`,
      text: () => `${waitingIn(queue.name)} Every one of them ends DELETED, with a receipt to its sender. This cannot be undone.`,
      action: "Purge",
      typed: queue.name,
    },
    said: (done) => `${queue.name}: ${number(done.count)} messages are being deleted`,
  });
  const move = isTarget(queue.name) && command({
    label: "Move",
    describe: `Move what waits in ${queue.name}`,
    path: `${path}/move`,
    ask: {
      title: `Move what waits in ${queue.name}?`,
      text: () => `${waitingIn(queue.name)} They are due in the other queue at once; receipts stay here.`,
      action: "Move",
      options: { label: "Move them to", values: async () => (await targets()).filter((name) => name !== queue.name) },
    },
    body: (to) => ({ to }),
    said: (done, to) => (done.count ? `${number(done.count)} messages go to ${to}` : `No message of ${queue.name} can be moved`),
  });
  // What cannot be undone is not beside what is pressed every day.
  const more = h("details", { class: "more", hidden: !may("operate") }, h("summary", { "aria-label": `More for ${queue.name}` }, "More"), purge);
  cell.replaceChildren(h("div", { class: "buttons" }, hold, move, more));
  if (hadFocus) hold.focus();
}

export default function queues({ query }) {
  const page = livePage({ path: "queues", list: "queues", kinds: ["queues"], limit: 50, query, label: "Filter queues by name" });
  const marks = ticks({
    what: "queues", path: (name, order) => `/v1/queues/${segment(name)}/${order.verb}`, shown: () => (live.queues?.queues ?? []).map((row) => row.name),
    orders: [
      { label: "Suspend", verb: "suspend", text: "Nothing is sent from these until they are resumed:" },
      { label: "Resume", verb: "resume", text: "These hand out again:" },
    ],
  });
  const csv = csvButton({ path: "/v1/queues", query: page.found, items: "queues", columns: IN_FILE, file: "queues.csv", cursor: "after" });
  const list = table({
    caption: "Queues",
    dense: true,
    choice: columnChoice("queues"),
    sorted: page.sorted,
    key: (row) => row.name,
    columns: [
      { title: "Queue", sort: "name", render: (cell, row) => showNamed(cell, row.name) },
      { title: "State", sort: "state", render: (cell, row) => {
        stateCell(cell, queueState(row));
        setAttribute(cell, "title", row.suspended_by ? `by ${row.suspended_by}` : null);
      } },
      { title: "Waiting", sort: "waiting", numeric: true, render: (cell, row) => {
        setText(cell, number(row.waiting));
        setAttribute(cell, "title", row.nodes.map((share) => `node ${share.node}: ${number(share.waiting)}`).join("\n") || null);
      } },
      { title: "Scheduled", sort: "scheduled", numeric: true, text: (row) => number(row.scheduled) },
      { title: "In flight", sort: "in_flight", numeric: true, text: (row) => number(row.in_flight) },
      { title: "Oldest", sort: "oldest_at", numeric: true, render: (cell, row) => showAge(cell, row.oldest_at, serverNow()) },
      { title: "Out per second", sort: "delivered_per_second", numeric: true, text: (row) => rate(row.delivered_per_second) },
      { title: "Failed", sort: "failed_total", numeric: true, text: (row) => number(row.failed_total) },
      { title: "Suspects", sort: "suspects", numeric: true, render: (cell, row) => {
        setText(cell, number(row.suspects));
        setAttribute(cell, "title", row.ended_sessions_total ? `${number(row.ended_sessions_total)} were given up because they ended sessions` : null);
      } },
      { title: "Sessions", sort: "sessions", numeric: true, text: (row) => number(row.sessions) },
      { title: "Commands", class: "commands", render: (cell, row) => {
        queueCommands(cell, row);
        if (!cell.querySelector("input")) cell.firstChild.append(marks.box(row.name));
      } },
    ],
    empty: () => (page.isFiltered() ? nothing("No queue has this name", "A part of the name is enough; with * it is the whole name, such as account:a*.")
      : nothing("No queues yet", "Each operator, account and built-in target has one: add them to the configuration.")),
  });
  return {
    elements: [heading("Queues", page.filter, h("div", { class: "buttons" }, csv)), h("section", { class: "card" }, marks.bar, list.element), page.below],
    stream: page.stream,
    update({ queues: now }) {
      if (!now) return;
      list.update(now.queues);
      page.tell(now.queues.length, now.omitted);
    },
  };
}
