// Messages: find them by id, number, account, state and time. The address of the page holds the
// question, so that it can be kept and sent to a colleague. What every search of messages needs is here.

import { get } from "./api.js";
import { bulk, filterOf } from "./bulk.js";
import { columnChoice } from "./columns.js";
import { csvButton } from "./csv.js";
import { failedIn } from "./dialog.js";
import { field, h, heading, nothing, setText, table } from "./dom.js";
import { fromInput, showTime, time, toInput } from "./format.js";
import { showLink, showNamed } from "./kinds.js";
import { messageState, stateCell } from "./states.js";

const STATES = ["ENROUTE", "DELIVERED", "EXPIRED", "DELETED", "UNDELIVERABLE", "ACCEPTED", "UNKNOWN", "REJECTED"];
/** Longer digits are an id: E.164 numbers have at most 15. */
const LONGEST_NUMBER = 15;

/** Fewer digits than the shortest number with a country code are those that it begins with. */
const FIRST_DIGITS = /^\+?\d{1,6}$/;

/** A destination as the API takes it: a few digits stand for all numbers that begin so. */
export function firstDigits(text) {
  const given = text.trim();
  return FIRST_DIGITS.test(given) ? `${given}*` : given;
}

/** Columns of every list of messages. */
export const columns = {
  id: { title: "Id", class: "mono", render: (cell, row) => showLink(cell, `#/messages/${row.id}`, row.id) },
  state: { title: "State", render: (cell, row) => stateCell(cell, messageState(row)) },
  to: { title: "To", text: (row) => row.to },
  sender: { title: "Sender", render: (cell, row) => showNamed(cell, row.sender) },
  queue: { title: "Queue", render: (cell, row) => showNamed(cell, row.queue) },
  accepted: { title: "Accepted", render: (cell, row) => {
    if (!cell.firstChild) cell.append(time(row.accepted_at));
  } },
  ended: { title: "Ended", render: (cell, row) => showTime(cell, row.final?.at) },
};

/** What a file of messages has of each, by the names of the command line. */
const IN_FILE = [
  ["message", (row) => row.id], ["state", (row) => row.state], ["error", (row) => row.final?.error], ["to", (row) => row.to],
  ["from", (row) => row.from], ["sender", (row) => row.sender], ["queue", (row) => row.queue], ["accepted", (row) => row.accepted_at],
  ["ended", (row) => row.final?.at], ["attempts", (row) => row.attempts], ["answer", (row) => row.history?.at(-1)?.status],
  ["replayed_as", (row) => row.replayed_as],
];

/** An input with what the address says. */
export function textInput(query, name) {
  return h("input", { type: "text", name, autocomplete: "off", spellcheck: "false", value: query.get(name) ?? "" });
}

/** The same for a moment, in local time. */
export function momentInput(query, name) {
  return h("input", { type: "datetime-local", name, value: toInput(query.get(name)) });
}

/** The state of what is searched; `any` stands for all of them. */
export function stateSelect(query, any, states) {
  return h("select", { name: "state" }, h("option", { value: "" }, any), states.map((name) => h("option", { value: name, selected: query.get("state") === name }, name)));
}

/** Orders of a list, by the words of the API. */
const ORDERS = [["accepted", "Newest accepted first"], ["ended", "Latest end first"]];

/**
 * A view that searches `/v1/NAME`: a form of `fields` and the times, and what fits as `list`, a page at a
 * time. `question` gives the parameters that the fields say, or null when there is nothing to search; `beside` stands
 * beside the heading; `order` is what comes first unless the address says otherwise. `reload` of the view searches again.
 */
