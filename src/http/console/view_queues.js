// Queues: what waits where, since when, and the commands of a queue.

import { segment } from "./api.js";
import { command } from "./dialog.js";
import { h, heading, nothing, setAttribute, setText, table } from "./dom.js";
import { number, rate, showAge } from "./format.js";
import { live, serverNow } from "./live.js";
import { queueState, stateCell } from "./states.js";
import { isTarget, targets } from "./targets.js";

/** How many a purge or a move takes now. */
function waitingIn(name) {
  const now = (live.queues?.queues ?? []).find((queue) => queue.name === name);
  if (!now) return "What waits here is not counted now.";
  const all = now.waiting + now.scheduled;
  const held = now.in_flight ? ` ${number(now.in_flight)} more are with sessions and are left alone.` : "";
  return `${number(all)} ${all === 1 ? "message waits" : "messages wait"} here, ${number(now.scheduled)} of them for their time.${held}`;
}

/** Suspend or resume, move, and purge; made anew only when the queue changes between the two. */
export function queueCommands(cell, queue) {
  const key = String(queue.suspended);
  if (cell.dataset.made === key) return;
  const hadFocus = cell.contains(document.activeElement);
  cell.dataset.made = key;
  const path = `/v1/queues/${segment(queue.name)}`;
  const hold = queue.suspended
    ? command({ label: "Resume", describe: `Resume ${queue.name}`, path: `${path}/resume`, said: `${queue.name} hands out again` })
    : command({
      label: "Suspend",
      describe: `Suspend ${queue.name}`,
      path: `${path}/suspend`,
      ask: {
        title: `Suspend ${queue.name}?`,
        text: "Nothing is sent until it is resumed. Messages are still accepted and wait; their validity keeps running.",
        action: "Suspend",
      },
      said: `${queue.name} is suspended`,
    });
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
  cell.replaceChildren(h("div", { class: "buttons" }, hold, move, purge));
  if (hadFocus) hold.focus();
}

export default function queues() {
  const list = table({
    caption: "Queues",
    dense: true,
    key: (row) => row.name,
    columns: [
      { title: "Queue", text: (row) => row.name },
      { title: "State", render: (cell, row) => {
        stateCell(cell, queueState(row));
        setAttribute(cell, "title", row.suspended_by ? `by ${row.suspended_by}` : null);
      } },
      { title: "Waiting", numeric: true, render: (cell, row) => {
        setText(cell, number(row.waiting));
        setAttribute(cell, "title", row.nodes.map((share) => `node ${share.node}: ${number(share.waiting)}`).join("\n") || null);
      } },
      { title: "Scheduled", numeric: true, text: (row) => number(row.scheduled) },
      { title: "In flight", numeric: true, text: (row) => number(row.in_flight) },
      { title: "Oldest", numeric: true, render: (cell, row) => showAge(cell, row.oldest_at, serverNow()) },
      { title: "Out per second", numeric: true, text: (row) => rate(row.delivered_per_second) },
      { title: "Failed", numeric: true, text: (row) => number(row.failed_total) },
      { title: "Suspects", numeric: true, render: (cell, row) => {
        setText(cell, number(row.suspects));
        setAttribute(cell, "title", row.ended_sessions_total ? `${number(row.ended_sessions_total)} were given up because they ended sessions` : null);
      } },
      { title: "Sessions", numeric: true, text: (row) => number(row.sessions) },
      { title: "Commands", class: "commands", render: queueCommands },
    ],
    empty: () => nothing("No queues yet", "Each operator, account and built-in target has one: add them to the configuration."),
  });
  const filter = h("input", { type: "search", placeholder: "Filter by name", "aria-label": "Filter queues by name", oninput: () => draw() });
  const more = h("p", { class: "quiet" });
  let last = null;
  function draw() {
    if (!last) return;
    const wanted = filter.value.trim().toLowerCase();
    list.update(last.queues.filter((queue) => queue.name.toLowerCase().includes(wanted)));
    setText(more, last.omitted ? `${number(last.omitted)} idle queues are not shown; GET /v1/queues has them all.` : "");
  }
  return {
    elements: [heading("Queues", filter), h("section", { class: "card" }, list.element), more],
    update(live) {
      last = live.queues;
      draw();
    },
  };
}
