// A business system with a client of openapi-fetch, typed by what openapi-typescript has generated from the server's
// own document (schema.d.ts beside a copy of this file). tsc checks it. The last line is JSON for the Rust test that
// started it; any surprise ends it with an exception.
//
//     generated_client.js URL KEY

import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { argv: string[] };

type Problem = components["schemas"]["Problem"];
type MessageDetails = components["schemas"]["MessageDetails"];

const TO = "447700900123";
const PATIENCE = 60_000;
const [url = "", key = ""] = process.argv.slice(2);

const clientWith = (key: string) => createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${key}` } });
const client = clientWith(key);

function check(holds: boolean, what: unknown): asserts holds {
  if (!holds) throw new Error(JSON.stringify(what));
}

async function ended(id: string): Promise<MessageDetails> {
  const until = Date.now() + PATIENCE;
  while (Date.now() < until) {
    const { data, error } = await client.GET("/v1/messages/{id}", { params: { path: { id } } });
    check(data !== undefined, error);
    if (data.ended_at) return data;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${id} has not ended`);
}

async function submitted(body: components["schemas"]["SubmissionOrder"]): Promise<string[]> {
  const { data, error } = await client.POST("/v1/messages", { body });
  check(data !== undefined && data.refused === 0, error ?? data);
  return data.messages.flatMap((message) => message.id ?? []);
}

async function journey(): Promise<string> {
  const order = { to: TO, from: "ACME", text: "hello", reference: "order-7", metadata: { shop: 1 } };
  const estimate = await client.POST("/v1/messages/estimate", { body: order });
  check(estimate.data?.parts === 1, estimate.error);
  const [id = ""] = await submitted(order);
  const message = await ended(id);
  check(message.state === "DELIVERED" && message.reference === "order-7", message);
  check(message.metadata?.["shop"] === 1 && message.timeline[0]?.what === "accepted", message);

  const ann = { number: "447700900001", values: { name: "Ann" } };
  const several = await submitted({
    messages: [{ to: [ann], from: "ACME", text: "Dear {{name}}" }, { to: ["447700900002"], from: "ACME", text: "hi" }],
  });
  check(several.length === 2, several);
  const page = await client.GET("/v1/messages", { params: { query: { state: "DELIVERED", limit: 2 } } });
  check((page.data?.messages.length ?? 0) > 0, page.error);

  const send_at = new Date(Date.now() + 86_400_000).toISOString();
  const [waiting = ""] = await submitted({ to: TO, from: "ACME", text: "later", send_at });
  const path = { id: waiting };
  const changed = await client.PATCH("/v1/messages/{id}", { params: { path }, body: { text: "changed" } });
  check(changed.data?.state === "ENROUTE", changed.error);
  const cancelled = await client.POST("/v1/messages/{id}/cancel", { params: { path } });
  check(cancelled.data?.pending === false, cancelled.error);

  const balance = await client.GET("/v1/balance");
  check(balance.data?.prepaid === false, balance.error);
  const number = { path: { number: "447700900999" } };
  const put = await client.PUT("/v1/opt-outs/{number}", { params: number });
  check(put.data?.changed === true, put.error);
  const listed = await client.GET("/v1/opt-outs");
  check(listed.data?.opt_outs[0]?.number === "447700900999", listed.error);
  const taken = await client.DELETE("/v1/opt-outs/{number}", { params: { ...number, query: { reason: "signed up again" } } });
  check(taken.data?.changed === true, taken.error);
  return id;
}

function refused(error: Problem | undefined, status: number, field?: string) {
  check(error?.status === status && (field === undefined || error.field === field), error);
}

async function mistakes() {
  const wrong = await client.POST("/v1/messages", { body: { to: "nobody", from: "ACME", text: "x" } });
  check(wrong.response.status === 400, wrong);
  refused(wrong.error, 400, "to");
  const missing = await client.GET("/v1/messages/{id}", { params: { path: { id: "17" } } });
  refused(missing.error, 404);
  const stranger = await clientWith("smsck_wrong").GET("/v1/balance");
  refused(stranger.error, 401);
  // @ts-expect-error a message has no colour, and the compiler knows
  const unknown: components["schemas"]["MessageOrder"] = { to: TO, text: "x", colour: "red" };
  refused((await client.POST("/v1/messages", { body: unknown })).error, 400);
}

const sent = await journey();
await mistakes();
console.log(JSON.stringify({ sent }));
