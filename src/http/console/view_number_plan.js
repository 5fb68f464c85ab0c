// Number plan: which numbers are our own, which those of others, and where they go; what one number is, and why.

import { del, get, put, segment } from "./api.js";
import { action, confirm, failed, toast } from "./dialog.js";
import { field, h, heading, nothing, setAttribute, table } from "./dom.js";
import { number } from "./format.js";

const CLASSES = { local: "Our own", downstream: "Those of a peer behind us", short_code: "Short codes", outside: "The rest of the world" };
/** Stands for the prefix that is the beginning of every number. */
const ANYTHING = "anything";

export default function numberPlan({ query }) {
  const list = h("section", { class: "card" });
  const editor = h("section", { class: "card", hidden: true });
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
        h("div", { class: "card-head" }, h("h2", {}, "Ranges"), h("div", { class: "buttons" }, action("New range", () => edit(null)))),
        all(ranges));
    } catch (error) {
      failed(error);
    }
  }

  function all(ranges) {
    const rows = table({
      caption: "Number plan",
      key: (row) => row.name,
      columns: [
        { title: "Range", text: (row) => row.name },
        { title: "Numbers are", text: (row) => row.settings.class.replace("_", " ") },
        { title: "Begin with", class: "mono", text: (row) => beginnings(row.settings.prefixes) },
        { title: "Digits", text: (row) => digits(row.settings) },
        { title: "Exist", text: (row) => exist(row.settings.numbers) },
        { title: "Go to", text: (row) => row.settings.to.map(shown).join(", then ") || "by routes" },
        { title: "Change", render: (cell, row) => {
          if (!cell.firstChild) cell.append(h("div", { class: "buttons" }, action("Edit", () => edit(row), `Edit ${row.name}`), action("Remove", () => remove(row), `Remove ${row.name}`)));
        } },
      ],
      empty: () => nothing("No number plan", "Every number is taken for one of the outside world, and [[route]] says where it goes."),
    });
    rows.update(ranges);
    return rows.element;
  }

  async function remove(row) {
    const text = "Its numbers are those of another range then, or of the outside world; they exist, and go by the routes that are left.";
    if (!await confirm({ title: `Remove the range ${row.name}?`, text, action: "Remove" })) return;
    try {
      await del(`/v1/number-ranges/${segment(row.name)}`, row.version);
      toast(`${row.name} is removed.`, "good");
    } catch (error) {
      failed(error);
    }
    load();
  }

  /** The form for one range; `row` is null for a new one. */
  function edit(row) {
    const now = row?.settings ?? { class: "local", prefixes: [], min_digits: null, max_digits: null, numbers: [], to: [] };
    const fields = {
      name: input("range-name", row?.name ?? "", true),
      class: h("select", { name: "class" }, Object.entries(CLASSES).map(([name, title]) => h("option", { value: name, selected: name === now.class }, title))),
      prefixes: input("prefixes", beginnings(now.prefixes), true),
      min_digits: input("min_digits", now.min_digits ?? ""),
      max_digits: input("max_digits", now.max_digits ?? ""),
      to: input("range-to", now.to.map(shown).join(", ")),
      numbers: h("textarea", { name: "numbers", spellcheck: "false", rows: "6" }),
    };
    fields.numbers.value = now.numbers.join("\n");
    setAttribute(fields.name, "readonly", row ? "" : null);
    editor.hidden = false;
    editor.replaceChildren(h("h2", {}, row ? `Range ${row.name}` : "New range"), h("form", { class: "search", onsubmit: save },
      field("Name", fields.name), field("Numbers are", fields.class),
      field("Begin with", fields.prefixes, `Digits; several are separated by commas. “${ANYTHING}” is the beginning of every number.`),
      field("Fewest digits (optional)", fields.min_digits), field("Most digits (optional)", fields.max_digits),
      field("Go to (optional)", fields.to, "Targets in order, separated by commas: gsm:home, up. Two that share: a 70 and b 30. Without any, routes say where."),
      field("Numbers that exist (optional)", fields.numbers, "One a line, as senders of an account: a number, 4477*, list:NAME. Without any, all exist."),
      h("div", { class: "buttons" }, h("button", { type: "submit", class: "primary" }, "Save"),
        h("button", { type: "button", onclick: () => { editor.hidden = true; } }, "Cancel"))));
    (row ? fields.prefixes : fields.name).focus();

    async function save(event) {
      event.preventDefault();
      try {
        const name = fields.name.value.trim();
        const done = await put(`/v1/number-ranges/${segment(name)}`, settings(fields), row?.version ?? null);
        toast(done.warnings.length ? `${name} is saved: ${done.warnings[0].message}` : `${name} is saved.`, done.warnings.length ? "warn" : "good");
        editor.hidden = true;
        load();
        if (query.get("to")) classify();
      } catch (error) {
        failed(error);
      }
    }
  }

  load();
  classify();
  return {
    elements: [
      heading("Number plan"),
      h("p", { class: "lead" }, "A message to a number of a range that does not exist is refused at once."),
      list, editor, form, result,
    ],
  };
}

function input(name, value, required = false) {
  return h("input", { type: "text", name, autocomplete: "off", spellcheck: "false", required, value: String(value) });
}

/** What the form says, as the API takes it. */
function settings(fields) {
  const text = (name) => fields[name].value.trim();
  const several = (said, by) => said.split(by).map((one) => one.trim()).filter(Boolean);
  return {
    class: fields.class.value,
    prefixes: several(text("prefixes"), ",").map((one) => (one === ANYTHING ? "" : one)),
    min_digits: whole(text("min_digits")),
    max_digits: whole(text("max_digits")),
    numbers: several(fields.numbers.value, "\n"),
    to: several(text("to"), ",").map(step),
  };
}

/** A number, nothing, or the text as it is, which the server refuses with its reason. */
function whole(text) {
  if (!text) return null;
  return /^[0-9]+$/.test(text) ? Number(text) : text;
}

/** One step of `to` as it is shown: a target, or those that share, with their weights. */
function shown(step) {
  return typeof step === "string" ? step : Object.entries(step).map(([name, weight]) => `${name} ${weight}`).join(" and ");
}

/** The same from what was written. */
function step(text) {
  const shares = text.split(/\s+and\s+/).map((one) => /^(\S+)\s+([0-9]+)$/.exec(one));
  return shares.every(Boolean) ? Object.fromEntries(shares.map(([, name, weight]) => [name, Number(weight)])) : text;
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
