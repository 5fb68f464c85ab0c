// MO rules: what becomes of messages that operators bring, in order; which rule takes one, and why.

import { del, get, patch, put, segment } from "./api.js";
import { action, confirm, failed, toast } from "./dialog.js";
import { field, h, heading, nothing, setAttribute, table } from "./dom.js";
import { number } from "./format.js";

/** Keys of a rule that hold several words. */
const LISTS = ["to", "from", "keywords"];
const ACTIONS = { deliver_to: "Deliver to an account", reply: "Answer", drop: "Drop" };

export default function moRules({ query }) {
  const list = h("section", { class: "card" });
  const editor = h("section", { class: "card", hidden: true });
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
      failed(error);
    }
  }

  function head() {
    return h("div", { class: "card-head" }, h("h2", {}, "Rules, in order"), h("div", { class: "buttons" }, action("New rule", () => edit(null))));
  }

  function all(rules, version) {
    const names = rules.map((rule) => rule.name);
    const rows = table({
      caption: "MO rules",
      key: (row) => row.name,
      columns: [
        { title: "Order", numeric: true, text: (row) => row.settings.order },
        { title: "Name", text: (row) => row.name },
        { title: "Takes", text: (row) => conditions(row.settings) },
        { title: "Does", text: (row) => does(row.settings) },
        { title: "Change", render: (cell, row) => {
          if (cell.dataset.version === String(row.version)) return;
          cell.dataset.version = row.version;
          cell.replaceChildren(h("div", { class: "buttons" },
            action("Up", () => move(row, -1), `Move ${row.name} up`), action("Down", () => move(row, 1), `Move ${row.name} down`),
            action("Edit", () => edit(row), `Edit ${row.name}`), action("Remove", () => remove(row), `Remove ${row.name}`)));
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

  async function remove(row) {
    const text = "Messages that it took go by the rules after it, or as if there were none.";
    if (!await confirm({ title: `Remove the rule ${row.name}?`, text, action: "Remove" })) return;
    try {
      await del(`/v1/mo-rules/${segment(row.name)}`, row.version);
      toast(`${row.name} is removed.`, "good");
    } catch (error) {
      failed(error);
    }
    load();
  }

  /** The form for one rule; `row` is null for a new one. */
  function edit(row) {
    const now = row?.settings ?? { order: 100, reply_limit: 3, reply_limit_per: "1h" };
    const given = (name) => (Array.isArray(now[name]) ? now[name].join(", ") : now[name] ?? "");
    const fields = { name: input("rule-name", row?.name ?? "", true) };
    setAttribute(fields.name, "readonly", row ? "" : null);
    for (const name of ["order", ...LISTS, "operator", "account", "deliver_to", "callback", "reply", "reply_account", "reply_from", "reply_limit", "reply_limit_per"]) fields[name] = input(name, given(name));
    const chosen = Object.keys(ACTIONS).find((name) => now[name]) ?? "deliver_to";
    const what = h("select", { name: "action", onchange: show }, Object.entries(ACTIONS).map(([name, title]) => h("option", { value: name, selected: name === chosen }, title)));
    const delivers = [
      field("Account that gets it", fields.deliver_to),
      field("By its callback (optional)", fields.callback, "The name of one of its stored callbacks; without it, as the account gets everything."),
    ];
    const answers = [
      field("Text of the answer", fields.reply, "{{from}}, {{to}}, {{keyword}} and {{text}} stand for what came."),
      field("Account that pays", fields.reply_account), field("Source address (optional)", fields.reply_from),
      field("Answers to one sender", fields.reply_limit), field("Within", fields.reply_limit_per),
    ];
    function show() {
      for (const one of delivers) one.hidden = what.value !== "deliver_to";
      for (const one of answers) one.hidden = what.value !== "reply";
    }
    show();
    const several = "Several are separated by commas.";
    editor.hidden = false;
    editor.replaceChildren(h("h2", {}, row ? `Rule ${row.name}` : "New rule"), h("form", { class: "search", onsubmit: save },
      field("Name", fields.name), field("Order", fields.order, "Lower ones are tried first."), field("To", fields.to, several),
      field("From", fields.from, several), field("Keywords", fields.keywords, several), field("Operator", fields.operator),
      field("Addresses of account", fields.account), field("Then", what), delivers, answers,
      h("div", { class: "buttons" }, h("button", { type: "submit", class: "primary" }, "Save"),
        h("button", { type: "button", onclick: () => { editor.hidden = true; } }, "Cancel"))));
    (row ? fields.order : fields.name).focus();

    async function save(event) {
      event.preventDefault();
      try {
        const body = settings(fields, what.value, now);
        const name = fields.name.value.trim();
        const done = await put(`/v1/mo-rules/${segment(name)}`, body, row?.version ?? null);
        toast(done.warnings.length ? `${name} is saved: ${done.warnings[0].message}` : `${name} is saved.`, done.warnings.length ? "warn" : "good");
        editor.hidden = true;
        load();
      } catch (error) {
        failed(error);
      }
    }
  }

  load();
  explain();
  return { elements: [heading("MO rules"), list, editor, form, result] };
}

function input(name, value, required = false) {
  return h("input", { type: "text", name, autocomplete: "off", spellcheck: "false", required, value: String(value) });
}

/** What the form says, as the API takes it. */
function settings(fields, what, now) {
  const text = (name) => fields[name].value.trim();
  const only = (name, of) => (what === of ? text(name) || null : null);
  const body = {
    order: whole(text("order")),
    operator: text("operator") || null,
    account: text("account") || null,
    deliver_to: only("deliver_to", "deliver_to"),
    callback: only("callback", "deliver_to"),
    reply: only("reply", "reply"),
    reply_account: only("reply_account", "reply"),
    reply_from: only("reply_from", "reply"),
    reply_limit: whole(text("reply_limit")),
    reply_limit_per: text("reply_limit_per"),
    drop: what === "drop",
  };
  for (const name of LISTS) {
    // A regular expression may have commas of its own: a list that was not touched stays as it was.
    const before = now[name] ?? [];
    body[name] = text(name) === before.join(", ") ? before : text(name).split(",").map((one) => one.trim()).filter(Boolean);
  }
  return body;
}

/** A number, or the text as it is, which the server refuses with its reason. */
function whole(text) {
  return /^[0-9]+$/.test(text) ? Number(text) : text;
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
