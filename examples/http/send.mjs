// Sends a message over HTTP and prints its id. Only Node itself.
//
//     SMSC_KEY=$(smsc key add demo) node examples/http/send.mjs 447700900123 hello
//
// SMSC_URL is where `api.listen` is; http://127.0.0.1:8081 is that of the demo.
import { randomUUID } from "node:crypto";

const url = process.env.SMSC_URL ?? "http://127.0.0.1:8081";
const [to, text] = process.argv.slice(2);
const request = {
  method: "POST",
  headers: {
    Authorization: `Bearer ${process.env.SMSC_KEY}`,
    "Content-Type": "application/json",
    // The same for every attempt: it is sent once.
    "Idempotency-Key": randomUUID(),
  },
  body: JSON.stringify({ to, from: "ACME", text, receipt: true }),
};

for (let attempt = 1; ; attempt += 1) {
  const answer = await fetch(`${url}/v1/messages`, request);
  const said = await answer.json();
  if (answer.ok) {
    console.log(said.messages[0].id);
    break;
  }
  if (![409, 429, 503, 507].includes(answer.status) || attempt === 5) {
    console.error(`${answer.status}: ${said.detail}`);
    process.exit(1);
  }
  const seconds = Number(answer.headers.get("retry-after") ?? 1);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}
