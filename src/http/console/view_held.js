// Held messages: they may have been sent before the database went back in time, and wait until somebody releases or
// cancels them.

import { get, may, segment } from "./api.js";
import { command, failed, failedIn } from "./dialog.js";
import { h, heading, nothing, setText, table } from "./dom.js";
import { number, time } from "./format.js";
import { pagePath, pages } from "./pages.js";
import { columns } from "./view_messages.js";

const PATH = "/v1/held";
const TWICE = "What was sent before is then sent twice.";
const NEVER = "What was not sent before is then never sent. This cannot be undone.";

/** What can be done with one held message. */
export function orders(id, after) {
  const path = `${PATH}/${segment(id)}`;
  return [
    command({
      label: "Release", describe: `Release ${id}`, path: `${path}/release`, after,
      ask: { title: "Send this message?", text: `Message ${id} goes back to its queue. ${TWICE}`, action: "Release" },
      said: "The message is released",
    }),
    command({
      label: "Cancel", describe: `Cancel ${id}`, path: `${path}/cancel`, tone: "risky", after,
      ask: { title: "Cancel this message?", text: `Message ${id} ends DELETED, and its sender is told. ${NEVER}`, action: "Cancel the message" },
      said: "The message is cancelled",
    }),
  ];
}

/** A message whose row is gone has an id only. */
function shown(entry) {
  return { ...entry, from: entry.from ?? "–", to: entry.to ?? "–", sender: entry.sender ?? "–", queue: entry.queue ?? "–" };
}

export default function held() {
  let isOpen = true;
  let all = { count: 0, partitions: 0 };
  const list = table({
    caption: "Held messages, the oldest first",
    key: (row) => row.id,
    columns: [
      columns.id, { title: "From", text: (row) => row.from }, columns.to, columns.sender, columns.queue, columns.accepted,
      { title: "Held since", render: (cell, row) => {
        if (!cell.firstChild) cell.append(time(row.since));
      } },
      { title: "Commands", class: "commands", hidden: !may("operate"), render: (cell, row) => {
        if (!cell.firstChild) cell.append(h("div", { class: "buttons" }, orders(row.id, () => {
          all.count -= 1;
          drop(row);
        })));
      } },
    ],
    empty: () => nothing("Nothing is held", "Where nodes share PostgreSQL, a message that may have been sent before the database went back in time would be listed here."),
  });
  const releaseAll = command({
    label: "Release all", describe: "Release all held messages", path: `${PATH}/release`, after: () => load(true),
    ask: { title: "Send all held messages?", text: () => `${messages()} will be sent. ${TWICE}${further(" What nodes would still find is sent, too.")}`, action: "Release all" },
    said: (done) => `${number(done.count)} messages are released`,
  });
  const cancelAll = command({
    label: "Cancel all", describe: "Cancel all held messages", path: `${PATH}/cancel`, tone: "risky", after: () => load(true),
    ask: { title: "Cancel all held messages?", text: () => `${messages()} will end DELETED, and their senders are told. ${NEVER}`, action: "Cancel all of them", typed: "cancel all" },
    said: (done) => `${number(done.count)} messages are cancelled`,
  });
  const said = h("p", { class: "quiet", role: "status" });
  const lead = h("p", { class: "lead", hidden: true },
    "The database lacks what it had confirmed before a failover or a restore, so nobody can know whether these messages were sent. ",
    "They are in no queue. Ask the operator which of them it had, or wait for its late receipts, which end what they are about. ",
    "Then cancel what was sent, and release what was not. ",
    h("a", { href: "/docs/runbooks.md#smscdatabasewentback" }, "What to do"));
  const { button: more, load, drop } = pages({
    label: "More messages",
    async ask(after) {
      const page = await get(pagePath(PATH, {}, after, "after"));
      all = page;
      return { items: page.messages.map(shown), next_before: page.next_after };
    },
    show(found) {
      if (!isOpen) return;
      list.update(found);
      lead.hidden = !all.count && !all.partitions;
      releaseAll.hidden = lead.hidden;
      cancelAll.hidden = !all.count;
      setText(said, lead.hidden ? "" : `${number(all.count)} held${further(`, and more may be found in ${number(all.partitions)} partitions of queues`)}`);
    },
    failed(error) {
      if (!isOpen) return;
      failedIn(list, error);
    },
  });

  function messages() {
    return all.count === 1 ? "One message" : `${number(all.count)} messages`;
  }
  /** Said only while more may be found. */
  function further(text) {
    return all.partitions ? text : "";
  }
  releaseAll.hidden = true;
  cancelAll.hidden = true;
  load(true);
  return {
    elements: [
      heading("Held messages", h("div", { class: "buttons" }, releaseAll, cancelAll)), lead,
      h("section", { class: "card" }, list.element), h("div", { class: "below" }, said, more),
    ],
    close() {
      isOpen = false;
    },
  };
}
