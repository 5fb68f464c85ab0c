// Traffic history: what was sent, refused and delivered in a time, beside the same time a week before, and divided by operator,
// account or error. The address of the page holds the question.

import { failedIn } from "./dialog.js";
import { field, h, heading, nothing, select, setText, table } from "./dom.js";
import { DAY_MS, HOUR_MS, MINUTE_MS, WEEK_MS, fromInput, local, milliseconds, number, percent } from "./format.js";
import { showLink } from "./kinds.js";
import { COUNTS, lastMinute, lastTime, readTraffic, trafficCharts } from "./traffic_charts.js";
import { momentInput, textInput } from "./view_messages.js";

const RANGES = [
  ["1h", "Last hour", HOUR_MS], ["6h", "Last 6 hours", 6 * HOUR_MS], ["1d", "Last day", DAY_MS], ["7d", "Last 7 days", WEEK_MS],
  ["30d", "Last 30 days", 30 * DAY_MS], ["90d", "Last 90 days", 90 * DAY_MS], ["custom", "From and until", null],
];
const USUAL = "1d";
const BY = [["operator", "Operator"], ["account", "Account"], ["error", "Error"]];
const FILTERS = ["operator", "account", "error"];
/** What a group leads to: it alone, divided by this. */
const NEXT = { operator: "error", account: "error", error: "account" };
/** Errors that are the state of messages without a code. */
const STATES = ["EXPIRED", "UNDELIVERABLE", "UNKNOWN", "REJECTED"];
/** The error of all that are too many to be counted one by one: no failure has it. */
const OTHERS = "other";
/** Long times change little in a minute, and take the server long. */
const READ_AGAIN_MS = { short: MINUTE_MS, long: 10 * MINUTE_MS };
/** Rows of the table of times. */
const ROWS = 48;

/** The time that the address asks for, in milliseconds. */
function timesOf(query, range) {
  const length = RANGES.find(([name]) => name === range)[2];
  if (length) return lastTime(length);
  const over = lastMinute();
  const until = query.get("until") ? Math.min(Date.parse(query.get("until")), over) : over;
  return { since: query.get("since") ? Date.parse(query.get("since")) : until - DAY_MS, until };
}

