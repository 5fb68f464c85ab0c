// An ESME made with node-smpp that is called by outbind, and takes and sends what the other scripts do
// not: outbind, enquire_link, alert_notification, generic_nack.
//
// Usage: node_called.js PORT SYSTEM_ID PASSWORD
// Listens on PORT; called there, it binds as a receiver on that connection, takes one deliver_sm and one
// alert_notification, asks for life, sends a command that nobody knows, unbinds.
// Prints a JSON line per event: listening, outbind, bound, delivered, alert, alive, nack, unbound.

'use strict';

const smpp = require('smpp');
const { patience, report } = require('./common.js');

const [port, systemId, password] = process.argv.slice(2);
patience();

const ask = (session, operation, fields = {}) =>
  new Promise((resolve) => session[operation](fields, resolve));

const server = smpp.createServer((session) => {
  session.on('outbind', async (pdu) => {
    report('outbind', { system_id: pdu.system_id, password: pdu.password });
    const answer = await ask(session, 'bind_receiver', { system_id: systemId, password });
    report('bound', { status: answer.command_status, system_id: answer.system_id });
  });
  session.on('deliver_sm', (pdu) => {
    session.send(pdu.response());
    report('delivered', { text: pdu.short_message.message.toString() });
  });
  session.on('alert_notification', async (pdu) => {
    report('alert', { source: pdu.source_addr, esme: pdu.esme_addr });
    const alive = await ask(session, 'enquire_link');
    report('alive', { status: alive.command_status });
    nack(session);
  });
  session.on('generic_nack', async (pdu) => {
    report('nack', { status: pdu.command_status, sequence: pdu.sequence_number });
    const answer = await ask(session, 'unbind');
    report('unbound', { status: answer.command_status });
    process.exit(0);
  });
  session.on('enquire_link', (pdu) => session.send(pdu.response()));
  session.on('error', (error) => {
    console.error(error);
    process.exit(1);
  });
});

// A request with a command_id that SMPP does not have.
function nack(session) {
  const octets = Buffer.alloc(16);
  [16, 0x0000ffff, 0, 4711].forEach((word, at) => octets.writeUInt32BE(word, at * 4));
  session.socket.write(octets);
}

server.listen(Number(port), '127.0.0.1', () => report('listening', {}));
