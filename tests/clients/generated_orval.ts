// A business system with the functions that orval has generated from the server's own document (orval.ts beside a copy of
// this file). tsc checks it. The last line is JSON for the Rust test that started it; any surprise ends it with an
// exception.
//
//     generated_orval.js URL KEY

import { getBalance, getMessages, getMessagesId, postMessages, postMessagesEstimate } from "./orval.js";

declare const process: { argv: string[] };

const TO = "447700900123";
const PATIENCE = 60_000;
const [url = "", key = ""] = process.argv.slice(2);
// The functions ask for paths: in a browser they belong to the page's own origin.
const ask = globalThis.fetch;
globalThis.fetch = (path, options) => ask(`${url}${String(path)}`, options);
const withKey = (key: string) => ({ headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` } });
const own = withKey(key);

function check(holds: boolean, what: unknown): asserts holds {
  if (!holds) throw new Error(JSON.stringify(what));
}

async function journey(): Promise<string> {
  const order = { to: TO, from: "ACME", text: "hello", metadata: { shop: 1 } };
  const estimate = await postMessagesEstimate(order, own);
  check(estimate.status === 200 && estimate.data.parts === 1, estimate);
  const submitted = await postMessages(order, own);
  check(submitted.status === 202 && submitted.data.refused === 0, submitted);
  const id = submitted.data.messages[0]?.id ?? "";
  const until = Date.now() + PATIENCE;
  for (;;) {
    const found = await getMessagesId(id, own);
    check(found.status === 200 && Date.now() < until, found);
    if (found.data.ended_at) {
      check(found.data.state === "DELIVERED", found);
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const page = await getMessages({ state: "DELIVERED", limit: 2 }, own);
  check(page.status === 200 && page.data.messages.length > 0, page);
  return id;
}

async function mistakes() {
  const wrong = await postMessages({ to: "nobody", from: "ACME", text: "x" }, own);
  check(wrong.status === 400 && wrong.data.field === "to", wrong);
  check(wrong.data.request_id === wrong.headers.get("x-request-id"), wrong);
  const missing = await getMessagesId("17", own);
  check(missing.status === 404, missing);
  const stranger = await getBalance(withKey("smsck_wrong"));
  check(stranger.status === 401 && stranger.data.type === "urn:smsc:problem:unauthorized", stranger);
}

const sent = await journey();
await mistakes();
console.log(JSON.stringify({ sent }));
