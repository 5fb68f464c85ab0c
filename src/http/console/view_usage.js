// Usage: messages that ended, by day as a chart, and their sums in a table. The address of the page
// holds the question. What accounts sent (MT) and what subscribers sent them (MO) stand apart: they are billed apart.

import { authorization, get } from "./api.js";
import { failed, failureTitle } from "./dialog.js";
import { field, h, heading, nothing, saveFile, setText, table } from "./dom.js";
import { bars } from "./bars.js";
import { DAY_MS, number, percent } from "./format.js";
import { showOwner } from "./kinds.js";
import { textInput } from "./view_messages.js";

const DIMENSIONS = ["day", "account", "operator", "country", "state", "kind"];
/** What the table is divided by unless the address says otherwise. */
const USUAL = "day,account,kind";
/** Of these there is a page for each. */
const LINKED = ["account", "operator"];
const GOOD = ["DELIVERED", "ACCEPTED"];
const FILTERS = ["from", "to", "account", "operator", "country"];
const DAYS = 30;
/** Rows of the lists of the largest. */
const LONGEST = 10;

/** The series that a sum counts in. */
export function seriesOf(sum) {
  if (sum.kind === "MO") return "received";
  return GOOD.includes(sum.state) ? "sent" : "failed";
}

const isoDay = (ms) => new Date(ms).toISOString().slice(0, 10);

/** Every day of the question, also those without messages. */
function days(query) {
  const last = Date.parse(query.get("to") ?? isoDay(Date.now()));
  const first = query.get("from") ? Date.parse(query.get("from")) : last - (DAYS - 1) * DAY_MS;
  const all = [];
  for (let ms = first; ms <= last; ms += DAY_MS) all.push(isoDay(ms));
  return all;
}

function dayInput(query, name) {
  return h("input", { type: "date", name, value: query.get(name) ?? "" });
}

/** Whose messages ended, the largest first: MT as bars, with how many of them were not delivered, and MO as a number. */
function most(title, dimension) {
  const list = table({
    caption: title,
    dense: true,
    key: (row) => row.name,
    columns: [
      { title: title.split(" ").at(-1).replace(/^./, (first) => first.toUpperCase()), class: "wrap", render: (cell, row) => showOwner(cell, `${dimension}s`, row.name) },
      { title: "MT", numeric: true, render: (cell, row) => {
        if (!cell.firstChild) cell.append(h("span", { class: "meter wide" }, h("i"), h("i", { class: "failed" })), h("span"));
        const [good, bad] = cell.firstChild.children;
        good.style.width = `${Math.round((100 * row.sent) / row.largest)}%`;
        bad.style.width = `${Math.round((100 * row.failed) / row.largest)}%`;
        setText(cell.lastChild, number(row.sent + row.failed));
      } },
      { title: "Not delivered", numeric: true, text: (row) => percent(row.failed / Math.max(1, row.sent + row.failed)) },
      { title: "MO", numeric: true, text: (row) => number(row.received) },
    ],
    empty: () => nothing("Nothing has ended", "No message of these days fits."),
  });
  return {
    element: h("section", { class: "card", "aria-label": title }, h("h2", {}, title), list.element),
    update(sums) {
      const rows = new Map();
      for (const sum of sums) {
        const name = sum[dimension] || "";
        const row = rows.get(name) ?? { name, sent: 0, failed: 0, received: 0 };
        row[seriesOf(sum)] += sum.messages;
        rows.set(name, row);
      }
      const all = [...rows.values()].toSorted((one, other) => other.sent + other.failed - one.sent - one.failed || other.received - one.received).slice(0, LONGEST);
      const largest = Math.max(1, ...all.map((row) => row.sent + row.failed));
      list.update(all.map((row) => ({ ...row, largest })));
    },
  };
}

