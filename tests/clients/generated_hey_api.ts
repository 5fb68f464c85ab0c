// A business system with the client that @hey-api/openapi-ts has generated from the server's own document (hey/ beside a
// copy of this file). tsc checks it. The last line is JSON for the Rust test that started it; any surprise ends it with an
// exception.
//
//     generated_hey_api.js URL KEY

import { client } from "./hey/client.gen.js";
import { getBalance, getMessages, getMessagesId, postMessages, postMessagesEstimate } from "./hey/sdk.gen.js";

declare const process: { argv: string[] };

const TO = "447700900123";
const PATIENCE = 60_000;
const [url = "", key = ""] = process.argv.slice(2);
client.setConfig({ baseUrl: url, auth: () => key });

function check(holds: boolean, what: unknown): asserts holds {
  if (!holds) throw new Error(JSON.stringify(what));
}

async function journey(): Promise<string> {
  const body = { to: TO, from: "ACME", text: "hello", metadata: { shop: 1 } };
  const estimate = await postMessagesEstimate({ body });
  check(estimate.data?.parts === 1, estimate.error);
  const submitted = await postMessages({ body });
  check(submitted.data?.refused === 0, submitted.error);
  const id = submitted.data.messages[0]?.id ?? "";
  const until = Date.now() + PATIENCE;
  for (;;) {
    const { data, error } = await getMessagesId({ path: { id } });
    check(data !== undefined && Date.now() < until, error);
    if (data.ended_at) {
      check(data.state === "DELIVERED", data);
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const page = await getMessages({ query: { state: "DELIVERED", limit: 2 } });
  check((page.data?.messages.length ?? 0) > 0, page.error);
  return id;
}

async function mistakes() {
  const wrong = await postMessages({ body: { to: "nobody", from: "ACME", text: "x" } });
  check(wrong.error?.status === 400 && wrong.error.field === "to", wrong.error);
  const missing = await getMessagesId({ path: { id: "17" } });
  check(missing.error?.status === 404, missing.error);
  const stranger = await getBalance({ auth: () => "smsck_wrong" });
  check(stranger.error?.type === "urn:smsc:problem:unauthorized", stranger.error);
}

const sent = await journey();
await mistakes();
console.log(JSON.stringify({ sent }));
