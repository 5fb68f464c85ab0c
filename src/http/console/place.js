// What the pages of an account and of an operator have in common: incidents, failures, usage, messages, changes.

import { get, may } from "./api.js";
import { bars } from "./bars.js";
import { historyOf, versionItems } from "./changes.js";
import { failedAt, failedIn, failedItems } from "./dialog.js";
import { h, nothing, select, setText, table } from "./dom.js";
import { DAY_MS, MINUTE_MS, WEEK_MS, local, number, percent, showTime, timeOfDay } from "./format.js";
import { showLink } from "./kinds.js";
import { lastTime, readTraffic, trafficCharts } from "./traffic_charts.js";
import { labelOf, meaningColumn } from "./view_failures.js";
import { incidentColumns } from "./view_incidents.js";
import { columns } from "./view_messages.js";
import { seriesOf } from "./view_usage.js";

/** Entries of each list; a link leads to all. */
const SHOWN = 10;
/** Errors that are named. */
const ERRORS = 5;
const VERSIONS = 5;
/** A name that is no pattern: it is found by itself, and what begins so comes behind it. */
const PLAIN = /^[^\s*]+$/;

/** What finds a name in a list that is searched by parts of names. */
export function finding(name) {
  return PLAIN.test(name) ? `${name}*` : name;
}

/**
 * The cards (`elements`) of one account or operator: `about` is its name in queues and incidents (`account:shop`), `resource` in the
 * history (`accounts/shop`), `by` how searches name it (`account`, `operator`).
 */
export function placeCards({ about, resource, by, name }) {
  const asked = { [by]: name };
  const incidents = incidentsCard(about);
  const traffic = trafficCard(asked);
  let readAt = Date.now();
  return {
    elements: [
      incidents.element, traffic.element, past(asked), usageCard(asked), messagesCard(asked),
      h("div", { class: "halves" }, changesCard(resource), may("admin") ? commandsCard(resource) : null),
    ],
    /** Reads again, at most once a minute, what is looked at while something goes wrong. */
    refresh() {
      if (Date.now() - readAt < MINUTE_MS) return;
      readAt = Date.now();
      incidents.load();
      traffic.load();
    },
  };
}

/** Shows what comes of a question; on a page that was left it changes nothing that anybody sees. */
function ask(path, show, list) {
  get(path).then(show, (error) => failedIn(list, error));
}

/** The incidents about it, with a button for those that go on. */
function incidentsCard(about) {
  const shown = incidentColumns(load);
  const list = table({
    caption: "Incidents",
    dense: true,
    key: (row) => row.id,
    columns: [shown.what, shown.state, shown.began, shown.commands],
    empty: () => nothing("No incident"),
  });
  const card = h("section", { class: "card", hidden: true }, h("h2", {}, "Incidents"), list.element);
  function load() {
    get("/v1/incidents").then(({ incidents }) => {
      const own = incidents.filter((one) => one.about === about).slice(0, SHOWN);
      list.update(own);
      card.hidden = own.length === 0;
    }, (error) => {
      failedIn(list, error);
      // A hidden card would say that there are none.
      card.hidden = false;
    });
  }
  load();
  return { element: card, load };
}

/** The times of the charts; the page of the traffic history has more. */
const TIMES = [["1d", "Last day", DAY_MS], ["7d", "Last 7 days", WEEK_MS]];

/** What was sent, refused and delivered, by minutes or by hours, beside the same a week before. */
function trafficCard(asked) {
  const charts = trafficCharts(160);
  const said = h("p", { class: "problem", role: "status" });
  const more = h("a", {}, "Traffic history");
  const times = select("range", TIMES, TIMES[0][0]);
  times.setAttribute("aria-label", "Time of the charts");
  times.addEventListener("change", load);

  async function load() {
    const range = times.value;
    const span = lastTime(TIMES.find(([name]) => name === range)[2]);
    more.href = `#/history?${new URLSearchParams({ ...asked, range, by: "error" })}`;
    try {
      const found = await readTraffic(span, asked);
      // Another time was chosen meanwhile.
      if (times.value !== range) return;
      charts.update(found, span);
      setText(said, "");
    } catch (error) {
      if (times.value === range || error.status === 401) failedAt(said, error);
    }
  }
  load();
  const element = h("section", { class: "card", "aria-label": "Traffic" }, h("div", { class: "card-head" }, h("h2", {}, "Traffic"), times, more),
    said, charts.sent.element, charts.lost.element, charts.answers.element);
  return { element, load };
}

/** Failures of the last day, by hour and by error. */
function past(asked) {
  const listed = (more) => `#/dead-letters?${new URLSearchParams({ ...asked, ...more })}`;
  const chart = bars({ title: "Failed messages by hour, the last 24 hours", series: [{ name: "failed", label: "messages" }], show: number, height: 160,
    pick: (place) => { location.hash = listed({ ended_since: place.since, ended_until: place.until }); } });
  let all = 0;
  const list = table({
    caption: "Errors of the last 24 hours",
    dense: true,
    key: (row) => row.key,
    columns: [
      { title: "Error", class: "wrap", render: (cell, row) => showLink(cell, listed({ error: row.key || "none" }), labelOf("error", row)) },
      { title: "Messages", numeric: true, text: (row) => number(row.messages) },
      { title: "Share", numeric: true, text: (row) => percent(row.messages / Math.max(1, all)) },
      meaningColumn,
    ],
    empty: () => nothing("Nothing has failed", "No message has failed in the last 24 hours."),
  });
  const more = h("a", { href: `#/failures?${new URLSearchParams(asked)}` }, "All failures");
  const card = h("section", { class: "card" }, chart.element, list.element, h("div", { class: "below" }, more));
  ask(`/v1/failures?${new URLSearchParams({ ...asked, by: "error", bucket: "1h" })}`, (report) => {
    all = report.messages;
    chart.update(report.buckets.map((bucket) => ({ label: local(bucket.since), tick: timeOfDay(Date.parse(bucket.since)).slice(0, 5), since: bucket.since, until: bucket.until, failed: bucket.messages })));
    list.update(report.groups.slice(0, ERRORS));
  }, list);
  return card;
}