export default function usage({ query }) {
  const inputs = {
    from: dayInput(query, "from"), to: dayInput(query, "to"),
    account: textInput(query, "account"), operator: textInput(query, "operator"), country: textInput(query, "country"),
  };
  const by = (query.get("by") ?? USUAL).split(",");
  const boxes = DIMENSIONS.map((name) => h("label", { class: "choice" },
    h("input", { type: "checkbox", name: "by", value: name, checked: by.includes(name) }), ` ${name}`));
  const form = h("form", { class: "card search", role: "search", onsubmit: ask },
    field("From", inputs.from), field("To", inputs.to), field("Account", inputs.account), field("Operator", inputs.operator),
    field("Country", inputs.country),
    h("fieldset", { class: "choices" }, h("legend", {}, "Divided by"), boxes),
    h("div", { class: "buttons" },
      h("button", { type: "submit", class: "primary" }, "Show"),
      h("button", { type: "button", onclick: download }, "CSV")));
  const chart = bars({
    title: "Messages that ended, by day (UTC)",
    series: [{ name: "sent", label: "MT delivered" }, { name: "failed", label: "MT not delivered" }, { name: "received", label: "MO" }], show: number,
  });
  const list = table({
    caption: "Sums of usage",
    key: (row) => DIMENSIONS.map((name) => row[name]).concat(row.currency).join(" "),
    columns: [
      ...DIMENSIONS.filter((name) => by.includes(name)).map((name) => ({
        title: name[0].toUpperCase() + name.slice(1),
        render: (cell, row) => (LINKED.includes(name) ? showOwner(cell, `${name}s`, row[name]) : setText(cell, row[name] || "none")),
      })),
      { title: "Messages", numeric: true, text: (row) => number(row.messages) },
      { title: "Parts", numeric: true, text: (row) => number(row.parts) },
      { title: "Price", numeric: true, text: (row) => number(row.price) },
      { title: "Currency", text: (row) => row.currency },
    ],
    empty: () => nothing("Nothing has ended", "No message of these days fits."),
  });
  const accounts = most("Largest by account", "account");
  const operators = most("Largest by operator", "operator");
  const said = h("p", { class: "quiet", role: "status" });
  // Stands first: who finds nothing below looks for the reason at the top.
  const why = h("section", { class: "card", role: "status", hidden: true });
  const sumCards = [h("section", { class: "card" }, chart.element), h("div", { class: "halves" }, accounts.element, operators.element), h("section", { class: "card" }, list.element), said];
  let isOpen = true;

  /** Says why there is nothing to see, in place of cards without anything; with nothing to say it shows the cards. */
  function explain(title, ...text) {
    why.replaceChildren(title ? nothing(title, ...text) : "");
    why.hidden = !title;
    for (const card of sumCards) card.hidden = Boolean(title);
  }

  function question(divided) {
    const asked = new URLSearchParams();
    for (const name of FILTERS) if (query.get(name)) asked.set(name, query.get(name));
    asked.set("by", divided);
    return asked;
  }

  function ask(event) {
    event.preventDefault();
    const next = new URLSearchParams();
    for (const [name, input] of Object.entries(inputs)) if (input.value.trim()) next.set(name, input.value.trim());
    const chosen = boxes.map((box) => box.firstElementChild).filter((box) => box.checked).map((box) => box.value);
    next.set("by", chosen.length ? chosen.join(",") : USUAL);
    const hash = `#/usage?${next}`;
    if (hash === location.hash) load();
    else location.hash = hash;
  }

  async function download() {
    const asked = question(by.join(","));
    asked.set("format", "csv");
    try {
      const answer = await fetch(`/v1/usage?${asked}`, { headers: authorization() });
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      saveFile(await answer.blob(), "usage.csv");
    } catch (error) {
      failed(error);
    }
  }

  async function load() {
    try {
      const asked = ["day,state,kind", by.join(","), "account,state,kind", "operator,state,kind"].map((divided) => get(`/v1/usage?${question(divided)}`));
      const [byDay, sums, ofAccounts, ofOperators] = await Promise.all(asked);
      if (!isOpen) return;
      const all = days(query).map((day) => ({ label: day, sent: 0, failed: 0, received: 0 }));
      const places = new Map(all.map((one) => [one.label, one]));
      for (const sum of byDay.usage) {
        const place = places.get(sum.day);
        if (place) place[seriesOf(sum)] += sum.messages;
      }
      chart.update(all);
      list.update(sums.usage);
      accounts.update(ofAccounts.usage);
      operators.update(ofOperators.usage);
      const total = (kind) => byDay.usage.reduce((sum, one) => sum + (one.kind === kind ? one.messages : 0), 0);
      setText(said, `${number(total("MT"))} MT and ${number(total("MO"))} MO messages in ${all.length} days`);
      if (sums.usage.length) explain(null);
      else explain("No message that fits has ended in these days", "A message counts on the day (UTC) on which it ends. What ended before usage.enabled was set is not counted: it is in the call detail records.");
    } catch (error) {
      if (!isOpen) return;
      if (error.status === 401) failed(error);
      else explain(error.status === 409 ? "There is no usage to show" : failureTitle(error), error.message);
    }
  }
  load();
  return {
    elements: [heading("Usage"), why, form, ...sumCards],
    close() {
      isOpen = false;
    },
  };
}
