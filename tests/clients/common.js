// What the scripts with node-smpp share: a limit to their patience, a vendor's TLV, JSON lines.

'use strict';

const PATIENCE_MS = 120_000;

// Ends a script that waits in vain.
exports.patience = () => {
  setTimeout(() => {
    console.error('the SMSC did not do what was waited for');
    process.exit(1);
  }, PATIENCE_MS).unref();
};

// A TLV of the range that SMPP leaves to vendors (0x1400 to 0x3FFF).
exports.vendorTlv = (smpp) => {
  smpp.addTLV('vendor_reference', { id: 0x1501, type: smpp.types.tlv.buffer });
};

// One line for the test that started the script.
exports.report = (event, fields) => {
  console.log(JSON.stringify({ event, ...fields }));
};
