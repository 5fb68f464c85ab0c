// Tokens of this API: who may look, command or change. A token is shown once, when it is made.

import { get, post, remove, segment, session } from "./api.js";
import { command, failed, failedIn, showSecret } from "./dialog.js";
import { field, h, heading, nothing, select, setAttribute, setText, table } from "./dom.js";
import { fromInput, showTime } from "./format.js";

const ROLES = {
  read: "Sees everything but the texts of messages.",
  operate: "Also sees texts, and commands queues, binds and messages.",
  admin: "Also changes the configuration, tokens and balances.",
};
const DAY_MS = 86_400_000;
const ENDS = [["30", "in 30 days"], ["1", "in a day"], ["7", "in 7 days"], ["90", "in 90 days"], ["365", "in a year"], ["at", "at a time …"], ["", "never"]];

export default function tokens() {
  const name = h("input", { type: "text", name: "token-name", required: true, maxlength: "64", autocomplete: "off", spellcheck: "false", placeholder: "monitoring" });
  const role = select("role", Object.keys(ROLES).map((one) => [one, one]), "read");
  const ends = select("ends", ENDS, "30");
  const at = h("input", { type: "datetime-local", name: "at" });
  const moment = field("At", at);
  const problem = h("p", { class: "problem", role: "alert" });
  const make = h("button", { type: "submit", class: "primary" }, "Create");
  const place = h("div", { hidden: true, "aria-live": "polite" });
  const roleField = field("Role", role, ROLES.read);
  role.addEventListener("change", () => setText(roleField.querySelector(".hint"), ROLES[role.value]));
  moment.hidden = true;
  ends.addEventListener("change", () => {
    moment.hidden = ends.value !== "at";
    at.required = ends.value === "at";
  });
  const form = h("form", { class: "card search", onsubmit: create },
    field("Name", name, "Letters, digits, dots, hyphens: who it is for."), roleField, field("Ends", ends), moment,
    h("div", { class: "buttons" }, make, problem));
  const list = table({
    caption: "Tokens",
    key: (row) => row.name,
    columns: [
      { title: "Name", text: (row) => (row.name === session.name ? `${row.name} (this one)` : row.name) },
      { title: "Role", text: (row) => row.role },
      { title: "Made by", class: "wraps", text: (row) => row.created_by },
      { title: "Made", render: (cell, row) => showTime(cell, row.created_at) },
      { title: "Ends", render: (cell, row) => showTime(cell, row.expires_at, "never") },
      { title: "Last used", render: (cell, row) => showTime(cell, row.used_at, "never") },
      { title: "Commands", class: "commands", render: (cell, row) => { if (!cell.firstChild) cell.append(revoke(row)); } },
    ],
    empty: () => nothing("No tokens yet", "Besides that of the configuration. Give each person and each program one of its own."),
  });

  async function load() {
    try {
      list.update((await get("/v1/tokens")).tokens);
    } catch (error) {
      failedIn(list, error);
    }
  }

  async function create(event) {
    event.preventDefault();
    setText(problem, "");
    setAttribute(name, "aria-invalid", null);
    const order = { name: name.value.trim(), role: role.value };
    if (ends.value === "at") order.expires_at = fromInput(at.value);
    else if (ends.value) order.expires_at = new Date(Date.now() + Number(ends.value) * DAY_MS).toISOString();
    make.setAttribute("aria-busy", "true");
    try {
      const { token, secret } = await post("/v1/tokens", order);
      showSecret(place, {
        title: `The new token ${token.name}`, secret,
        text: "Give it to whom it is for, now: it is not shown again, and the SMSC stores only a hash of it.",
        more: h("p", { class: "quiet" }, "On the command line: ", h("code", {}, `smsc context add live --url ${location.origin} --token-file FILE`)),
      });
      form.reset();
      moment.hidden = true;
      await load();
    } catch (error) {
      if (error.status === 401) return failed(error);
      if (error.problem?.field === "name") setAttribute(name, "aria-invalid", "true");
      setText(problem, error.message);
    } finally {
      make.removeAttribute("aria-busy");
    }
    return undefined;
  }

  function revoke(row) {
    return command({
      label: "Revoke", needs: "admin", tone: "risky", path: `/v1/tokens/${segment(row.name)}`, send: remove, after: load,
      describe: `Revoke ${row.name}`, said: `${row.name} is revoked`,
      ask: { title: `Revoke the token ${row.name}?`, text: "Requests with it are refused: here at once, on other nodes within seconds. This cannot be undone.", action: "Revoke the token" },
    });
  }

  load();
  return { elements: [heading("Tokens"), h("p", { class: "lead" }, "Who may use this console, the command line and the admin API."), place, form, h("section", { class: "card" }, list.element)] };
}
