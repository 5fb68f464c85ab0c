// An operator made with node-smpp: accepts binds and messages, reports each, sends a receipt for
// every message that asks, and one mobile-originated message after the first. The text "drop" makes it
// drop the connection.
//
// Usage: node_operator.js PORT [no-transceiver]
// Prints a JSON line per event: listening, bind, message, answer, unbind.

'use strict';

const smpp = require('smpp');
const { report, vendorTlv } = require('./common.js');

const [port, option] = process.argv.slice(2);
const noTransceiver = option === 'no-transceiver';
vendorTlv(smpp);

let hasDropped = false;
let lastId = 0;
let receiver = null;

const server = smpp.createServer((session) => {
  for (const kind of ['bind_transceiver', 'bind_transmitter', 'bind_receiver']) {
    session.on(kind, (pdu) => bind(session, kind, pdu));
  }
  session.on('submit_sm', (pdu) => accept(session, pdu));
  session.on('deliver_sm_resp', (pdu) => report('answer', { status: pdu.command_status }));
  session.on('enquire_link', (pdu) => session.send(pdu.response()));
  session.on('unbind', (pdu) => {
    report('unbind', {});
    session.send(pdu.response());
    session.close();
  });
  // The SMSC under test may be killed at any time.
  session.on('error', () => {});
});

function bind(session, kind, pdu) {
  report('bind', {
    kind,
    system_id: pdu.system_id,
    password: pdu.password,
    version: pdu.interface_version,
  });
  if (noTransceiver && kind === 'bind_transceiver') {
    session.send(pdu.response({ command_status: smpp.ESME_RINVCMDID }));
    return;
  }
  if (kind !== 'bind_transmitter') receiver = session;
  session.send(pdu.response({ system_id: 'node-operator' }));
}

function accept(session, pdu) {
  lastId += 1;
  const id = `node-${lastId}`;
  const text = pdu.short_message.message.toString();
  report('message', {
    id,
    text,
    payload: pdu.message_payload ? pdu.message_payload.message.toString() : null,
    source: pdu.source_addr,
    destination: pdu.destination_addr,
    registered_delivery: pdu.registered_delivery,
    user_message_reference: pdu.user_message_reference,
    source_port: pdu.source_port,
    vendor_reference: pdu.vendor_reference ? pdu.vendor_reference.toString() : null,
  });
  // Once: when the answer is lost with the connection, it comes again.
  if (text === 'drop' && !hasDropped) {
    hasDropped = true;
    session.send(pdu.response({ message_id: id }), () => session.destroy());
    return;
  }
  session.send(pdu.response({ message_id: id }));
  if (pdu.registered_delivery & 3) receipt(id, pdu);
  if (lastId === 1) mobileOriginated(pdu);
}

// The receipt of SMPP 3.4 appendix B, by the receiver bind when there are two.
function receipt(id, pdu) {
  receiver.deliver_sm({
    source_addr: pdu.destination_addr,
    destination_addr: pdu.source_addr,
    esm_class: 4,
    short_message:
      `id:${id} sub:001 dlvrd:001 submit date:2601010000 done date:2601010000 ` +
      'stat:DELIVRD err:000 text:hello',
  });
}

function mobileOriginated(pdu) {
  receiver.deliver_sm({
    source_addr: pdu.destination_addr,
    source_addr_ton: 1,
    source_addr_npi: 1,
    destination_addr: pdu.source_addr,
    short_message: 'from a mobile',
    vendor_reference: Buffer.from('network-7'),
  });
}

server.listen(Number(port), '127.0.0.1', () => report('listening', {}));
