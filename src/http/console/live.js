// The live events: one stream, read with fetch because EventSource cannot send a token. Whoever
// subscribes is called after every change of `live`. The stream brings what the page shows, as `watch` says, and no more.

import { authorization, session, signOut } from "./api.js";
import { readEvents } from "./events.js";

const HISTORY = 300;
/** Seconds of the history of operators. */
const SECONDS = 120;
/** Without any event for so long the connection counts as lost. */
const SILENCE_MS = 6000;
/** What is typed within this time is one question. */
const TURN_MS = 150;
/**
 * A tab that nobody has looked at for so long gives its connection back: by HTTP/1.1 a browser has six for all tabs of a
 * server, and a seventh tab would load nothing.
 */
const UNSEEN_MS = 10_000;
/** What every page needs: how the node is. */
const USUAL = { kinds: [], attention: 1 };

export const live = {
  hello: null,
  overview: null,
  queues: null,
  binds: null,
  operators: null,
  nodes: null,
  history: { at_ms: [], accepted: [], sent: [], failed: [], waiting: [] },
  /** The last two minutes of each queue of an operator, by its name: sent, throttled, refused, answer_ms. */
  operatorHistory: new Map(),
  /** connecting, live or offline */
  status: "connecting",
  /** Why it is offline, for people. */
  reason: "",
  /** When the last event came, by this machine's clock. */
  heard: 0,
};

const subscribers = new Set();
let running = null;
/** Parameters of the stream. */
let wanted = parametersOf(USUAL);
let turnTimer = null;
let unseenTimer = null;
/** Whether the connection was given back. */
let isAway = false;
/** Ends the connection, and begins another one at once. */
let turn = () => {};
let lastId = "";
let retry = 2000;

export function subscribe(hear) {
  subscribers.add(hear);
  return () => subscribers.delete(hear);
}

function tell() {
  for (const hear of subscribers) hear(live);
}

/** The server's clock, as far as the last event told. */
export function serverNow() {
  return live.overview ? live.overview.at_ms + (Date.now() - live.heard) : Date.now();
}

function parametersOf({ kinds, ...more }) {
  const set = Object.entries({ ...USUAL, ...more }).filter(([name, value]) => name !== "kinds" && value !== "" && value !== null && value !== undefined);
  return new URLSearchParams([["kinds", ["overview", ...kinds].join(",")], ...set]).toString();
}

/**
 * Says what the page shows: `kinds` of events beside the overview, and parameters of GET /v1/events. On a new page the
 * lists of the one before are forgotten; on the page that is open they stay until the answer comes.
 */
export function watch(shown = USUAL, isNewPage = false) {
  const parameters = parametersOf({ ...USUAL, ...shown });
  if (parameters === wanted) return;
  wanted = parameters;
  if (isNewPage) Object.assign(live, { queues: null, binds: null, operators: null, nodes: null });
  clearTimeout(turnTimer);
  turnTimer = setTimeout(() => turn(), TURN_MS);
}

export function start() {
  if (running) return;
  running = new AbortController();
  run(running.signal);
}

export function stop() {
  running?.abort();
  running = null;
  lastId = "";
}

/** Ends the pause before the next attempt. */
export let tryNow = () => {};

function seen() {
  clearTimeout(unseenTimer);
  if (document.hidden) {
    unseenTimer = setTimeout(() => {
      isAway = true;
      turn();
    }, UNSEEN_MS);
  } else if (isAway) {
    isAway = false;
    tryNow();
  }
}

document.addEventListener("visibilitychange", seen);
// A link that was opened in the background.
seen();

async function run(signal) {
  while (!signal.aborted) {
    if (isAway) {
      await pause(signal, null);
      continue;
    }
    const connection = new AbortController();
    const end = () => connection.abort();
    let isTurned = false;
    turn = () => {
      isTurned = true;
      end();
    };
    signal.addEventListener("abort", end);
    let silence = null;
    const restart = () => {
      clearTimeout(silence);
      silence = setTimeout(end, SILENCE_MS);
    };
    try {
      restart();
      await listen(connection.signal, restart);
      lost("The server has ended the stream.");
    } catch (error) {
      if (signal.aborted) return;
      if (isTurned) continue;
      if (error.refused) lost(error.message);
      else lost(live.heard ? "The connection was lost." : "The SMSC cannot be reached.");
    } finally {
      clearTimeout(silence);
      signal.removeEventListener("abort", end);
    }
    await pause(signal);
  }
}

function lost(reason) {
  live.status = "offline";
  live.reason = reason;
  tell();
}

/** Waits so many milliseconds, or until `tryNow` (null). */
function pause(signal, after = retry) {
  return new Promise((resume) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resume();
    };
    const timer = after === null ? null : setTimeout(done, after);
    signal.addEventListener("abort", done);
    tryNow = done;
  });
}

async function listen(signal, heard) {
  const headers = { ...authorization(), Accept: "text/event-stream" };
  if (lastId) headers["Last-Event-ID"] = lastId;
  clearTimeout(turnTimer);
  const asked = wanted;
  const answer = await fetch(`/v1/events?${asked}`, { headers, signal, cache: "no-store" });
  if (answer.status === 401) {
    signOut("The token is not accepted any more. Sign in again.");
    throw Object.assign(new Error("not signed in"), { refused: true });
  }
  if (!answer.ok) {
    const problem = await answer.json().catch(() => null);
    const message = problem?.detail ?? `The server answered ${answer.status}.`;
    throw Object.assign(new Error(message), { refused: true });
  }
  await readEvents(answer, (events) => {
    // What is left of the page before.
    if (asked !== wanted) return;
    heard();
    if (events.map(take).some(Boolean)) tell();
  });
}

/** Takes one event; whether there is something new. */
function take({ kind, data, id, retry: after }) {
  if (id !== null) lastId = id;
  if (after) retry = after;
  if (!data || (!session.token && !session.name)) return false;
  const body = JSON.parse(data);
  live.heard = Date.now();
  if (kind === "end") {
    live.reason = body.reason;
    return false;
  }
  live.status = "live";
  live[kind] = body;
  if (kind === "hello") {
    remember(body.history);
    for (const { name, ...lists } of body.operators ?? []) live.operatorHistory.set(name, lists);
  }
  if (kind === "overview") {
    const { accepted, sent, failed } = body.rates;
    const waiting = body.queued.waiting + body.queued.scheduled;
    const known = live.history.at_ms.at(-1) ?? 0;
    if (body.at_ms > known) {
      sample();
      remember({ at_ms: [body.at_ms], accepted: [accepted], sent: [sent], failed: [failed], waiting: [waiting] });
    }
  }
  return true;
}

/** Adds how each operator does now. */
function sample() {
  for (const queue of live.queues?.queues ?? []) {
    if (!queue.name.startsWith("operator:")) continue;
    const id = queue.name.slice("operator:".length);
    const answer = live.operators?.operators.find((one) => one.id === id)?.answer_ms ?? 0;
    const lists = live.operatorHistory.get(queue.name) ?? { sent: [], throttled: [], refused: [], answer_ms: [] };
    const now = { sent: queue.delivered_per_second, throttled: queue.throttled_per_second, refused: queue.refused_per_second, answer_ms: answer };
    live.operatorHistory.set(queue.name, Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, [...list, now[name]].slice(-SECONDS)])));
  }
}

function remember(more) {
  for (const name of Object.keys(live.history)) {
    const list = live.history[name].concat(more[name]);
    live.history[name] = list.slice(-HISTORY);
  }
}