/** What has ended in the present month (UTC), by day, and what it costs. */
function usageCard(asked) {
  const today = new Date().toISOString().slice(0, 10);
  const first = `${today.slice(0, 7)}-01`;
  const chart = bars({
    title: "Usage of the month (UTC)", show: number, height: 160,
    series: [{ name: "sent", label: "sent" }, { name: "failed", label: "failed" }, { name: "received", label: "received" }],
  });
  const list = table({
    caption: "Sums of the month",
    dense: true,
    key: (row) => `${row.kind} ${row.currency}`,
    columns: [
      { title: "Kind", text: (row) => row.kind },
      { title: "Messages", numeric: true, text: (row) => number(row.messages) },
      { title: "Parts", numeric: true, text: (row) => number(row.parts) },
      { title: "Price", numeric: true, text: (row) => `${number(row.price)} ${row.currency}`.trim() },
    ],
    empty: () => nothing("Nothing has ended", "No message has ended this month."),
  });
  const question = new URLSearchParams({ ...asked, from: first, to: today, by: "day,state,kind" });
  const more = h("a", { href: `#/usage?${question}` }, "Usage");
  ask(`/v1/usage?${question}`, ({ usage }) => {
    const places = [];
    for (let day = 1; day <= Number(today.slice(8)); day += 1) places.push({ label: `${today.slice(0, 8)}${String(day).padStart(2, "0")}`, sent: 0, failed: 0, received: 0 });
    const sums = new Map();
    for (const one of usage) {
      const place = places.find((other) => other.label === one.day);
      if (place) place[seriesOf(one)] += one.messages;
      const key = `${one.kind} ${one.currency}`;
      const sum = sums.get(key) ?? { kind: one.kind, currency: one.currency, messages: 0, parts: 0, price: 0 };
      for (const what of ["messages", "parts", "price"]) sum[what] += one[what];
      sums.set(key, sum);
    }
    chart.update(places);
    list.update([...sums.values()]);
  }, list);
  return h("section", { class: "card" }, chart.element, list.element, h("div", { class: "below" }, more));
}

/** Its newest messages. */
function messagesCard(asked) {
  const list = table({
    caption: "Newest messages",
    dense: true,
    key: (row) => row.id,
    columns: [columns.id, columns.state, columns.to, columns.accepted, columns.ended],
    empty: () => nothing("No messages"),
  });
  ask(`/v1/messages?${new URLSearchParams({ ...asked, limit: SHOWN })}`, ({ messages }) => list.update(messages), list);
  return h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", {}, "Newest messages"), h("a", { href: `#/messages?${new URLSearchParams(asked)}` }, "All")), list.element);
}

/** The versions of the configuration that have changed it. */
function changesCard(resource) {
  const list = h("ol", { class: "versions" });
  historyOf(resource, VERSIONS).then(({ versions }) => {
    list.replaceChildren(...versionItems(versions));
  }, (error) => failedItems(list, error));
  return h("section", { class: "card" }, h("h2", {}, "Changes of its settings"), list);
}

/** What was commanded about it, from the audit log. */
function commandsCard(resource) {
  const list = table({
    caption: "Commands",
    dense: true,
    key: (row) => row.id,
    columns: [
      { title: "When", render: (cell, row) => showTime(cell, row.at) },
      { title: "What", class: "wrap", text: (row) => row.what },
      { title: "By", class: "wrap", text: (row) => row.token || "nobody" },
      { title: "Answer", numeric: true, text: (row) => String(row.status) },
    ],
    empty: () => nothing("No commands", "Nobody has commanded or changed it."),
  });
  ask(`/v1/audit?${new URLSearchParams({ about: resource, limit: SHOWN })}`, ({ entries }) => list.update(entries), list);
  return h("section", { class: "card" }, h("h2", {}, "Commands"), list.element);
}

/** Has a page say that what it is about is not there, or not any more. */
export function showNoSuch(body, one, name, all) {
  body.replaceChildren(h("section", { class: "card" }, h("div", { class: "empty" },
    nothing(`There is no ${one} ${name}`, "It may have been removed: ", h("a", { href: all }, "all of them"), "."))));
  // What had the focus may be gone.
  if (document.activeElement === document.body) document.querySelector("h1")?.focus({ preventScroll: true });
}

/** A figure with its label, as the pages show them. */
export function figures(names) {
  const all = Object.fromEntries(names.map((name) => [name, h("dd", {}, "–")]));
  const element = h("dl", { class: "facts" }, Object.entries(all).map(([name, value]) => h("div", {}, h("dt", {}, name), value)));
  return { element, set: (name, text) => setText(all[name], text), of: (name) => all[name] };
}
