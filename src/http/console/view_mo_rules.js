// MO rules: what becomes of messages that operators bring, in order; which rule takes one, and why.

import { get, may, patch } from "./api.js";
import { action, failed, failedCard, toast } from "./dialog.js";
import { field, h, heading, nothing, table } from "./dom.js";
import { number } from "./format.js";
import { newPage, pageOf, showLink } from "./kinds.js";

/** Keys of a rule that hold several words. */
const LISTS = ["to", "from", "keywords"];

export default function moRules({ query }) {
  const list = h("section", { class: "card" });
  const result = h("section", { class: "card", "aria-live": "polite" });
  const asked = {};
  for (const name of ["to", "from", "operator", "text"]) asked[name] = input(name, query.get(name) ?? "", ["to", "operator"].includes(name));
  const form = h("form", { class: "card search", onsubmit: (event) => {
    event.preventDefault();
    const next = new URLSearchParams();
    for (const [name, one] of Object.entries(asked)) if (one.value.trim()) next.set(name, one.value.trim());
    const hash = `#/mo-rules?${next}`;
    if (hash === location.hash) explain();
    else location.hash = hash;
  } },
  field("To (short code)", asked.to), field("From (optional)", asked.from), field("Brought by operator", asked.operator), field("Text (optional)", asked.text),
  h("div", { class: "buttons" }, h("button", { type: "submit", class: "primary" }, "Explain")));

  async function explain() {
    if (!query.get("to")) {
      result.replaceChildren(h("div", { class: "empty" }, nothing("Ask before you change", "Enter an address, an operator and a text to see which rule takes the message, and why those before it do not.")));
      return;
    }
    try {
      result.replaceChildren(...decision(await get(`/v1/mo-rules/explain?${query}`)));
    } catch (error) {
      result.replaceChildren(h("div", { class: "empty" }, nothing("That cannot be explained", error.message)));
    }
  }

  async function load() {
    try {
      const { version, mo_rules: rules } = await get("/v1/mo-rules");
      list.replaceChildren(head(), all(rules, version));
    } catch (error) {
      failedCard(list, error);
    }
  }

  function head() {
    return h("div", { class: "card-head" }, h("h2", {}, "Rules, in order"), h("div", { class: "buttons" }, h("a", { class: "button small", href: newPage("mo_rules"), hidden: !may("admin") }, "New rule")));
  }

  function all(rules, version) {
    const names = rules.map((rule) => rule.name);
    const rows = table({
      caption: "MO rules",
      key: (row) => row.name,
      columns: [
        { title: "Order", numeric: true, text: (row) => row.settings.order },
        { title: "Name", render: (cell, row) => showLink(cell, pageOf(`mo_rules/${row.name}`), row.name) },
        { title: "Takes", text: (row) => conditions(row.settings) },
        { title: "Does", text: (row) => does(row.settings) },
        { title: "Order of trial", hidden: !may("admin"), render: (cell, row) => {
          if (cell.dataset.version === String(row.version)) return;
          cell.dataset.version = row.version;
          cell.replaceChildren(h("div", { class: "buttons" },
            action("Up", () => move(row, -1), `Move ${row.name} up`), action("Down", () => move(row, 1), `Move ${row.name} down`)));
        } },
      ],
      empty: () => nothing("No rules", "Messages go to the account that has their address, or by routes with mobile_originated."),
    });
    rows.update(rules);
    return rows.element;

    /** Lets a rule be tried one place earlier or later. */
    async function move(row, by) {
      const at = names.indexOf(row.name);
      const order = names.toSpliced(at, 1).toSpliced(at + by, 0, row.name);
      if (at + by < 0 || at + by >= names.length) return toast(`${row.name} is the ${by < 0 ? "first" : "last"} rule.`, "warn");
      try {
        await patch("/v1/mo-rules", { order }, version);
        toast(`${row.name} is tried ${by < 0 ? "earlier" : "later"}.`, "good");
      } catch (error) {
        failed(error);
      }
      await load();
      list.querySelector(`[aria-label="Move ${CSS.escape(row.name)} ${by < 0 ? "up" : "down"}"]`)?.focus();
      return undefined;
    }
  }

  load();
  explain();
  return { elements: [heading("MO rules"), list, form, result] };
}

function input(name, value, required = false) {
  return h("input", { type: "text", name, autocomplete: "off", spellcheck: "false", required, value: String(value) });
}

function conditions(rule) {
  const said = LISTS.filter((name) => rule[name].length).map((name) => `${name} ${rule[name].join(" or ")}`);
  if (rule.operator) said.push(`brought by ${rule.operator}`);
  if (rule.account) said.push(`for an address of ${rule.account}`);
  return said.join(", ") || "everything";
}

function does(rule) {
  if (rule.callback) return `delivers to the callback ${rule.callback} of ${rule.deliver_to}`;
  if (rule.deliver_to) return `delivers to ${rule.deliver_to}`;
  return rule.reply ? `answers “${rule.reply}”, paid by ${rule.reply_account}` : "drops it";
}

/** Which rule takes the message, and why those before it do not. */
function decision(answer) {
  const elements = [h("p", { class: "verdict" }, `A message to ${answer.to} `, h("strong", {}, answer.rule ? answer.outcome : without(answer)), answer.rule ? ` by the rule ${answer.rule}.` : ".")];
  if (!answer.operator_is_known) elements.push(h("p", { class: "quiet" }, `There is no operator ${answer.operator}.`));
  if (answer.asked.length) {
    elements.push(h("h2", { class: "part" }, "Rules that were asked, in order"), h("ol", { class: "considered" }, answer.asked.map((one) =>
      h("li", {}, h("code", {}, `${one.name}: ${one.rule}`), h("span", { class: "quiet" }, one.why)))));
  }
  if (answer.others) elements.push(h("p", { class: "quiet part" }, `${number(answer.others)} more rules come after it.`));
  return elements;
}

function without(answer) {
  const goes = answer.otherwise?.goes_to ?? [];
  const where = goes.length ? `goes to ${goes.join(" or ")}` : `is refused with ${answer.otherwise?.no_route_status}`;
  return `${answer.outcome}; it ${where}`;
}
