// Routes: which way a message would take, and why.

import { get, may } from "./api.js";
import { field, h, heading, nothing, table } from "./dom.js";
import { number } from "./format.js";
import { listPage, newPage, pageOf, showOwner } from "./kinds.js";
import { stateCell } from "./states.js";

export default function routes({ query }) {
  const to = h("input", { type: "text", name: "to", inputmode: "tel", "data-focus": true, required: true, autocomplete: "off", spellcheck: "false", value: query.get("to") ?? "", placeholder: "447700900123" });
  const from = h("input", { type: "text", name: "from", autocomplete: "off", spellcheck: "false", value: query.get("from") ?? "" });
  const account = h("input", { type: "text", name: "account", autocomplete: "off", spellcheck: "false", value: query.get("account") ?? "" });
  const operator = h("input", { type: "text", name: "operator", autocomplete: "off", spellcheck: "false", value: query.get("operator") ?? "" });
  const result = h("section", { class: "card", "aria-live": "polite" });
  const form = h("form", { class: "card search", onsubmit: (event) => {
    event.preventDefault();
    const next = new URLSearchParams();
    for (const input of [to, from, account, operator]) if (input.value.trim()) next.set(input.name, input.value.trim());
    const hash = `#/routes?${next}`;
    if (hash === location.hash) load();
    else location.hash = hash;
  } },
  field("To number", to), field("From (optional)", from), field("Account (optional)", account), field("Or brought by operator", operator),
  h("div", { class: "buttons" }, h("button", { type: "submit", class: "primary" }, "Explain")));

  async function load() {
    if (!query.get("to")) {
      result.replaceChildren(h("div", { class: "empty" }, nothing("Ask before you send", "Enter a number to see its route, the routes that were not used and why, and the queue of its messages.")));
      return;
    }
    try {
      result.replaceChildren(...explain(await get(`/v1/routes/explain?${query}`)));
    } catch (error) {
      const title = error.status === 404 ? "No explanation" : "That cannot be explained";
      result.replaceChildren(h("div", { class: "empty" }, nothing(title, error.message)));
    }
  }
  load();
  return { elements: [heading("Routes", h("a", { class: "button", href: listPage("routes") }, "All routes"), h("a", { class: "button", href: newPage("routes"), hidden: !may("admin") }, "Add a route")), form, result] };
}

/** What is known about the IMSI of the number, which a GSM interface needs. */
const IMSI = {
  known: "The IMSI of the number is known.",
  looked_up: "The IMSI of the number is looked up first.",
  unknown: "Nobody has the number: a message to a GSM interface ends UNDELIVERABLE.",
};

/** The decision: where it goes, through which targets, by which route, and why not by another. */
function explain(answer) {
  const planned = answer.number_plan;
  const missing = planned && !planned.exists;
  const goes = missing
    ? h("p", { class: "verdict" }, `There is no number ${answer.to}: ${answer.operator ? "deliver_sm" : "submit_sm"} is answered with `, h("strong", {}, "ESME_RINVDSTADR"), ".")
    : answer.goes_to.length
    ? h("p", { class: "verdict" }, `A message to ${answer.to} goes to `, h("strong", {}, answer.goes_to.join(" or ")), ".")
    : h("p", { class: "verdict" }, `No route fits ${answer.to}: ${answer.operator ? "deliver_sm" : "submit_sm"} is answered with `, h("strong", {}, answer.no_route_status), ".");
  const notes = [];
  if (answer.operator && !answer.account_is_known) notes.push(`There is no operator ${answer.operator}.`);
  if (answer.account && !answer.account_is_known) notes.push(`There is no account ${answer.account} that may bind.`);
  if (answer.imsi) notes.push(IMSI[answer.imsi]);
  if (planned) notes.push(`In the number plan it is ${planned.class.replace("_", " ")}, of ${planned.range ? `the range ${planned.range}` : "no range"}.`);
  if (answer.mobile_originated_to) notes.push(`The number belongs to the account ${answer.mobile_originated_to}: mobile-originated messages to it go there.`);
  return [
    goes,
    notes.map((note) => h("p", { class: "quiet" }, note)),
    part("Targets, in order", targets(answer.targets)),
    part("Matching routes, the first is used", considered(answer.matching)),
    part("Routes for this number that do not match", considered(answer.not_matching)),
    answer.others ? h("p", { class: "quiet part" }, `${number(answer.others)} more routes are for other numbers.`) : "",
  ].flat();
}

function part(title, inside) {
  return inside ? [h("h2", { class: "part" }, title), inside] : [];
}

function targets(all) {
  if (!all.length) return null;
  const list = table({
    caption: "Targets",
    key: (row) => `${row.step} ${row.target}`,
    columns: [
      { title: "Target", render: (cell, row) => showOwner(cell, "operators", row.target) },
      { title: "Step", numeric: true, text: (row) => row.step },
      { title: "State", render: (cell, row) => stateCell(cell, [row.state, row.available ? "good" : "warn"]) },
      { title: "Weight", numeric: true, text: (row) => row.weight },
      { title: "Chance", numeric: true, text: (row) => `${Math.round(row.chance)} %` },
    ],
    empty: () => nothing("No targets"),
  });
  list.update(all);
  return list.element;
}

function considered(routes) {
  if (!routes.length) return null;
  return h("ol", { class: "considered" }, routes.map((one) =>
    h("li", {}, h("code", {}, one.name.startsWith("range:") ? one.route : h("a", { href: pageOf(`routes/${one.name}`) }, one.route)), one.why && h("span", { class: "quiet" }, one.why))));
}
