// Unmatched receipts: what operators reported about messages that are not known here; matched or dropped by hand.

import { get, may, post, remove, segment } from "./api.js";
import { command, failed, failedIn, toast } from "./dialog.js";
import { chip, field, h, heading, nothing, setText, table } from "./dom.js";
import { time } from "./format.js";
import { showOwner } from "./kinds.js";
import { messageState } from "./states.js";
import { textInput } from "./view_messages.js";

const PATH = "/v1/receipts/unmatched";

/** Asks for the message that a receipt is about, and says beside the field why it is not that. */
function match(receipt, after) {
  const button = h("button", { type: "button", class: "small", "aria-label": `Match receipt ${receipt.id}`, hidden: !may("operate"), onclick: open }, "Match");
  function open() {
    const id = h("input", { type: "text", inputmode: "numeric", required: true, autocomplete: "off", spellcheck: "false" });
    const problem = h("p", { class: "problem", role: "alert" });
    const go = h("button", { type: "submit", class: "primary" }, "Match");
    const dialog = h("dialog", { "aria-labelledby": "match-title" },
      h("form", { onsubmit: send },
        h("h2", { id: "match-title" }, "Which message is it about?"),
        h("p", {}, `The message ends ${receipt.state}, as this receipt of ${receipt.operator} says, and its sender gets a receipt. This cannot be undone.`),
        field("Message id", id, `The operator calls it ${receipt.operator_message_id || "nothing"}.`), problem,
        h("div", { class: "buttons" }, h("button", { type: "button", onclick: end }, "Cancel"), go)));
    function end() {
      dialog.close();
      dialog.remove();
      button.focus();
    }
    async function send(event) {
      event.preventDefault();
      go.setAttribute("aria-busy", "true");
      setText(problem, "");
      try {
        const done = await post(`${PATH}/${segment(receipt.id)}/match`, { message: id.value.trim() });
        end();
        toast(`Message ${done.id} is ${done.state}`, "good");
        after();
      } catch (error) {
        if (error.status === 401) failed(error);
        setText(problem, error.message);
        id.focus();
      } finally {
        go.removeAttribute("aria-busy");
      }
    }
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      end();
    });
    document.body.append(dialog);
    dialog.showModal();
    id.focus();
  }
  return button;
}

export default function receipts({ query }) {
  const operator = textInput(query, "operator");
  operator.dataset.focus = true;
  let found = [];
  let before = null;
  let isOpen = true;
  const gone = (id) => {
    found = found.filter((one) => one.id !== id);
    list.update(found);
  };
  const list = table({
    caption: "Receipts that match no message, newest first",
    key: (row) => row.id,
    columns: [
      { title: "Came", render: (cell, row) => {
        if (!cell.firstChild) cell.append(time(row.at));
      } },
      { title: "Operator", render: (cell, row) => showOwner(cell, "operators", row.operator) },
      { title: "Its id there", class: "mono wrap", text: (row) => row.operator_message_id || "–" },
      { title: "State", render: (cell, row) => {
        if (!cell.firstChild) cell.append(chip(row.state.toLowerCase(), messageState(row)[1]));
      } },
      { title: "Error", text: (row) => row.error },
      { title: "From → to", class: "wrap", text: (row) => `${row.from || "–"} → ${row.to || "–"}` },
      { title: "Commands", class: "commands", render: (cell, row) => {
        if (cell.firstChild) return;
        cell.append(h("div", { class: "buttons" }, match(row, () => gone(row.id)), command({
          label: "Drop", describe: `Drop receipt ${row.id}`, path: `${PATH}/${segment(row.id)}`, send: remove, tone: "risky",
          ask: { title: "Drop this receipt?", text: "It is forgotten. The message that it was about, if there is one, ends UNKNOWN when its own time is over.", action: "Drop" },
          said: "The receipt is dropped", after: () => gone(row.id),
        })));
      } },
    ],
    empty: () => nothing("Every receipt has found its message", "A receipt that names no known message would be listed here until it finds one, or correlation.ttl is over."),
  });
  const older = h("button", { type: "button", hidden: true, onclick: () => load(false) }, "Older receipts");
  const said = h("p", { class: "quiet", role: "status" });
  const form = h("form", { class: "card search", role: "search", onsubmit: (event) => {
    event.preventDefault();
    const wanted = operator.value.trim();
    const hash = wanted ? `#/receipts?${new URLSearchParams({ operator: wanted })}` : "#/receipts";
    if (hash === location.hash) load(true);
    else location.hash = hash;
  } }, field("Operator", operator), h("div", { class: "buttons" }, h("button", { type: "submit", class: "primary" }, "Search")));

  async function load(anew) {
    const asked = new URLSearchParams({ limit: "50" });
    if (query.get("operator")) asked.set("operator", query.get("operator"));
    if (!anew && before) asked.set("before", before);
    try {
      const page = await get(`${PATH}?${asked}`);
      if (!isOpen) return;
      found = anew ? page.receipts : found.concat(page.receipts);
      before = page.next_before;
      list.update(found);
      older.hidden = !before;
      setText(said, found.length ? `${found.length}${before ? " or more" : ""} found` : "");
    } catch (error) {
      if (!isOpen) return;
      failedIn(list, error);
    }
  }
  load(true);
  return {
    elements: [
      heading("Unmatched receipts"), form,
      h("section", { class: "card" }, list.element), h("div", { class: "below" }, said, older),
    ],
    close() {
      isOpen = false;
    },
  };
}