export function search({ name, title, query, fields, question, list, order = "accepted", beside = [] }) {
  const place = `#/${name}`;
  const times = Object.fromEntries(["since", "until", "ended_since", "ended_until"].map((which) => [which, momentInput(query, which)]));
  const chosen = query.get("order") ?? order;
  const first = h("select", { name: "order" }, ORDERS.map(([word, label]) => h("option", { value: word, selected: word === chosen }, label)));
  // What is asked for, also where the address says nothing of it.
  const wanted = new URLSearchParams(query);
  wanted.set("order", chosen);
  const form = h("form", { class: "card search", role: "search", onsubmit: ask },
    ...fields, field("Accepted since", times.since), field("Until", times.until),
    field("Ended since", times.ended_since), field("Ended before", times.ended_until), field("Order", first),
    h("div", { class: "buttons" },
      h("button", { type: "submit", class: "primary" }, "Search"),
      h("button", { type: "button", onclick: () => { location.hash = place; } }, "Clear")));

  function ask(event) {
    event.preventDefault();
    const answers = question();
    if (!answers) return;
    const moments = Object.fromEntries(Object.entries(times).map(([which, input]) => [which, fromInput(input.value)]));
    const values = { ...answers, ...moments, order: first.value === order ? "" : first.value };
    const next = new URLSearchParams();
    for (const [key, value] of Object.entries(values)) if (value) next.set(key, value);
    const hash = next.size ? `${place}?${next}` : place;
    if (hash === location.hash) load(true);
    else location.hash = hash;
  }

  const said = h("p", { class: "quiet", role: "status" });
  const older = h("button", { type: "button", hidden: true, onclick: () => load(false) }, "Older messages");
  let found = [];
  let before = null;
  let isOpen = true;

  async function load(anew) {
    const asked = new URLSearchParams(wanted);
    asked.set("limit", "50");
    if (!anew && before) asked.set("before", before);
    older.setAttribute("aria-busy", "true");
    try {
      const page = await get(`/v1/${name}?${asked}`);
      if (!isOpen) return;
      found = anew ? page.messages : found.concat(page.messages);
      before = page.next_before;
      list.update(found);
      older.hidden = !before;
      setText(said, found.length || before ? `${found.length}${before ? " or more" : ""} found` : "");
    } catch (error) {
      if (!isOpen) return;
      failedIn(list, error);
    } finally {
      older.removeAttribute("aria-busy");
    }
  }
  load(true);
  const csv = csvButton({ path: `/v1/${name}`, query: wanted, items: "messages", columns: IN_FILE, file: `${name}.csv` });
  return {
    reload: () => load(true),
    elements: [heading(title, h("div", { class: "buttons" }, csv, beside)), form, h("section", { class: "card" }, list.element), h("div", { class: "below" }, said, older)],
    close() {
      isOpen = false;
    },
  };
}

export default function messages({ query }) {
  const what = h("input", { type: "search", name: "what", "data-focus": true, autocomplete: "off", spellcheck: "false", placeholder: "447700900123", value: query.get("to") ?? "" });
  const from = textInput(query, "from");
  const account = textInput(query, "account");
  const operator = textInput(query, "operator");
  const country = textInput(query, "country");
  const network = textInput(query, "network");
  const state = stateSelect(query, "Any", STATES);
  const list = table({
    caption: "Messages found, newest first",
    choice: columnChoice("messages"),
    key: (row) => row.id,
    columns: [
      columns.id, columns.state, { title: "From", text: (row) => row.from }, columns.to, columns.sender, columns.queue, columns.accepted, columns.ended,
      { title: "Attempts", numeric: true, text: (row) => row.attempts },
    ],
    empty: () => nothing("No message fits", "Widen the search: leave fields empty, or take an earlier time. A few digits find all numbers that begin with them; more must match completely, unless a star ends them."),
  });
  const cancelAll = bulk({
    label: "Cancel all that wait", verb: { imperative: "Cancel", past: "cancelled" }, path: "/v1/messages/cancel", done: "cancelled", tone: "risky",
    filter: () => filterOf(query, ["to", "from", "account", "operator", "country", "network", "since", "until"]),
    explain: "Those of this search that no operator has yet end DELETED, and their senders are told. This cannot be undone.",
    after: () => page.reload(),
  });
  const page = search({
    name: "messages", title: "Messages", query, list, beside: [cancelAll],
    fields: [field("To number, or message id", what), field("From", from), field("Account or operator that sent it", account), field("Operator or queue that it is in", operator), field("State", state), field("Country", country), field("Network", network)],
    question() {
      const given = what.value.replace(/[\s+]/g, "");
      if (/^\d+$/.test(given) && given.length > LONGEST_NUMBER) {
        location.hash = `#/messages/${given}`;
        return null;
      }
      return { to: firstDigits(given), country: country.value.trim(), network: network.value.trim(), from: from.value.trim(), account: account.value.trim(), operator: operator.value.trim(), state: state.value };
    },
  });
  return page;
}
