// Numbers, rates, ages and times as people read them, and lengths of time in milliseconds.

import { h, setAttribute, setText } from "./dom.js";

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
export const WEEK_MS = 7 * DAY_MS;
/** So much may the server's clock be ahead of this machine's. */
const AHEAD_MS = 5 * MINUTE_MS;

const whole = new Intl.NumberFormat("en");
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric" });

/** 1,234,567 */
export function number(value) {
  return whole.format(value ?? 0);
}

/** Per second: 0, 0.4, 12, 1,234 */
export function rate(value) {
  if (!value) return "0";
  if (value < 9.95) return value.toFixed(1);
  return whole.format(Math.round(value));
}

/** 20 %, 0.4 % of a share from 0 to 1. */
export function percent(share) {
  const value = 100 * (share ?? 0);
  return value === 0 || value >= 9.95 ? `${Math.round(value)} %` : `${value.toFixed(1)} %`;
}

/** 1.2 k, 3.4 M: for the axis of a graph. */
export function short(value) {
  if (value >= 1e6) return `${trim(value / 1e6)} M`;
  if (value >= 1e3) return `${trim(value / 1e3)} k`;
  return trim(value);
}

function trim(value) {
  return value >= 100 || Number.isInteger(value) ? String(Math.round(value)) : value.toFixed(1).replace(/\.0$/, "");
}

/** The two largest units of a span of milliseconds: 2 h 5 min */
export function span(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const [days, hours, minutes] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
  const two = (large, unit, small, smallUnit) => (small ? `${large} ${unit} ${small} ${smallUnit}` : `${large} ${unit}`);
  if (days) return two(days, "d", hours, "h");
  if (hours) return two(hours, "h", minutes, "min");
  if (minutes) return two(minutes, "min", seconds % 60, "s");
  return `${seconds} s`;
}

/** Milliseconds with as many digits as they deserve. */
export function milliseconds(value) {
  if (value === null || value === undefined) return "–";
  if (value >= 1000) return `${(value / 1000).toFixed(1)} s`;
  if (value >= 10) return `${Math.round(value)} ms`;
  return `${value.toFixed(1)} ms`;
}

/** How long ago a time of the API was, by the server's clock; a dash for none. */
export function age(iso, now) {
  return iso ? span(now - Date.parse(iso)) : "–";
}

/** Local time of day. */
export function timeOfDay(ms) {
  return clock.format(ms);
}

/** Local day and time, of today the time only. */
export function local(iso) {
  const time = new Date(iso);
  const today = time.toDateString() === new Date().toDateString();
  return today ? clock.format(time) : `${day.format(time)}, ${clock.format(time)}`;
}

/**
 * A sentence of the server in which moments are local, as everywhere else: also `15:21 UTC`, as it says when incidents began. What a peer
 * has written into it may look like a moment and be none: that stays as it is.
 */
export function localTimes(text) {
  return text
    .replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (iso) => (isMoment(iso) ? local(iso) : iso))
    .replace(/\b(?:(\d{4}-\d\d-\d\d) )?(\d\d:\d\d) UTC/g, (words, day, minute) => {
      const iso = `${day ?? new Date().toISOString().slice(0, 10)}T${minute}Z`;
      return isMoment(iso) ? said(day ? iso : lately(iso)) : words;
    });
}

function isMoment(iso) {
  return !Number.isNaN(Date.parse(iso));
}

/** The same time of day within the last 24 hours. */
function lately(iso) {
  const at = Date.parse(iso);
  // The clocks of the server and of this machine differ a little.
  const isOfYesterday = at > Date.now() + AHEAD_MS;
  return new Date(isOfYesterday ? at - DAY_MS : at).toISOString();
}

/** A time that a receipt says: most have whole minutes, and their seconds would be invented. */
export function said(iso) {
  return Date.parse(iso) % MINUTE_MS === 0 ? local(iso).replace(/[:.]00$/, "") : local(iso);
}

/** As it is in UTC: 2026-11-21 09:00:51.123 UTC */
export function utc(iso) {
  return `${iso.replace("T", " ").replace("Z", "")} UTC`;
}

/** A time, shown local and with UTC on hover. */
export function time(iso) {
  if (!iso) return h("span", { class: "quiet" }, "–");
  return h("time", { datetime: iso, title: utc(iso) }, local(iso));
}

/** A time kept in a cell, or a word for none. */
export function showTime(cell, iso, none = "–") {
  const shown = iso ? time(iso) : h("span", { class: "quiet" }, none);
  if (cell.textContent !== shown.textContent) cell.replaceChildren(shown);
}

/** How long something has lasted, kept in a cell; the moment itself is on hover. */
export function showAge(cell, iso, now) {
  setText(cell, age(iso, now));
  setAttribute(cell, "title", iso ? utc(iso) : null);
}

/** A local time of an input as the API wants it. */
export function fromInput(value) {
  return value ? new Date(value).toISOString() : "";
}

/** A time of the API as an input wants it: local, to the minute. */
export function toInput(iso) {
  if (!iso) return "";
  const at = new Date(iso);
  // Addresses are written by hand, too; the server says what is wrong with this one.
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16);
}
