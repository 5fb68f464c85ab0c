// Queues between which messages can be moved, and to which they are sent again: those of operators and GSM networks, and
// the built-in targets. What waits for an account stays with it.

import { get } from "./api.js";

const KINDS = ["operator:", "gsm:", "test:"];

const place = (name) => KINDS.findIndex((kind) => name.startsWith(kind));

/** Whether messages may leave this queue for another one, or come to it. */
export function isTarget(name) {
  return place(name) >= 0;
}

/**
 * The names of all such queues, the built-in ones last. The server is asked: live events may not have come yet, and leave
 * idle queues out where there are many.
 */
export async function targets() {
  const { queues } = await get("/v1/queues");
  const names = queues.map((queue) => queue.name).filter(isTarget);
  return names.toSorted((one, other) => place(one) - place(other) || one.localeCompare(other));
}
