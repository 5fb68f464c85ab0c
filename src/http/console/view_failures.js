// Failures: how many messages have failed, over time and by what they have in common. A bar, and a name in the table, lead
// to their messages, from where they are replayed. The address of the page holds the question.

import { get } from "./api.js";
import { bars } from "./bars.js";
import { failed, failedIn } from "./dialog.js";
import { field, h, heading, nothing, select, setText, table } from "./dom.js";
import { DAY_MS, HOUR_MS, fromInput, local, localTimes, number, percent, timeOfDay } from "./format.js";
import { showLink } from "./kinds.js";
import { firstDigits, momentInput, textInput } from "./view_messages.js";

const BY = [["error", "Error"], ["operator", "Operator"], ["account", "Account"], ["country", "Country"], ["hour", "Hour"]];
const FILTERS = ["to", "country", "account", "operator", "error", "state"];

/** Where the messages are listed that this question and `more` name. */
function listed(query, more) {
  const asked = new URLSearchParams();
  for (const name of FILTERS) if (query.get(name)) asked.set(name, query.get(name));
  for (const [name, value] of Object.entries(more)) asked.set(name, value);
  return `#/dead-letters?${asked}`;
}

/** What filters of lists say of a group; null where they have no word for it. */
function filterOfGroup(by, group) {
  if (by === "hour") return { ended_since: group.key, ended_until: new Date(Date.parse(group.key) + HOUR_MS).toISOString() };
  if (group.key) return { [by]: group.key };
  return by === "error" || by === "country" ? { [by]: "none" } : null;
}

/** The name of a group, for people. */
export function labelOf(by, group) {
  if (by === "hour") return local(group.key);
  const name = group.in_words?.name;
  if (group.key) return name ? `${group.key} ${name}` : group.key;
  return by === "error" ? `no code${name ? `: ${name.toLowerCase()}` : ""}` : "none";
}

/** What an error means. */
export const meaningColumn = { title: "Meaning", class: "wrap", text: (row) => row.in_words?.meaning ?? (row.key ? "The operator's own code." : "") };

