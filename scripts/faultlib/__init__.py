"""Parts of scripts/faults: the plan of a run, the peers, the SMSC under test, and who checks it all."""
