// Server-sent events, read with fetch because EventSource can send neither a token nor a body.

import { ApiError, authorization } from "./api.js";

/** Reads a stream (HTML Standard 9.2.6) to its end; `take` gets the events of each read: kind, data, id, retry. */
export async function readEvents(answer, take) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    take(blocks.map(parse));
  }
}

function parse(block) {
  const event = { kind: "", data: "", id: null, retry: null };
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (colon < 1) continue;
    if (line.startsWith("event:")) event.kind = value;
    else if (line.startsWith("data:")) event.data += value;
    else if (line.startsWith("id:")) event.id = value;
    else if (line.startsWith("retry:")) event.retry = Number(value) || null;
  }
  return event;
}

/**
 * Follows a stream of steps: `hear(kind, body)` for each event until it ends, or `signal` is aborted.
 * Throws an ApiError with the server's own text.
 */
export async function follow(method, path, body, signal, hear) {
  const headers = { ...authorization(), Accept: "text/event-stream" };
  if (body) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: body && JSON.stringify(body), signal, cache: "no-store" });
  } catch (error) {
    if (signal.aborted) return;
    throw new ApiError(0, "The SMSC cannot be reached. Check that it runs and that this address is right.");
  }
  if (!answer.ok) {
    const said = await answer.json().catch(() => null);
    throw new ApiError(answer.status, said?.detail ?? `the server answered ${answer.status}`);
  }
  let ended = false;
  try {
    await readEvents(answer, (events) => {
      for (const { kind, data } of events) {
        if (!data) continue;
        ended ||= kind === "end";
        hear(kind, JSON.parse(data));
      }
    });
  } catch (error) {
    if (signal.aborted) return;
    if (!ended) throw new ApiError(0, "The connection was lost.");
  }
}
