// An ESME made with node-smpp: the cases of tests/smpp/interop.
//
// Usage: node_cases.js HOST PORT SYSTEM_ID PASSWORD
// Prints one JSON object about what it saw.

'use strict';

const smpp = require('smpp');
const { patience } = require('./common.js');

const [host, port, systemId, password] = process.argv.slice(2);
patience();

const LONG = '0123456789'.repeat(30);
const receipts = [];
const mo = [];
let look = () => {};

function connect() {
  return new Promise((resolve) => {
    const session = smpp.connect({ url: `smpp://${host}:${port}` }, () => resolve(session));
    session.on('deliver_sm', (pdu) => {
      session.send(pdu.response());
      const text = pdu.short_message.message.toString();
      if ((pdu.esm_class & 0x3c) === 4) {
        const [, id, stat] = /id:(\S+) .*stat:(\w+)/.exec(text);
        receipts.push({ id, stat });
      } else {
        mo.push({ source: pdu.source_addr, text });
      }
      look();
    });
    session.on('enquire_link', (pdu) => session.send(pdu.response()));
    session.on('error', (error) => {
      console.error(error);
      process.exit(1);
    });
  });
}

const ask = (session, operation, fields = {}) =>
  new Promise((resolve) => session[operation](fields, resolve));

async function bound(kind) {
  const session = await connect();
  const answer = await ask(session, `bind_${kind}`, { system_id: systemId, password });
  return [session, answer.command_status];
}

async function submit(session, fields) {
  const answer = await ask(session, 'submit_sm', {
    source_addr: '12345',
    destination_addr: '447700900123',
    dest_addr_ton: 1,
    dest_addr_npi: 1,
    registered_delivery: 1,
    ...fields,
  });
  if (answer.command_status !== 0) throw new Error(`submit_sm: ${answer.command_status}`);
  return answer.message_id;
}

const until = (done) =>
  new Promise((resolve) => {
    look = () => done() && resolve();
    look();
  });

const told = (...ids) => ids.every((id) => receipts.some((one) => one.id === id));

async function unbind(session) {
  const answer = await ask(session, 'unbind');
  await new Promise((resolve) => session.close(resolve));
  return answer.command_status;
}

async function main() {
  const binds = {};
  let unbound = 0;
  for (const kind of ['transmitter', 'receiver']) {
    const [session, status] = await bound(kind);
    binds[kind] = status;
    unbound |= await unbind(session);
  }
  let [session, status] = await bound('transceiver');
  binds.transceiver = status;
  const plain = await submit(session, { short_message: 'hello node' });
  const long = [await submit(session, { message_payload: LONG })];
  const parts = [LONG.slice(0, 150), LONG.slice(150)];
  for (const [at, message] of parts.entries()) {
    const udh = Buffer.from([5, 0, 3, 7, parts.length, at + 1]);
    long.push(await submit(session, { short_message: { udh, message } }));
  }
  await until(() => mo.length > 0 && told(plain, ...long));

  // The connection is dropped, not unbound; the receipt comes by the next one, or came just before.
  const last = await submit(session, { short_message: 'before the drop' });
  session.destroy();
  [session, status] = await bound('transceiver');
  binds.transceiver |= status;
  await until(() => told(last));
  unbound |= await unbind(session);
  const messages = 2 + long.length;
  console.log(
    JSON.stringify({
      binds, submit: plain, long, messages, receipts, mo, reconnect: last, unbind: unbound,
    }),
  );
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