export default function failures({ query }) {
  const by = BY.some(([name]) => name === query.get("by")) ? query.get("by") : "error";
  const inputs = Object.fromEntries(["to", "country", "account", "operator", "error"].map((name) => [name, textInput(query, name)]));
  const times = { ended_since: momentInput(query, "ended_since"), ended_until: momentInput(query, "ended_until") };
  const divided = select("by", BY, by);
  const form = h("form", { class: "card search", role: "search", onsubmit: ask },
    field("Divided by", divided), field("To number, or its first digits", inputs.to), field("Country", inputs.country), field("Account", inputs.account),
    field("Operator", inputs.operator), field("Error", inputs.error), field("Ended since", times.ended_since), field("Ended before", times.ended_until),
    h("div", { class: "buttons" },
      h("button", { type: "submit", class: "primary" }, "Show"),
      h("button", { type: "button", onclick: () => { location.hash = "#/failures"; } }, "Clear")));
  let report = null;
  const chart = bars({
    title: "Messages that failed, by the time of their end", series: [{ name: "rest", label: "messages" }], show: number,
    pick(place, series) {
      const more = series.group ? filterOfGroup(by, series.group) : {};
      if (more) location.hash = listed(query, { ...more, ended_since: place.since, ended_until: place.until });
    },
  });
  const counted = () => ({ ended_since: report.ended_since, ended_until: report.ended_until });
  const list = table({
    caption: `Failures by ${by}`,
    key: (row) => row.key,
    columns: [
      { title: BY.find(([name]) => name === by)[1], class: "wrap", render: (cell, row) => {
        const more = filterOfGroup(by, row);
        if (more) showLink(cell, listed(query, { ...counted(), ...more }), labelOf(by, row));
        else setText(cell, labelOf(by, row));
      } },
      { title: "Messages", numeric: true, text: (row) => number(row.messages) },
      { title: "Share", numeric: true, text: (row) => percent(row.messages / Math.max(1, report.messages)) },
      { ...meaningColumn, hidden: by !== "error" },
      { title: "Usually helps", class: "wrap", hidden: by !== "error", text: (row) => row.in_words?.cure ?? "" },
    ],
    empty: () => nothing("Nothing has failed", "No failed message of this time fits."),
  });
  const byTime = table({
    caption: "Failures by the time of their end",
    dense: true,
    key: (row) => row.since,
    columns: [
      { title: "Ended since", render: (cell, row) => showLink(cell, listed(query, { ended_since: row.since, ended_until: row.until }), local(row.since)) },
      { title: "Messages", numeric: true, text: (row) => number(row.messages) },
    ],
    empty: () => nothing("Nothing has failed"),
  });
  const said = h("p", { class: "quiet", role: "status" });
  const unwell = h("ul", { class: "reasons", "aria-label": "Who is not well now" });
  const cards = [
    h("section", { class: "card" }, chart.element, h("details", {}, h("summary", {}, "As a table"), byTime.element)),
    h("section", { class: "card" }, list.element),
  ];
  let isOpen = true;

  function ask(event) {
    event.preventDefault();
    const values = Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value.trim()]));
    const moments = Object.fromEntries(Object.entries(times).map(([name, input]) => [name, fromInput(input.value)]));
    const next = new URLSearchParams();
    for (const [name, value] of Object.entries({ ...values, to: firstDigits(values.to), ...moments })) if (value) next.set(name, value);
    if (divided.value !== "error") next.set("by", divided.value);
    const hash = next.size ? `#/failures?${next}` : "#/failures";
    if (hash === location.hash) load();
    else location.hash = hash;
  }

  function draw() {
    const isShort = Date.parse(report.ended_until) - Date.parse(report.ended_since) <= 2 * DAY_MS;
    const groups = by === "hour" ? [] : report.groups.slice(0, report.buckets[0].of_groups.length);
    const places = report.buckets.map((bucket) => {
      const place = { label: local(bucket.since), tick: isShort ? timeOfDay(Date.parse(bucket.since)).slice(0, 5) : bucket.since.slice(5, 10), since: bucket.since, until: bucket.until };
      bucket.of_groups.forEach((count, at) => { place[`group-${at + 1}`] = count; });
      place.rest = bucket.of_groups.reduce((left, count) => left - count, bucket.messages);
      return place;
    });
    const series = groups.map((group, at) => ({ name: `group-${at + 1}`, label: labelOf(by, group), group }));
    if (!groups.length || places.some((place) => place.rest)) series.push({ name: "rest", label: groups.length ? "others" : "messages" });
    chart.update(places, series);
    list.update(report.groups);
    byTime.update(report.buckets.filter((bucket) => bucket.messages));
    unwell.replaceChildren(...(report.incidents ?? []).map((text) => h("li", {}, h("a", { href: "#/incidents" }, localTimes(text)))));
    const rest = report.rest ? `, ${number(report.rest)} of them in smaller groups` : "";
    const cut = report.complete ? "" : ` Only what ended since ${local(report.counted_since)} was counted: take a shorter time to count all.`;
    setText(said, `${number(report.messages)} messages have failed from ${local(report.ended_since)} until ${local(report.ended_until)}${rest}.${cut}`);
  }

  async function load() {
    const asked = new URLSearchParams();
    for (const name of [...FILTERS, ...Object.keys(times)]) if (query.get(name)) asked.set(name, query.get(name));
    asked.set("by", by);
    try {
      const found = await get(`/v1/failures?${asked}`);
      if (!isOpen) return;
      report = found;
      draw();
    } catch (error) {
      if (!isOpen) return;
      failedIn(list, error);
    }
  }
  load();
  return {
    elements: [heading("Failures"), form, said, unwell, ...cards],
    close() {
      isOpen = false;
    },
  };
}
