// Receives callbacks, verifies them, and prints what they say. Only Node itself.
//
//     SMSC_SECRET=whsec_... node examples/http/receive.mjs 8000
//
// The account has `deliver_by = "callback"`, this program's address as its `callback_url`, and the secret in its
// `callback_secrets`. The signature is that of Standard Webhooks: their packages verify it as well.
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const secret = Buffer.from(process.env.SMSC_SECRET.replace(/^whsec_/, ""), "base64");
const TOLERANCE = 300;

// Whether the octets are signed with our secret, and not minutes old.
function isGenuine(headers, body) {
  const { "webhook-id": id, "webhook-timestamp": timestamp } = headers;
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= TOLERANCE)) return false;
  const hmac = createHmac("sha256", secret).update(`${id}.${timestamp}.`).update(body);
  const wanted = Buffer.from(`v1,${hmac.digest("base64")}`);
  return (headers["webhook-signature"] ?? "").split(" ").some((given) => {
    const octets = Buffer.from(given);
    return octets.length === wanted.length && timingSafeEqual(octets, wanted);
  });
}

// What a callback says, in one line. A type that is not named here is shown as well: later releases may have more.
function inWords({ type, data }) {
  switch (type) {
    case "test":
      return `${type} of account ${data.account}`;
    case "message.received":
      return `${type} ${data.message_id} ${data.from}: ${data.text}`;
    default:
      // How a message of ours ended, or a state before that.
      return `${type} ${data.message_id ?? "-"}`;
  }
}

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  if (!isGenuine(request.headers, body)) {
    response.writeHead(401).end();
    return;
  }
  // webhook-id is the same if it comes again: keep it where messages are kept, and skip repetitions.
  console.log(request.headers["webhook-id"], inWords(JSON.parse(body)));
  response.writeHead(204).end();
}).listen(Number(process.argv[2]), "127.0.0.1");
