// An ESME made with node-smpp that asks for, changes and withdraws what it submitted, submits to many
// and by data_sm, and tries cell broadcast.
//
// Usage: node_operations.js HOST PORT SYSTEM_ID PASSWORD
// The account has a distribution list "team"; nothing that it submits is delivered.
// Prints one JSON object about what it was answered.

'use strict';

const smpp = require('smpp');
const { patience } = require('./common.js');

const [host, port, systemId, password] = process.argv.slice(2);
patience();

const seen = {};
const session = smpp.connect({ url: `smpp://${host}:${port}` }, () => {
  run().catch((error) => {
    console.error(error);
    process.exit(1);
  });
});
session.on('deliver_sm', (pdu) => session.send(pdu.response()));
session.on('enquire_link', (pdu) => session.send(pdu.response()));
session.on('error', (error) => {
  console.error(error);
  process.exit(1);
});

// Sends a request and keeps what it was answered.
function ask(as, operation, fields) {
  return new Promise((resolve) => {
    session[operation]({ source_addr: '12345', ...fields }, (answer) => {
      seen[as] = {
        command: answer.command,
        status: answer.command_status,
        id: answer.message_id,
        state: answer.message_state,
        failures: answer.unsuccess_sme,
      };
      resolve(seen[as]);
    });
  });
}

async function run() {
  await ask('bind', 'bind_transceiver', {
    system_id: systemId,
    password,
    interface_version: 0x50,
  });
  const one = { destination_addr: '447700900123', short_message: 'one' };
  const { id } = await ask('submit', 'submit_sm', one);
  await ask('query', 'query_sm', { message_id: id });
  await ask('replace', 'replace_sm', { message_id: id, short_message: 'other' });
  await ask('again', 'submit_sm', { ...one, replace_if_present_flag: 1 });
  await ask('cancel', 'cancel_sm', { message_id: id });
  await ask('cancelled', 'query_sm', { message_id: id });
  await ask('twice', 'cancel_sm', { message_id: id });
  await ask('unknown', 'query_sm', { message_id: '17' });
  await ask('multi', 'submit_multi', {
    dest_address: [
      { destination_addr: '447700900001' },
      { dl_name: 'team' },
      { dl_name: 'nobody' },
    ],
    short_message: 'many',
  });
  await ask('data', 'data_sm', {
    destination_addr: '447700900123',
    message_payload: 'data',
  });
  await ask('all', 'cancel_sm', { destination_addr: '447700900123' });
  await ask('broadcast', 'broadcast_sm', {});
  await ask('query_broadcast', 'query_broadcast_sm', { message_id: '1' });
  await ask('cancel_broadcast', 'cancel_broadcast_sm', { message_id: '1' });
  await ask('unbind', 'unbind', {});
  session.close(() => {
    console.log(JSON.stringify(seen));
    process.exit(0);
  });
}
