// Usage: messages that ended, by day as a chart, and their sums in a table. The address of the page
// holds the question.

import { authorization, get } from "./api.js";
import { failed } from "./dialog.js";
import { field, h, heading, nothing, setText, table } from "./dom.js";
import { bars } from "./bars.js";
import { number } from "./format.js";
import { textInput } from "./view_messages.js";

const DIMENSIONS = ["day", "account", "operator", "country", "state", "kind"];
/** What the table is divided by unless the address says otherwise. */
const USUAL = "day,account";
const GOOD = ["DELIVERED", "ACCEPTED"];
const FILTERS = ["from", "to", "account", "operator", "country"];
const DAYS = 30;
const DAY_MS = 86_400_000;

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
    series: [{ name: "sent", label: "delivered" }, { name: "failed", label: "not delivered" }], show: number,
  });
  const list = table({
    caption: "Sums of usage",
    key: (row) => DIMENSIONS.map((name) => row[name]).concat(row.currency).join(" "),
    columns: [
      ...DIMENSIONS.filter((name) => by.includes(name)).map((name) => ({
        title: name[0].toUpperCase() + name.slice(1), text: (row) => row[name] || "none",
      })),
      { title: "Messages", numeric: true, text: (row) => number(row.messages) },
      { title: "Parts", numeric: true, text: (row) => number(row.parts) },
      { title: "Price", numeric: true, text: (row) => number(row.price) },
      { title: "Currency", text: (row) => row.currency },
    ],
    empty: () => nothing("Nothing has ended", "No message of these days fits."),
  });
  const said = h("p", { class: "quiet", role: "status" });
  let isOpen = true;

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
      const link = h("a", { href: URL.createObjectURL(await answer.blob()), download: "usage.csv" });
      link.click();
      URL.revokeObjectURL(link.href);
    } catch (error) {
      failed(error);
    }
  }

  async function load() {
    try {
      const [byDay, sums] = await Promise.all([get(`/v1/usage?${question("day,state")}`), get(`/v1/usage?${question(by.join(","))}`)]);
      if (!isOpen) return;
      const all = days(query).map((day) => ({ label: day, sent: 0, failed: 0 }));
      const places = new Map(all.map((one) => [one.label, one]));
      for (const sum of byDay.usage) {
        const place = places.get(sum.day);
        if (place) place[GOOD.includes(sum.state) ? "sent" : "failed"] += sum.messages;
      }
      chart.update(all);
      list.update(sums.usage);
      const total = byDay.usage.reduce((sum, one) => sum + one.messages, 0);
      setText(said, `${number(total)} messages in ${all.length} days`);
    } catch (error) {
      list.say(nothing("There is no usage to show", error.message));
      failed(error);
    }
  }
  load();
  return {
    elements: [heading("Usage"), form, h("section", { class: "card" }, chart.element), h("section", { class: "card" }, list.element), said],
    close() {
      isOpen = false;
    },
  };
}
