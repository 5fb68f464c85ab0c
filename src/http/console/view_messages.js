// Messages: find them by id, number, account, state and time. The address of the page holds the
// question, so that it can be kept and sent to a colleague.

import { get } from "./api.js";
import { failed } from "./dialog.js";
import { field, h, heading, nothing, setText, table } from "./dom.js";
import { time } from "./format.js";
import { messageState, stateCell } from "./states.js";

const STATES = ["ENROUTE", "DELIVERED", "EXPIRED", "DELETED", "UNDELIVERABLE", "ACCEPTED", "UNKNOWN", "REJECTED"];
/** Longer digits are an id: E.164 numbers have at most 15. */
const LONGEST_NUMBER = 15;

/** A local time of an input as the API wants it. */
function iso(value) {
  return value ? new Date(value).toISOString() : "";
}

function localInput(text) {
  if (!text) return "";
  const at = new Date(text);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export default function messages({ query }) {
  const what = h("input", { type: "search", name: "what", "data-focus": true, autocomplete: "off", spellcheck: "false", placeholder: "447700900123 or a message id", value: query.get("to") ?? "" });
  const from = h("input", { type: "text", name: "from", autocomplete: "off", spellcheck: "false", value: query.get("from") ?? "" });
  const account = h("input", { type: "text", name: "account", autocomplete: "off", spellcheck: "false", value: query.get("account") ?? "" });
  const state = h("select", { name: "state" }, h("option", { value: "" }, "Any"), STATES.map((name) => h("option", { value: name, selected: query.get("state") === name }, name)));
  const since = h("input", { type: "datetime-local", name: "since", value: localInput(query.get("since")) });
  const until = h("input", { type: "datetime-local", name: "until", value: localInput(query.get("until")) });
  const form = h("form", { class: "card search", role: "search", onsubmit: ask },
    field("To number, or message id", what),
    field("From", from), field("Account or operator", account), field("State", state), field("Accepted since", since), field("Until", until),
    h("div", { class: "buttons" },
      h("button", { type: "submit", class: "primary" }, "Search"),
      h("button", { type: "button", onclick: () => { location.hash = "#/messages"; } }, "Clear")));

  function ask(event) {
    event.preventDefault();
    const given = what.value.replace(/[\s+]/g, "");
    if (/^\d+$/.test(given) && given.length > LONGEST_NUMBER) {
      location.hash = `#/messages/${given}`;
      return;
    }
    const next = new URLSearchParams();
    const values = { to: given, from: from.value.trim(), account: account.value.trim(), state: state.value, since: iso(since.value), until: iso(until.value) };
    for (const [name, value] of Object.entries(values)) if (value) next.set(name, value);
    const hash = next.size ? `#/messages?${next}` : "#/messages";
    if (hash === location.hash) load(true);
    else location.hash = hash;
  }

  const list = table({
    caption: "Messages found, newest first",
    key: (row) => row.id,
    columns: [
      { title: "Id", class: "mono", render: (cell, row) => {
        if (!cell.firstChild) cell.append(h("a", { href: `#/messages/${row.id}` }, row.id));
      } },
      { title: "State", render: (cell, row) => stateCell(cell, messageState(row)) },
      { title: "From", text: (row) => row.from },
      { title: "To", text: (row) => row.to },
      { title: "Sender", text: (row) => row.sender },
      { title: "Queue", text: (row) => row.queue },
      { title: "Accepted", render: (cell, row) => {
        if (!cell.firstChild) cell.append(time(row.accepted_at));
      } },
      { title: "Attempts", numeric: true, text: (row) => row.attempts },
    ],
    empty: () => nothing("No message fits", "Widen the search: leave fields empty, or take an earlier time. Numbers are compared whole."),
  });
  const said = h("p", { class: "quiet", role: "status" });
  const older = h("button", { type: "button", hidden: true, onclick: () => load(false) }, "Older messages");
  let found = [];
  let before = null;
  let isOpen = true;

  async function load(anew) {
    const ask = new URLSearchParams(query);
    ask.set("limit", "50");
    if (!anew && before) ask.set("before", before);
    older.setAttribute("aria-busy", "true");
    try {
      const page = await get(`/v1/messages?${ask}`);
      if (!isOpen) return;
      found = anew ? page.messages : found.concat(page.messages);
      before = page.next_before;
      list.update(found);
      older.hidden = !before;
      setText(said, found.length ? `${found.length}${before ? " or more" : ""} found` : "");
    } catch (error) {
      if (error.status === 400) list.say(nothing("The search is not understood", error.message));
      failed(error);
    } finally {
      older.removeAttribute("aria-busy");
    }
  }
  load(true);
  return {
    elements: [heading("Messages"), form, h("section", { class: "card" }, list.element), h("div", { class: "below" }, said, older)],
    close() {
      isOpen = false;
    },
  };
}
