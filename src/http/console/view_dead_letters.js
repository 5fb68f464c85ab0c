// Dead letters: messages that ended in a failure, what was tried with each of them, and sending one
// again. The address of the page holds the question, as that of the messages does.

import { get, segment } from "./api.js";
import { command, failed } from "./dialog.js";
import { field, h, heading, nothing, setText, table } from "./dom.js";
import { milliseconds, time } from "./format.js";
import { live } from "./live.js";
import { messageState, stateCell } from "./states.js";

const STATES = ["EXPIRED", "UNDELIVERABLE", "UNKNOWN", "REJECTED", "DELETED"];
/** Chosen in place of a queue. */
const BY_ROUTE = "wherever its route sends it";

/** A local time of an input as the API wants it. */
function iso(value) {
  return value ? new Date(value).toISOString() : "";
}

function localInput(text) {
  if (!text) return "";
  const at = new Date(text);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function targets() {
  const names = (live.queues?.queues ?? []).map((queue) => queue.name);
  return [BY_ROUTE, ...names.filter((name) => name.startsWith("operator:") || name.startsWith("test:"))];
}

/** What was tried, one line per attempt. */
function attempts(row) {
  if (!row.history.length) return h("p", { class: "quiet" }, `It never left ${row.queue}.`);
  return h("ol", { class: "attempts" }, row.history.map((one) => h("li", {},
    time(one.at), ` ${one.queue} answered ${one.status} after ${milliseconds(one.latency_ms)}`, one.bind && ` by bind ${one.bind}`)));
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
      options: { label: "Send it to", values: targets },
    },
    body: (to) => (to === BY_ROUTE ? {} : { to }),
    said: (done) => `It is sent again as ${done.message}`,
  });
}

export default function deadLetters({ query }) {
  const text = (name) => h("input", { type: "text", name, autocomplete: "off", spellcheck: "false", value: query.get(name) ?? "" });
  const inputs = { to: text("to"), account: text("account"), operator: text("operator"), error: text("error") };
  inputs.to.dataset.focus = true;
  inputs.state = h("select", { name: "state" }, h("option", { value: "" }, "Failed"), STATES.map((name) => h("option", { value: name, selected: query.get("state") === name }, name)));
  const since = h("input", { type: "datetime-local", name: "since", value: localInput(query.get("since")) });
  const until = h("input", { type: "datetime-local", name: "until", value: localInput(query.get("until")) });
  const form = h("form", { class: "card search", role: "search", onsubmit: ask },
    field("To number", inputs.to), field("Account", inputs.account), field("Operator", inputs.operator), field("State", inputs.state),
    field("Error", inputs.error), field("Accepted since", since), field("Until", until),
    h("div", { class: "buttons" },
      h("button", { type: "submit", class: "primary" }, "Search"),
      h("button", { type: "button", onclick: () => { location.hash = "#/dead-letters"; } }, "Clear")));

  function ask(event) {
    event.preventDefault();
    const next = new URLSearchParams();
    for (const [name, input] of Object.entries(inputs)) if (input.value.trim()) next.set(name, input.value.trim());
    for (const [name, value] of Object.entries({ since: iso(since.value), until: iso(until.value) })) if (value) next.set(name, value);
    const hash = next.size ? `#/dead-letters?${next}` : "#/dead-letters";
    if (hash === location.hash) load(true);
    else location.hash = hash;
  }

  const list = table({
    caption: "Failed messages, newest first",
    key: (row) => row.id,
    columns: [
      { title: "Id", class: "mono", render: (cell, row) => {
        if (!cell.firstChild) cell.append(h("a", { href: `#/messages/${row.id}` }, row.id));
      } },
      { title: "State", render: (cell, row) => stateCell(cell, messageState(row)) },
      { title: "Error", text: (row) => row.final?.error ?? "" },
      { title: "To", text: (row) => row.to },
      { title: "Sender", text: (row) => row.sender },
      { title: "Queue", text: (row) => row.queue },
      { title: "Accepted", render: (cell, row) => {
        if (!cell.firstChild) cell.append(time(row.accepted_at));
      } },
      { title: "Attempts", render: (cell, row) => {
        if (!cell.firstChild) cell.append(h("details", {}, h("summary", { "aria-label": `Attempts of ${row.id}` }, String(row.history.length)), attempts(row)));
      } },
      { title: "Replay", render: (cell, row) => {
        if (cell.dataset.as === (row.replayed_as ?? "")) return;
        cell.dataset.as = row.replayed_as ?? "";
        cell.replaceChildren(row.replayed_as ? h("a", { class: "mono", href: `#/messages/${row.replayed_as}` }, row.replayed_as) : replay(row, (done) => {
          row.replayed_as = done.message;
          list.update(found);
        }));
      } },
    ],
    empty: () => nothing("Nothing has failed", "No message that fits has ended in a failure."),
  });

  const said = h("p", { class: "quiet", role: "status" });
  const older = h("button", { type: "button", hidden: true, onclick: () => load(false) }, "Older messages");
  let found = [];
  let before = null;
  let isOpen = true;

  async function load(anew) {
    const question = new URLSearchParams(query);
    question.set("limit", "50");
    if (!anew && before) question.set("before", before);
    older.setAttribute("aria-busy", "true");
    try {
      const page = await get(`/v1/dead-letters?${question}`);
      if (!isOpen) return;
      found = anew ? page.messages : found.concat(page.messages);
      before = page.next_before;
      list.update(found);
      older.hidden = !before;
      setText(said, found.length ? `${found.length}${before ? " or more" : ""} found` : "");
    } catch (error) {
      if (error.status === 400 || error.status === 404) list.say(nothing("The search is not understood", error.message));
      failed(error);
    } finally {
      older.removeAttribute("aria-busy");
    }
  }
  load(true);
  return {
    elements: [heading("Dead letters"), form, h("section", { class: "card" }, list.element), h("div", { class: "below" }, said, older)],
    close() {
      isOpen = false;
    },
  };
}
