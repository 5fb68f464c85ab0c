//! A handset submits a message again: TP-RD (3GPP TS 23.040 §9.2.3.25).

use super::*;
use crate::harness::saying;
use bytes::Bytes;
use smsc::sms::tpdu::{SmsSubmit, Tpdu, TpduAddress, TpduKind, decode};

/// Short message transfer rejected (TS 24.011 §8.2.5.4).
const REJECTED: u8 = 21;
/// TP-FCS: SM rejected, duplicate SM (TS 23.040 §9.2.3.22).
const DUPLICATE: Option<u8> = Some(0xC5);

fn from_phone(to: &str, message_reference: u8, reject_duplicates: bool) -> Bytes {
    let submit = SmsSubmit {
        message_reference,
        reject_duplicates,
        destination_address: TpduAddress::international(to),
        ..SmsSubmit::default()
    };
    saying("hello", submit)
}

/// TP-FCS of the last answer to a phone.
fn failure_cause(core: &FakeCore) -> Option<u8> {
    let report = core.phones().reports().pop().expect("an answer");
    match decode(TpduKind::SubmitReportError, &report) {
        Ok(Tpdu::SubmitReport(report)) => report.failure_cause,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_that_waits_is_not_taken_again_not_even_after_a_crash() {
    let core = FakeCore::start();
    let mut smsc = serving(core.address(), NEVER).start();
    core.wait_for_connections(1);
    let (sender, another, other) = (subscriber(1), subscriber(2), subscriber(3));
    core.set(&other.1, Phone::Away(0x0A));
    // Without an earlier one it is a message like any other.
    assert_eq!(core.sends(&sender, from_phone(&other.0, 7, true)), 0);
    let again = || core.sends(&sender, from_phone(&other.0, 7, true));
    assert_eq!(again(), REJECTED);
    assert_eq!(failure_cause(&core), DUPLICATE);
    // Another reference, another address, another handset; and one that does not mind.
    assert_eq!(core.sends(&sender, from_phone(&other.0, 8, true)), 0);
    assert_eq!(core.sends(&sender, from_phone("12345", 7, true)), 0);
    assert_eq!(core.sends(&another, from_phone(&other.0, 7, true)), 0);
    assert_eq!(core.sends(&sender, from_phone(&other.0, 8, false)), 0);
    core.wait_for_attempts(&other.1, 1);
    smsc.kill();
    until("the end of its connection", || {
        core.phones().connected().is_empty().then_some(())
    });
    smsc.start_again();
    core.wait_for_connections(1);
    assert_eq!(again(), REJECTED);
    // To an ESME that is not bound it waits, too.
    assert_eq!(core.sends(&sender, from_phone("12345", 7, true)), REJECTED);
    core.set(&other.1, Phone::Here);
    core.phones().ready(&other.1, 1);
    core.wait_for(&other.1, 4);
    until("the reference to be free", || (again() == 0).then_some(()));
    core.wait_for(&other.1, 5);
}

#[test]
fn another_node_knows_what_the_first_one_has_taken() {
    let core = FakeCore::start();
    let address = core.address();
    let mut cluster = Cluster::of(2)
        .short_lease()
        .each(move |smsc| configured(smsc, address, NEVER))
        .start();
    core.wait_for_connections(2);
    let (sender, other) = (subscriber(1), subscriber(2));
    core.set(&other.1, Phone::Away(0x0A));
    assert_eq!(core.sends(&sender, from_phone(&other.0, 7, false)), 0);
    // Phones submit by the connection that was there first.
    let first = core.phones().connected().remove(0);
    let at = usize::from(first == "SMSC-1");
    cluster.nodes[at].kill();
    core.wait_for_connections(1);
    assert_eq!(core.sends(&sender, from_phone(&other.0, 7, true)), REJECTED);
    assert_eq!(failure_cause(&core), DUPLICATE);
}
