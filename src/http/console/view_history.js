// Traffic history: what was sent, refused and delivered in a time, beside the same time a week before, and divided by operator,
// account or error. The address of the page holds the question.

import { get } from "./api.js";
import { curves } from "./curves.js";
import { failed } from "./dialog.js";
import { field, h, heading, nothing, select, setAttribute, setText, table } from "./dom.js";
import { fromInput, local, milliseconds, number, percent, rate, toInput } from "./format.js";
import { textInput } from "./view_messages.js";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
/** What was counted in a minute is in the store so long after it. */
const WRITTEN_MS = 5_000;
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
const COUNTS = ["accepted", "refused", "delivered", "failed"];

/** The time that the address asks for, in milliseconds: of minutes only those that are over, of hours the current one as well. */
function timesOf(query, range) {
  const over = Math.floor((Date.now() - WRITTEN_MS) / MINUTE_MS) * MINUTE_MS;
  const length = RANGES.find(([name]) => name === range)[2];
  if (length) {
    const until = length > DAY_MS ? Date.now() : over;
    return { since: until - length, until };
  }
  const until = query.get("until") ? Math.min(Date.parse(query.get("until")), over) : over;
  return { since: query.get("since") ? Date.parse(query.get("since")) : until - DAY_MS, until };
}

/** How long ago a week before is. It has an hour more or less where clocks were changed: people live by theirs. */
function weekOf({ since, until }) {
  if (until - since > WEEK_MS) return WEEK_MS;
  const before = new Date(until);
  before.setDate(before.getDate() - 7);
  return until - before.getTime();
}

/** Messages per minute, of each point; `shift` moves the points. */
function rates(points, length, shift = 0) {
  return points.map(({ at, messages }) => {
    const begin = Date.parse(at) + shift;
    // The current hour is not over; what was a week before is.
    const end = shift ? begin + length : Math.min(begin + length, Math.max(Date.now(), begin + MINUTE_MS));
    const minutes = (end - begin) / MINUTE_MS;
    const counts = Object.fromEntries(COUNTS.map((name) => [name, messages[name] / minutes]));
    return { at: begin, end, ...counts, answer: messages.answer_ms };
  });
}

export default function history({ query }) {
  const range = RANGES.some(([name]) => name === query.get("range")) ? query.get("range") : USUAL;
  const by = BY.some(([name]) => name === query.get("by")) ? query.get("by") : "operator";
  const moment = (name) => h("input", { type: "datetime-local", name, value: toInput(query.get(name)) });
  const inputs = Object.fromEntries(FILTERS.map((name) => [name, textInput(query, name)]));
  const times = { since: moment("since"), until: moment("until") };
  const ranges = select("range", RANGES.map(([name, title]) => [name, title]), range);
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
  const sent = curves({ title: "Messages per minute", series: [{ name: "accepted", label: "accepted by operators" }, { name: "delivered", label: "delivered" }], show: rate });
  const lost = curves({ title: "Refused and failed per minute", series: [{ name: "refused", label: "refused" }, { name: "failed", label: "failed" }], show: rate });
  const answers = curves({ title: "Mean answer, milliseconds", series: [{ name: "answer", label: "answer" }], show: (value) => milliseconds(value ?? 0) });
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
  const link = (cell, href, text) => {
    if (!cell.firstChild) cell.append(h("a", {}));
    setAttribute(cell.firstChild, "href", href);
    setText(cell.firstChild, text);
  };
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
        if (row.key) link(cell, only(row.key), row.key);
        else setText(cell, "none");
      } },
      ...COUNTS.map((name) => ({ title: name[0].toUpperCase() + name.slice(1), numeric: true, hidden: hides[name], text: (row) => number(row.messages[name]) })),
      { title: "Not delivered", numeric: true, hidden: hides.accepted, text: ({ messages }) => percent(messages.failed / Math.max(1, messages.failed + messages.delivered)) },
      { title: "Answer", numeric: true, hidden: hides.accepted, text: (row) => milliseconds(row.messages.answer_ms) },
      // Hours, of which a shorter time would have too many.
      { title: `${main === "failed" ? "Failed" : "Accepted"} a week before`, numeric: true, hidden: !isDay, text: (row) => (earlier.has(row.key) ? number(earlier.get(row.key).messages[main]) : "–") },
      { title: "Failures", render: (cell, row) => {
        if (row.key && row.key !== OTHERS && row.messages.failed) link(cell, failuresOf(row.key), "Show");
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
  const sentCard = h("section", { class: "card" }, sent.element);
  const answerCard = h("section", { class: "card" }, answers.element);
  const cards = [
    sentCard,
    h("section", { class: "card" }, lost.element, h("details", {}, h("summary", {}, "As a table"), byTime.element)),
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

  function question(since, until, step) {
    const next = new URLSearchParams({ since, until, step, by });
    for (const name of FILTERS) if (query.get(name)) next.set(name, query.get(name));
    return `/v1/history?${next}`;
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

  function draw(now, week, { since, until, shift }) {
    shown = now;
    const length = now.step === "minute" ? MINUTE_MS : HOUR_MS;
    const points = rates(now.points, length);
    const before = week?.nodes.length ? rates(week.points, HOUR_MS, shift) : [];
    earlier = new Map((week?.groups ?? []).map((group) => [group.key, group]));
    const area = { since, until, points, before };
    const isOfError = now.only_failed || Boolean(query.get("error"));
    sentCard.hidden = isOfError;
    answerCard.hidden = isOfError;
    for (const chart of [sent, lost, answers]) chart.update(area);
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
    const { since, until } = timesOf(query, range);
    const shift = weekOf({ since, until });
    // As many hours as the time has: the first one began before it, and the last one is whole.
    const before = isDay ? Math.ceil((since - shift) / HOUR_MS) * HOUR_MS : since - shift;
    const areMinutes = until - since <= DAY_MS && since >= Date.now() - DAY_MS - HOUR_MS / 2;
    try {
      const [now, week] = await Promise.all([
        get(question(since, until, areMinutes ? "minute" : "hour")),
        // Nobody misses it where it is not kept any more.
        get(question(before, until - shift, "hour")).catch(() => null),
      ]);
      if (isOpen) draw(now, week, { since, until, shift });
    } catch (error) {
      if (!isOpen) return;
      if (error.status === 401) failed(error);
      else if (error.status === 400 || error.status === 404) groups.say(nothing("The question is not understood", error.message));
      else groups.say(nothing("The history cannot be shown now", error.message));
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
