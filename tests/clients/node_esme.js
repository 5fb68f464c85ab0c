// An ESME made with node-smpp: binds with interface_version 5.0, submits with TLVs of the standard
// and of a vendor, collects the receipt, unbinds.
//
// Usage: node_esme.js HOST PORT SYSTEM_ID PASSWORD
// Prints one JSON object about what it saw.

'use strict';

const smpp = require('smpp');
const { patience, vendorTlv } = require('./common.js');

const [host, port, systemId, password] = process.argv.slice(2);
patience();
vendorTlv(smpp);

const seen = { receipts: [] };
const session = smpp.connect({ url: `smpp://${host}:${port}` }, () => {
  session.bind_transceiver(
    { system_id: systemId, password, interface_version: 0x50 },
    (answer) => {
      seen.bind = {
        status: answer.command_status,
        system_id: answer.system_id,
        version: answer.sc_interface_version,
      };
      submit();
    },
  );
});

function submit() {
  session.submit_sm(
    {
      source_addr: '12345',
      source_addr_ton: 0,
      destination_addr: '447700900123',
      dest_addr_ton: 1,
      dest_addr_npi: 1,
      registered_delivery: 1,
      short_message: 'hello node',
      user_message_reference: 77,
      source_port: 1234,
      vendor_reference: Buffer.from('customer-42'),
    },
    (answer) => {
      seen.submit = { status: answer.command_status, id: answer.message_id };
      finishWhenTold();
    },
  );
}

session.on('deliver_sm', (pdu) => {
  seen.receipts.push({
    esm_class: pdu.esm_class,
    text: pdu.short_message.message.toString(),
    receipted_message_id: pdu.receipted_message_id,
    message_state: pdu.message_state,
    user_message_reference: pdu.user_message_reference,
  });
  session.send(pdu.response());
  finishWhenTold();
});

session.on('enquire_link', (pdu) => session.send(pdu.response()));
session.on('error', (error) => {
  console.error(error);
  process.exit(1);
});

function finishWhenTold() {
  if (!seen.submit || seen.receipts.length === 0) return;
  session.unbind((answer) => {
    seen.unbind = answer.command_status;
    session.close(() => {
      console.log(JSON.stringify(seen));
      process.exit(0);
    });
  });
}
