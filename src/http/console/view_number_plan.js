// Number plan: which numbers are our own, which those of others, and where they go; what one number is, and why.

import { get, may } from "./api.js";
import { failedCard } from "./dialog.js";
import { field, h, heading, nothing, table } from "./dom.js";
import { number } from "./format.js";
import { newPage, pageOf, showLink } from "./kinds.js";
import { stepText } from "./schema.js";

/** Stands for the prefix that is the beginning of every number. */
const ANYTHING = "anything";

export default function numberPlan({ query }) {
  const list = h("section", { class: "card" });
  const result = h("section", { class: "card", "aria-live": "polite" });
  const asked = h("input", { type: "text", name: "number", inputmode: "tel", required: true, autocomplete: "off", spellcheck: "false", value: query.get("to") ?? "", placeholder: "447700900123" });
  const form = h("form", { class: "card search", onsubmit: (event) => {
    event.preventDefault();
    const hash = `#/number-plan?${new URLSearchParams({ to: asked.value.trim() })}`;
    if (hash === location.hash) classify();
    else location.hash = hash;
  } },
  field("Number", asked, "As it is after addresses have been rewritten."),
  h("div", { class: "buttons" }, h("button", { type: "submit", class: "primary" }, "Classify")));

  async function classify() {
    const to = query.get("to");
    if (!to) {
      result.replaceChildren(h("div", { class: "empty" }, nothing("Ask before you change", "Enter a number to see its range, whether it exists, and where its messages go.")));
      return;
    }
    try {
      result.replaceChildren(...said(await get(`/v1/routes/explain?${new URLSearchParams({ to })}`)));
    } catch (error) {
      result.replaceChildren(h("div", { class: "empty" }, nothing("That cannot be explained", error.message)));
    }
  }

  async function load() {
    try {
      const { number_ranges: ranges } = await get("/v1/number-ranges");
      list.replaceChildren(
        h("div", { class: "card-head" }, h("h2", {}, "Ranges"), h("div", { class: "buttons" }, h("a", { class: "button small", href: newPage("number_ranges"), hidden: !may("admin") }, "New range"))),
        all(ranges));
    } catch (error) {
      failedCard(list, error);
    }
  }

  function all(ranges) {
    const rows = table({
      caption: "Number plan",
      key: (row) => row.name,
      columns: [
        { title: "Range", render: (cell, row) => showLink(cell, pageOf(`number_ranges/${row.name}`), row.name) },
        { title: "Numbers are", text: (row) => row.settings.class.replace("_", " ") },
        { title: "Begin with", class: "mono", text: (row) => beginnings(row.settings.prefixes) },
        { title: "Digits", text: (row) => digits(row.settings) },
        { title: "Exist", text: (row) => exist(row.settings.numbers) },
        { title: "Go to", text: (row) => row.settings.to.map(stepText).join(", then ") || "by routes" },
      ],
      empty: () => nothing("No number plan", "Every number is taken for one of the outside world, and [[route]] says where it goes."),
    });
    rows.update(ranges);
    return rows.element;
  }

  load();
  classify();
  return {
    elements: [
      heading("Number plan"),
      h("p", { class: "lead" }, "A message to a number of a range that does not exist is refused at once."),
      list, form, result,
    ],
  };
}

function beginnings(prefixes) {
  return prefixes.map((prefix) => prefix || ANYTHING).join(", ");
}

function digits({ min_digits: min, max_digits: max }) {
  if (min === null && max === null) return "any";
  if (min === max) return String(min);
  if (min === null) return `at most ${max}`;
  return max === null ? `at least ${min}` : `${min} to ${max}`;
}

/** Few entries as they are, many by how many there are. */
function exist(numbers) {
  if (!numbers.length) return "all";
  return numbers.length > 4 ? `${number(numbers.length)} entries` : numbers.join(", ");
}

/** What a number is, and where it goes. */
function said(answer) {
  const planned = answer.number_plan;
  if (!planned) return [h("p", { class: "verdict" }, `There is no number plan: ${answer.to} is of the outside world.`), where(answer)];
  const range = planned.range ? `the range ${planned.range}` : "no range";
  return [
    h("p", { class: "verdict" }, `${answer.to} is `, h("strong", {}, planned.class.replace("_", " ")), `, of ${range}${planned.exists ? "." : ", and does not exist."}`),
    planned.exists ? where(answer) : h("p", { class: "quiet" }, "A message to it is refused with ESME_RINVDSTADR."),
  ];
}

function where(answer) {
  const link = h("a", { href: `#/routes?${new URLSearchParams({ to: answer.to })}` }, "Why");
  const goes = answer.goes_to.length ? `Messages to it go to ${answer.goes_to.join(" or ")}. ` : `No route fits it: a message is refused with ${answer.no_route_status}. `;
  return h("p", { class: "quiet" }, goes, link);
}
