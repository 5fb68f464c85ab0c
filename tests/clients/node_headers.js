// What node-smpp reads in PDUs: the elements of the header, the text, what numbers the parts; and
// what it writes. Arguments: PDUs in hexadecimal digits. Prints one JSON object.

'use strict';

const smpp = require('smpp');

const read = (hex) => {
  const pdu = new smpp.PDU(Buffer.from(hex, 'hex'));
  const { message, udh } = pdu.short_message;
  return {
    command: pdu.command,
    esm_class: pdu.esm_class,
    data_coding: pdu.data_coding,
    udh: (udh || []).map((element) => element.toString('hex')),
    message,
    sar: [pdu.sar_msg_ref_num, pdu.sar_total_segments, pdu.sar_segment_seqnum],
  };
};

const write = (udh, message, data_coding) => {
  const pdu = new smpp.PDU('submit_sm', {
    destination_addr: '447700900123',
    data_coding,
    short_message: { udh: Buffer.from(udh, 'hex'), message },
  });
  return pdu.toBuffer().toString('hex');
};

console.log(
  JSON.stringify({
    read: process.argv.slice(2).map(read),
    written: [
      write('050003CC0201', 'part one, with € and [', 0),
      write('06080412340302', 'Привет', 8),
      // Its Turkish table is the locking one, whichever element the header has.
      write('03250101', 'ışık', 0),
    ],
  }),
);