export default function history({ query }) {
  const range = RANGES.some(([name]) => name === query.get("range")) ? query.get("range") : USUAL;
  const by = BY.some(([name]) => name === query.get("by")) ? query.get("by") : "operator";
  const inputs = Object.fromEntries(FILTERS.map((name) => [name, textInput(query, name)]));
  const times = { since: momentInput(query, "since"), until: momentInput(query, "until") };
  const ranges = select("range", RANGES, range);
  const divided = select("by", BY, by);
  const fields = [field("From", times.since), field("Until", times.until)];
  const showFields = () => fields.forEach((one) => { one.hidden = ranges.value !== "custom"; });
  const form = h("form", { class: "card search", role: "search", onsubmit: ask },
    field("Time", ranges), ...fields, field("Divided by", divided), field("Operator", inputs.operator), field("Account", inputs.account), field("Error", inputs.error),
    h("div", { class: "buttons" },
      h("button", { type: "submit", class: "primary" }, "Show"),
      h("button", { type: "button", onclick: () => { location.hash = "#/history"; } }, "Clear")));
  ranges.addEventListener("change", showFields);
  showFields();
  const charts = trafficCharts();
  let shown = null;
  let earlier = new Map();

  const asked = () => ({ ended_since: shown.since, ended_until: shown.until });
  /** A condition as failures have it: the state stands for errors without a code. */
  const words = (name, value) => (name === "error" && STATES.includes(value) ? { state: value, error: "none" } : { [name]: value });
  /** Where the failures of a group are. */
  function failuresOf(key) {
    const more = FILTERS.filter((name) => query.get(name)).map((name) => words(name, query.get(name)));
    return `#/failures?${new URLSearchParams(Object.assign({}, ...more, words(by, key), asked()))}`;
  }
  function only(key) {
    const next = new URLSearchParams(query);
    next.set(by, key);
    next.set("by", NEXT[by]);
    return `#/history?${next}`;
  }
  const { since: first, until: last } = timesOf(query, range);
  // A minute more: a moment that was written by hand may be that much apart.
  const isDay = last - first >= DAY_MS - MINUTE_MS;
  // Of an operator and an account together only that is known.
  const onlyFailed = FILTERS.some((name) => name !== by && query.get(name));
  const hides = { accepted: onlyFailed || by === "error", delivered: onlyFailed || by === "error", refused: onlyFailed, failed: false };
  const main = hides.accepted ? "failed" : "accepted";
  const groups = table({
    caption: `Messages by ${by}`,
    key: (row) => row.key,
    columns: [
      { title: BY.find(([name]) => name === by)[1], class: "wrap", render: (cell, row) => {
        if (row.key) showLink(cell, only(row.key), row.key);
        else setText(cell, "none");
      } },
      ...COUNTS.map((name) => ({ title: name[0].toUpperCase() + name.slice(1), numeric: true, hidden: hides[name], text: (row) => number(row.messages[name]) })),
      { title: "Not delivered", numeric: true, hidden: hides.accepted, text: ({ messages }) => percent(messages.failed / Math.max(1, messages.failed + messages.delivered)) },
      { title: "Answer", numeric: true, hidden: hides.accepted, text: (row) => milliseconds(row.messages.answer_ms) },
      // Hours, of which a shorter time would have too many.
      { title: `${main === "failed" ? "Failed" : "Accepted"} a week before`, numeric: true, hidden: !isDay, text: (row) => (earlier.has(row.key) ? number(earlier.get(row.key).messages[main]) : "–") },
      { title: "Failures", render: (cell, row) => {
        if (row.key && row.key !== OTHERS && row.messages.failed) showLink(cell, failuresOf(row.key), "Show");
        else cell.replaceChildren();
      } },
    ],
    empty: () => nothing("Nothing was counted", "No message that fits was sent or has ended in this time."),
  });
  const byTime = table({
    caption: "Messages by time",
    dense: true,
    key: (row) => row.at,
    columns: [
      { title: "Since", text: (row) => local(row.at) },
      ...COUNTS.map((name) => ({ title: name[0].toUpperCase() + name.slice(1), numeric: true, text: (row) => number(row[name]) })),
    ],
    empty: () => nothing("Nothing was counted"),
  });
  const said = h("p", { class: "quiet", role: "status" });
  const sentCard = h("section", { class: "card" }, charts.sent.element);
  const answerCard = h("section", { class: "card" }, charts.answers.element);
  const cards = [
    sentCard,
    h("section", { class: "card" }, charts.lost.element, h("details", {}, h("summary", {}, "As a table"), byTime.element)),
    answerCard,
    h("section", { class: "card" }, groups.element),
  ];
  let isOpen = true;
  let loadedAt = 0;

  function ask(event) {
    event.preventDefault();
    const next = new URLSearchParams();
    for (const [name, input] of Object.entries(inputs)) if (input.value.trim()) next.set(name, input.value.trim());
    if (ranges.value === "custom") for (const [name, input] of Object.entries(times)) if (input.value) next.set(name, fromInput(input.value));
    if (ranges.value !== USUAL) next.set("range", ranges.value);
    if (divided.value !== "operator") next.set("by", divided.value);
    const hash = next.size ? `#/history?${next}` : "#/history";
    if (hash === location.hash) load();
    else location.hash = hash;
  }

  /** As many points together as leave no more rows than people read. */
  function rows(points) {
    const size = Math.ceil(points.length / ROWS);
    const all = [];
    points.forEach(({ at, messages }, place) => {
      if (place % size === 0) all.push({ at, ...Object.fromEntries(COUNTS.map((name) => [name, 0])) });
      for (const name of COUNTS) all.at(-1)[name] += messages[name];
    });
    return all;
  }

  function draw(found, span) {
    const { now, week } = found;
    shown = now;
    earlier = new Map((week?.groups ?? []).map((group) => [group.key, group]));
    const isOfError = now.only_failed || Boolean(query.get("error"));
    sentCard.hidden = isOfError;
    answerCard.hidden = isOfError;
    charts.update(found, span);
    groups.update(now.groups);
    byTime.update(rows(now.points));
    const { total } = now;
    const counts = now.only_failed
      ? `${number(total.failed)} failed`
      : `${number(total.accepted)} accepted, ${number(total.refused)} refused, ${number(total.delivered)} delivered and ${number(total.failed)} failed`;
    const rest = now.more_groups ? ` ${number(now.more_groups)} smaller groups are left out.` : "";
    const largest = now.only_failed || now.groups_only_failed ? " Of operators, accounts and errors together only what failed is counted, and of that the largest sums." : "";
    const unread = now.unread ? ` ${number(now.unread)} parts cannot be read: they are damaged, or of a newer release.` : "";
    setText(said, `From ${local(now.since)} until ${local(now.until)}: ${counts}.${rest}${largest}${unread}`);
  }

  async function load() {
    loadedAt = Date.now();
    const question = { by };
    for (const name of FILTERS) if (query.get(name)) question[name] = query.get(name);
    const span = timesOf(query, range);
    try {
      const found = await readTraffic(span, question);
      if (isOpen) draw(found, span);
    } catch (error) {
      if (!isOpen) return;
      failedIn(groups, error);
    }
  }
  load();
  return {
    elements: [heading("Traffic history"), form, said, ...cards],
    /** What was written since. */
    update() {
      const after = last - first > DAY_MS ? READ_AGAIN_MS.long : READ_AGAIN_MS.short;
      if (range !== "custom" && Date.now() - loadedAt > after) load();
    },
    close() {
      isOpen = false;
    },
  };
}
