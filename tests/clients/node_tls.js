// node-smpp over TLS, on either side.
//
// Usage: node_tls.js esme PORT SYSTEM_ID PASSWORD FOLDER
//        node_tls.js operator PORT FOLDER
// FOLDER holds ca.pem, and node.pem and node.key, which are shown to the other side. The ESME binds,
// submits, waits for the receipt, unbinds and prints one JSON object. The operator demands a
// certificate of that authority, accepts everything and prints a JSON line per event: listening,
// bind (with the name that was asked for by SNI), message.

'use strict';

const fs = require('fs');
const smpp = require('smpp');
const { patience, report } = require('./common.js');

const [side, port, ...rest] = process.argv.slice(2);
const folder = rest.at(-1);
const read = (name) => fs.readFileSync(`${folder}/${name}`);
const secrets = { ca: read('ca.pem'), cert: read('node.pem'), key: read('node.key') };

if (side === 'esme') esme(rest[0], rest[1]);
else operator();

function esme(systemId, password) {
  patience();
  const seen = {};
  const session = smpp.connect({ ...secrets, host: '127.0.0.1', port, tls: true }, () => {
    seen.protocol = session.socket.getProtocol();
    session.bind_transceiver({ system_id: systemId, password }, (answer) => {
      seen.bind = answer.command_status;
      session.submit_sm(
        {
          source_addr: '12345',
          destination_addr: '447700900123',
          registered_delivery: 1,
          short_message: 'hello over TLS',
        },
        (accepted) => {
          seen.submit = accepted.command_status;
          seen.id = accepted.message_id;
          end();
        },
      );
    });
  });
  session.on('deliver_sm', (pdu) => {
    seen.receipt = pdu.receipted_message_id;
    session.send(pdu.response());
    end();
  });
  session.on('error', (error) => {
    console.error(error);
    process.exit(1);
  });
  const end = () => {
    if (!seen.id || !seen.receipt) return;
    session.unbind((answer) => {
      seen.unbind = answer.command_status;
      console.log(JSON.stringify(seen));
      process.exit(0);
    });
  };
}

function operator() {
  let last = 0;
  const server = smpp.createServer({ ...secrets, requestCert: true, rejectUnauthorized: true }, (session) => {
    session.on('bind_transceiver', (pdu) => {
      report('bind', { system_id: pdu.system_id, servername: session.socket.servername });
      session.send(pdu.response({ system_id: 'node-tls' }));
    });
    session.on('submit_sm', (pdu) => {
      last += 1;
      report('message', { text: pdu.short_message.message.toString() });
      session.send(pdu.response({ message_id: `tls-${last}` }));
    });
    session.on('enquire_link', (pdu) => session.send(pdu.response()));
    session.on('unbind', (pdu) => {
      session.send(pdu.response());
      session.close();
    });
    // The SMSC under test may be killed at any time.
    session.on('error', () => {});
  });
  // Handshakes that fail are what the test is about.
  server.on('tlsClientError', (error) => report('refused', { why: error.message }));
  server.listen(Number(port), '127.0.0.1', () => report('listening', {}));
}
