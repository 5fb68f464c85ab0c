// The states of things, in words and in a tone.

import { chip, setChip } from "./dom.js";

/** Whether what waits in a queue would leave now. */
export function queueState(queue) {
  if (queue.suspended) return ["suspended", "warn"];
  if (queue.sessions > 0 || queue.name.startsWith("test:")) return ["served", "good"];
  if (queue.waiting + queue.scheduled > 0) return ["nobody bound", "warn"];
  return ["nobody bound", "quiet"];
}

export function bindState(state) {
  const tones = { bound: "good", connecting: "busy", binding: "busy", waiting: "warn", paused: "warn", standby: "quiet" };
  return [state, tones[state] ?? "quiet"];
}

/** The connection to a signalling gateway. */
export function gatewayState(state) {
  const tones = { active: "good", inactive: "warn", standby: "quiet", connecting: "busy", down: "bad", waiting: "warn" };
  return [state, tones[state] ?? "quiet"];
}

export function operatorState({ state, breaker, health }) {
  if (breaker === "open" || breaker === "half open") return ["left alone: it fails", "bad"];
  if (health?.status === "FAILBACK") return ["failback: bound again, not used yet", "warn"];
  const tones = { up: "good", "partly up": "warn", down: "bad", "name taken": "bad", paused: "warn" };
  return [state, tones[state] ?? "quiet"];
}

export function nodeState(state) {
  const tones = { alive: "good", draining: "warn", lost: "bad" };
  return [state, tones[state] ?? "quiet"];
}

export function messageState(message) {
  if (message.stage === "held") return ["held", "warn"];
  const tones = { DELIVERED: "good", ACCEPTED: "good", ENROUTE: "busy", UNKNOWN: "warn", DELETED: "warn" };
  const text = message.state === "ENROUTE" && message.stage ? message.stage : message.state.toLowerCase();
  return [text, tones[message.state] ?? "bad"];
}

/** A cell that is one chip. */
export function stateCell(cell, [text, tone]) {
  if (!cell.firstChild) cell.append(chip(text, tone));
  else setChip(cell.firstChild, text, tone);
}
