// Callbacks: where each account is called, how that goes, and the receipts that were given up.

import { get, segment } from "./api.js";
import { columnChoice } from "./columns.js";
import { command, failedIn } from "./dialog.js";
import { h, heading, nothing, setAttribute, setText, table } from "./dom.js";
import { milliseconds, number, showAge, time } from "./format.js";
import { showNamed, showOwner } from "./kinds.js";
import { live, serverNow } from "./live.js";
import { livePage } from "./live_page.js";
import { bindState, stateCell } from "./states.js";
import { windowCell } from "./view_binds.js";
import { columns } from "./view_messages.js";

/** One line for each attempt: when, what was answered, and how the answer begins. */
function attempts(row) {
  return h("ol", { class: "attempts" }, row.attempts.map((one) => h("li", {},
    time(one.at), ` ${one.status ? `HTTP ${one.status}` : one.error} after ${milliseconds(one.latency_ms)}`, one.answer && h("code", {}, ` ${one.answer}`))));
}

/** The last attempts; stays open while new ones come. */
function showAttempts(cell, row) {
  const list = row.attempts ?? [];
  const key = list.map((one) => one.at).join();
  if (cell.dataset.made === key) return;
  cell.dataset.made = key;
  if (!list.length) return;
  if (!cell.firstChild) cell.append(h("details", {}, h("summary", { "aria-label": `Attempts of ${row.queue}` }), h("div", {})));
  const [last] = list;
  setText(cell.firstChild.firstChild, last.status ? `HTTP ${last.status}` : last.error);
  cell.firstChild.lastChild.replaceChildren(attempts(row));
}

function queueOf(row) {
  return (live.queues?.queues ?? []).find((queue) => queue.name === row.queue);
}

/** How many URLs there are, and those that are left alone. */
function urls(row) {
  if (!row.urls) return "–";
  const { known, at_rest: atRest, gone } = row.urls;
  return [number(known), atRest && `${number(atRest)} at rest`, gone && `${number(gone)} gone`].filter(Boolean).join(", ");
}

/** Test, and pause or resume; made anew only when the queue changes between the two. To resume it also asks again at URLs
 * that are gone. */
function commands(cell, row) {
  const suspended = row.state === "paused" || row.urls?.gone > 0;
  if (cell.dataset.made === String(suspended)) return;
  const hadFocus = cell.contains(document.activeElement);
  cell.dataset.made = String(suspended);
  const path = `/v1/queues/${segment(row.queue)}`;
  const hold = suspended
    ? command({ label: "Resume", describe: `Resume ${row.queue}`, path: `${path}/resume`, said: `${row.queue} is called again` })
    : command({
      label: "Pause",
      describe: `Pause ${row.queue}`,
      path: `${path}/suspend`,
      ask: { title: `Pause ${row.queue}?`, text: "Nothing is sent there until it is resumed. What waits is kept.", action: "Pause" },
      said: `${row.queue} is paused`,
    });
  const test = command({
    label: "Test",
    describe: `Test the callback of ${row.name}`,
    path: `/v1/accounts/${segment(row.name)}/callback/test`,
    said: (done) => `${row.name}: ${done.status ? `HTTP ${done.status}` : done.error} after ${milliseconds(done.latency_ms)}${done.answer ? `, ${done.answer}` : ""}`,
  });
  // A test goes to the URL of the account.
  const hasUrl = !row.queue.startsWith("callback-to:");
  cell.replaceChildren(h("div", { class: "buttons" }, hasUrl && test, hold));
  if (hadFocus) hold.focus();
}

/** Receipts that were given up, and sending them again. */
function givenUp() {
  const list = table({
    caption: "Receipts that were given up, newest first",
    key: (row) => row.id,
    columns: [
      columns.id, columns.sender, columns.to, columns.state, columns.accepted,
      { title: "Why", text: (row) => row.changes.findLast((change) => change.kind === "give_up")?.by ?? "" },
      { title: "Replay", render: (cell, row) => {
        if (cell.firstChild) return;
        cell.append(command({
          label: "Replay", describe: `Replay the receipt of ${row.id}`, path: `/v1/receipts/given-up/${segment(row.id)}/replay`,
          said: (done) => `Message ${done.message} brings it`, after: read,
        }));
      } },
    ],
    empty: () => nothing("None", "Every receipt was taken, or still waits."),
  });
  async function read() {
    try {
      const found = await get("/v1/receipts/given-up?replayed=false&limit=50");
      list.update(found.messages);
    } catch (error) {
      failedIn(list, error);
    }
  }
  return { element: list.element, read };
}

export default function callbacks({ query }) {
  const page = livePage({ path: "callbacks", list: "binds", kinds: ["queues", "binds"], limit: 25, query, label: "Filter callbacks by account or URL", more: () => ({ direction: "callback" }) });
  const list = table({
    caption: "Callbacks",
    sorted: page.sorted,
    choice: columnChoice("callbacks"),
    key: (row) => row.session,
    columns: [
      { title: "Account", render: (cell, row) => showOwner(cell, "accounts", row.name) },
      { title: "To", class: "mono", text: (row) => row.peer || "–" },
      { title: "Queue", class: "mono", render: (cell, row) => showNamed(cell, row.queue) },
      { title: "State", sort: "state", render: (cell, row) => {
        stateCell(cell, bindState(row.state));
        setAttribute(cell, "title", row.last_error || null);
      } },
      { title: "URLs", text: urls },
      { title: "Waiting", numeric: true, text: (row) => number((queueOf(row)?.waiting ?? 0) + (queueOf(row)?.scheduled ?? 0)) },
      { title: "Oldest", numeric: true, render: (cell, row) => showAge(cell, queueOf(row)?.oldest_at, serverNow()) },
      { title: "Under way", sort: "in_flight", numeric: true, render: windowCell },
      { title: "Sent", numeric: true, text: (row) => number(row.sent_total) },
      { title: "Failed", sort: "errors_total", numeric: true, text: (row) => number(row.errors_total) },
      { title: "Last attempts", render: showAttempts },
      { title: "Commands", class: "commands", render: commands },
    ],
    empty: () => nothing("No callbacks", "Accounts with deliver_by = \"callback\" or \"both\", or with callback_hosts, are called from here."),
  });
  const receipts = givenUp();
  receipts.read();
  return {
    elements: [
      heading("Callbacks", page.filter), h("section", { class: "card" }, list.element), page.below,
      h("h2", {}, "Receipts given up"), h("section", { class: "card" }, receipts.element),
    ],
    stream: page.stream,
    update({ binds: now }) {
      if (!now) return;
      list.update(now.binds.filter((bind) => bind.queue));
      page.tell(now.binds.length, now.omitted);
    },
  };
}
