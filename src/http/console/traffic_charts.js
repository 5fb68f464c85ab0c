// Charts of what was sent, refused and delivered in a time, beside the same time a week before: on the page of the traffic
// history, and on those of an account and an operator.

import { get } from "./api.js";
import { curves } from "./curves.js";
import { DAY_MS, HOUR_MS, MINUTE_MS, WEEK_MS, milliseconds, rate } from "./format.js";

/** What was counted in a minute is in the store so long after it. */
const WRITTEN_MS = 5_000;
export const COUNTS = ["accepted", "refused", "delivered", "failed"];

/** The end of the last minute that is in the store. */
export function lastMinute() {
  return Math.floor((Date.now() - WRITTEN_MS) / MINUTE_MS) * MINUTE_MS;
}

/** The last `length` milliseconds: of minutes only those that are over, of hours the current one as well. */
export function lastTime(length) {
  const until = length > DAY_MS ? Date.now() : lastMinute();
  return { since: until - length, until };
}

/** How long ago a week before is. It has an hour more or less where clocks were changed: people live by theirs. */
function weekOf({ since, until }) {
  if (until - since > WEEK_MS) return WEEK_MS;
  const before = new Date(until);
  before.setDate(before.getDate() - 7);
  return until - before.getTime();
}

/** What was counted in a time, and a week before it; null for that where it is not kept. `asked` is what else the question has. */
export async function readTraffic({ since, until }, asked) {
  const shift = weekOf({ since, until });
  // As many hours as a day has: the first one began before it, and the last one is whole. A moment that was written by hand may be a minute apart.
  const isDay = until - since >= DAY_MS - MINUTE_MS;
  const before = isDay ? Math.ceil((since - shift) / HOUR_MS) * HOUR_MS : since - shift;
  const areMinutes = until - since <= DAY_MS && since >= Date.now() - DAY_MS - HOUR_MS / 2;
  const path = (from, to, step) => `/v1/history?${new URLSearchParams({ since: from, until: to, step, ...asked })}`;
  const [now, week] = await Promise.all([
    get(path(since, until, areMinutes ? "minute" : "hour")),
    // Nobody misses it where it is not kept any more.
    get(path(before, until - shift, "hour")).catch(() => null),
  ]);
  return { now, week, shift };
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

/** The charts `sent`, `lost` and `answers`; `update` takes what `readTraffic` has read, and its time. */
export function trafficCharts(height) {
  const sent = curves({ title: "Messages per minute", series: [{ name: "accepted", label: "accepted by operators" }, { name: "delivered", label: "delivered" }], show: rate, height });
  const lost = curves({ title: "Refused and failed per minute", series: [{ name: "refused", label: "refused" }, { name: "failed", label: "failed" }], show: rate, height });
  const answers = curves({ title: "Mean answer, milliseconds", series: [{ name: "answer", label: "answer" }], show: (value) => milliseconds(value ?? 0), height });
  return {
    sent, lost, answers,
    update({ now, week, shift }, { since, until }) {
      const points = rates(now.points, now.step === "minute" ? MINUTE_MS : HOUR_MS);
      const before = week?.nodes.length ? rates(week.points, HOUR_MS, shift) : [];
      for (const chart of [sent, lost, answers]) chart.update({ since, until, points, before });
    },
  };
}
