// API keys of accounts: who may submit and read over HTTP. A key is shown once, when it is made.

import { get, post, remove, segment } from "./api.js";
import { command, failed, failedAt, failedIn, showSecret } from "./dialog.js";
import { field, h, heading, nothing, setText, table } from "./dom.js";
import { fromInput, showTime } from "./format.js";
import { showOwner } from "./kinds.js";

const ROLES = { both: "Send and read", send: "Send", read: "Read", consent: "Send, read, take off opt-outs" };

/** A list of the accounts; it tells by the event `filled` when it has them. */
export function accountSelect(name, wanted = null) {
  const select = h("select", { name, required: true });
  get("/v1/accounts").then(({ accounts }) => {
    select.replaceChildren(...accounts.map((one) => h("option", { value: one.name, selected: one.name === wanted }, one.name)));
    select.dispatchEvent(new Event("filled"));
  }, failed);
  return select;
}

export default function keys({ query }) {
  const account = accountSelect("account", query.get("account"));
  const role = h("select", { name: "role" }, Object.entries(ROLES).map(([value, title]) => h("option", { value }, title)));
  const label = h("input", { type: "text", name: "label", maxlength: "100", autocomplete: "off" });
  const allow = h("input", { type: "text", name: "allow", autocomplete: "off", spellcheck: "false", placeholder: "192.0.2.0/24" });
  const ends = h("input", { type: "datetime-local", name: "expires_at" });
  const problem = h("p", { class: "problem", role: "alert" });
  const make = h("button", { type: "submit", class: "primary" }, "Create");
  const shown = h("div", { hidden: true, "aria-live": "polite" });
  const form = h("form", { class: "card search", onsubmit: create },
    field("Account", account), field("Role", role), field("Label (optional)", label),
    field("Addresses (optional)", allow, "IP addresses and CIDR blocks; any if empty."),
    field("Expires (optional)", ends, "Without it, when it is revoked."),
    h("div", { class: "buttons" }, make, problem));
  const list = table({
    caption: "API keys",
    key: (row) => row.id,
    columns: [
      { title: "Id", class: "mono", text: (row) => row.id },
      { title: "Account", render: (cell, row) => showOwner(cell, "accounts", row.account) },
      { title: "Label", text: (row) => row.label || "–" },
      { title: "Role", text: (row) => ROLES[row.role] ?? row.role },
      { title: "Addresses", text: (row) => row.allow.join(" ") || "any" },
      { title: "Expires", render: (cell, row) => showTime(cell, row.expires_at, "never") },
      { title: "Last used", render: (cell, row) => showTime(cell, row.used_at, "never") },
      { title: "Commands", class: "commands", render: (cell, row) => { if (!cell.firstChild) cell.append(revoke(row)); } },
    ],
    empty: () => nothing("No API keys yet", "With one, an application submits messages over HTTP for its account."),
  });

  async function load() {
    try {
      list.update((await get("/v1/api-keys")).keys);
    } catch (error) {
      failedIn(list, error);
    }
  }

  async function create(event) {
    event.preventDefault();
    if (make.getAttribute("aria-busy")) return;
    make.setAttribute("aria-busy", "true");
    setText(problem, "");
    const order = { account: account.value, role: role.value, label: label.value.trim(), allow: allow.value.split(/[\s,]+/).filter(Boolean) };
    if (ends.value) order.expires_at = fromInput(ends.value);
    try {
      const { key, secret } = await post("/v1/api-keys", order);
      showSecret(shown, { title: `The new key of ${key.account}`, text: "Keep it now: it is not shown again, and the SMSC stores only a hash of it.", secret });
      form.reset();
      await load();
    } catch (error) {
      failedAt(problem, error);
    } finally {
      make.removeAttribute("aria-busy");
    }
  }

  function revoke(row) {
    return command({
      label: "Revoke", needs: "admin", tone: "risky", path: `/v1/api-keys/${segment(row.id)}`, send: remove, after: load,
      describe: `Revoke ${row.id}`, said: `${row.id} is revoked`,
      ask: { title: "Revoke this key?", text: `Requests with ${row.id}${row.label ? ` (${row.label})` : ""} are refused: here at once, on other nodes within seconds. This cannot be undone.`, action: "Revoke the key" },
    });
  }

  load();
  return { elements: [heading("API keys"), shown, form, h("section", { class: "card" }, list.element)] };
}
