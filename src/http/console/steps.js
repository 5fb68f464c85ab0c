// A list of what happens, newest first: the steps of a trace, or the PDUs of a bind. It follows a stream until it ends
// by itself or is stopped, and keeps only the last of it.

import { follow } from "./events.js";
import { h, setText } from "./dom.js";
import { number, timeOfDay } from "./format.js";

/** Most that is kept. */
const MOST = 300;

/** How long until a time of the API, as m:ss. */
function left(until) {
  const seconds = Math.max(0, Math.round((Date.parse(until) - Date.now()) / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/**
 * `list` is a table, `say` gets how it stands. `start(method, path, body)` begins anew; `stop()` ends it; `hear` is
 * called with each step.
 */
export function steps({ list, hear = () => {}, onState = () => {} }) {
  const state = h("p", { class: "quiet", role: "status" });
  const problem = h("p", { class: "problem", role: "alert" });
  let known = [];
  let count = 0;
  let missed = 0;
  let until = null;
  let running = null;
  let timer = null;

  function say(text = null) {
    const seen = `${number(count)} seen${missed ? `, ${number(missed)} not shown because there were too many` : ""}`;
    setText(state, text ? `${text} · ${seen}` : `Live, ends by itself in ${until ? left(until) : "…"} · ${seen}`);
  }

  function stop(text = "Stopped") {
    if (!running) return;
    running.abort();
    running = null;
    clearInterval(timer);
    say(text);
    onState(false);
  }

  async function start(method, path, body = null) {
    stop();
    const own = new AbortController();
    running = own;
    [known, count, missed, until] = [[], 0, 0, null];
    setText(problem, "");
    list.update(known);
    onState(true);
    say();
    timer = setInterval(say, 1000);
    let reason = "The connection was lost";
    try {
      await follow(method, path, body, own.signal, (kind, said) => {
        if (kind === "begun") until = said.until;
        if (kind === "end") reason = `Ended: ${said.reason}`;
        if (kind !== "steps") return;
        for (const step of said.steps) {
          step.key = count += 1;
          hear(step);
          known.unshift(step);
        }
        missed += said.missed;
        known = known.slice(0, MOST);
        list.update(known);
        say();
      });
    } catch (error) {
      setText(problem, error.message);
      reason = "It does not run";
    }
    if (running === own) stop(reason);
  }

  return { elements: [problem, state], start, stop, isRunning: () => running !== null };
}

/** Columns that both lists have. */
export const columns = {
  at: { title: "Time", class: "mono", text: (row) => (row.at ? `${timeOfDay(Date.parse(row.at))}.${row.at.slice(20, 23)}` : "–") },
  addresses: { title: "From → to", class: "wrap", text: (row) => (row.from || row.to ? `${row.from || "–"} → ${row.to || "–"}` : "") },
};
