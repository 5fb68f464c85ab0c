//! Applies the address rules of accounts, operators and GSM networks to messages: Ingest rewrites incoming messages,
//! and sessions rewrite outgoing messages each time they are sent.
//!
//! Invariant: a message that a rule has changed keeps its original addresses, and its sender sees
//! those: in receipts, and in query_sm, cancel_sm and replace_sm.

use std::borrow::Cow;

use bytes::Bytes;

use crate::actors::context::plan::Plan;
use crate::domain::rewrite::{
    AddressTooLong, CompiledRewriteRule, CompiledRewriteRules, TypedAddress, rewrite,
};
use crate::pb::{Address, Message, Original};
use crate::smpp::{AlertNotification, CommandStatus, SubmitSm};

/// Applies the rules of a message's sender. Without a match nothing changes, and no original address is
/// stored.
///
/// # Errors
/// ESME_RINVSRCADR or ESME_RINVDSTADR when the rewritten address has no room in a PDU.
pub fn incoming(plan: &Plan, sender: u32, message: &mut Message) -> Result<(), CommandStatus> {
    match plan.rewrite_in_from(sender, message.source_gsm) {
        Some(rules) => rewrite_message(rules, message),
        None => Ok(()),
    }
}

fn rewrite_message(
    rules: &CompiledRewriteRules,
    message: &mut Message,
) -> Result<(), CommandStatus> {
    let source = number(message.source_ton, message.source_npi, &message.source);
    let destination = number(message.dest_ton, message.dest_npi, &message.destination);
    let new_source = rewrite(&rules.source, &source).map_err(invalid_source)?;
    let new_destination = rewrite(&rules.destination, &destination).map_err(invalid_destination)?;
    if new_source.is_none() && new_destination.is_none() {
        return Ok(());
    }
    message.original = Some(Box::new(Original {
        source: new_source.is_some().then(|| address(source)),
        destination: new_destination.is_some().then(|| address(destination)),
    }));
    if let Some(new) = new_source {
        (message.source_ton, message.source_npi) = (new.ton.into(), new.npi.into());
        message.source = new.digits;
    }
    if let Some(new) = new_destination {
        (message.dest_ton, message.dest_npi) = (new.ton.into(), new.npi.into());
        message.destination = new.digits;
    }
    if message.destination.is_empty() {
        Err(CommandStatus::ESME_RINVDSTADR)
    } else {
        Ok(())
    }
}

/// Applies rules to a PDU that is about to be written.
///
/// # Errors
/// As [`incoming`].
pub fn outgoing(rules: &CompiledRewriteRules, pdu: &mut SubmitSm) -> Result<(), CommandStatus> {
    if rules.is_empty() {
        return Ok(());
    }
    if let Some(new) = rewrite(&rules.source, &source_in(pdu)).map_err(invalid_source)? {
        (pdu.source_addr_ton, pdu.source_addr_npi) = (new.ton, new.npi);
        pdu.source_addr = new.digits;
    }
    let destination = destination_in(pdu);
    if let Some(new) = rewrite(&rules.destination, &destination).map_err(invalid_destination)? {
        (pdu.dest_addr_ton, pdu.dest_addr_npi) = (new.ton, new.npi);
        pdu.destination_addr = new.digits;
    }
    Ok(())
}

/// A message as handsets of a network get it: with another source, where a rule says so. They are addressed by IMSI, so the
/// destination stays.
///
/// # Errors
/// As [`incoming`].
pub fn to_handset<'a>(
    rules: &CompiledRewriteRules,
    message: &'a Message,
) -> Result<Cow<'a, Message>, CommandStatus> {
    if rules.source.is_empty() {
        return Ok(Cow::Borrowed(message));
    }
    let source = number(message.source_ton, message.source_npi, &message.source);
    let new = rewrite(&rules.source, &source).map_err(invalid_source)?;
    Ok(match new {
        Some(new) => Cow::Owned(Message {
            source_ton: new.ton.into(),
            source_npi: new.npi.into(),
            source: new.digits,
            ..message.clone()
        }),
        None => Cow::Borrowed(message),
    })
}

/// Applies rules to an alert, from a subscriber to an ESME. An address that would not fit stays as it
/// is.
pub fn alert(rules: &CompiledRewriteRules, alert: &mut AlertNotification) {
    let subscriber = TypedAddress {
        ton: alert.source_addr_ton,
        npi: alert.source_addr_npi,
        digits: alert.source_addr.clone(),
    };
    if let Ok(Some(new)) = rewrite(&rules.source, &subscriber) {
        name_subscriber(alert, new);
    }
    let esme = TypedAddress {
        ton: alert.esme_addr_ton,
        npi: alert.esme_addr_npi,
        digits: alert.esme_addr.clone(),
    };
    if let Ok(Some(new)) = rewrite(&rules.destination, &esme) {
        name_esme(alert, new);
    }
}

/// Sets the addresses of an alert about the destination of a message to those that the message came
/// with.
pub fn alert_about(message: &Message, alert: &mut AlertNotification) {
    let Some(original) = &message.original else {
        return;
    };
    if original.destination.is_some() {
        name_subscriber(alert, original_destination(message));
    }
    if original.source.is_some() {
        name_esme(alert, original_source(message));
    }
}

fn name_subscriber(alert: &mut AlertNotification, number: TypedAddress) {
    (alert.source_addr_ton, alert.source_addr_npi) = (number.ton, number.npi);
    alert.source_addr = number.digits;
}

fn name_esme(alert: &mut AlertNotification, number: TypedAddress) {
    (alert.esme_addr_ton, alert.esme_addr_npi) = (number.ton, number.npi);
    alert.esme_addr = number.digits;
}

/// The destination that a PDU of this sender will have, for a look-up before Ingest gets it.
pub fn destination(plan: &Plan, sender: u32, pdu: &SubmitSm) -> Bytes {
    let Some(rules) = plan.rewrite_in(sender) else {
        return pdu.destination_addr.clone();
    };
    digits_after(&rules.destination, destination_in(pdu))
}

/// The destination that a message of a handset will have, for a look-up before Ingest gets it.
pub fn destination_of(plan: &Plan, sender: u32, message: &Message) -> Bytes {
    let Some(rules) = plan.rewrite_in_from(sender, message.source_gsm) else {
        return message.destination.clone();
    };
    let destination = number(message.dest_ton, message.dest_npi, &message.destination);
    digits_after(&rules.destination, destination)
}

/// The addresses that a message of this sender is stored with if it comes with these: source, then
/// destination. `gsm`: the network of the handset that it comes from, 0 for none.
pub fn stored_as(
    plan: &Plan,
    sender: u32,
    gsm: u32,
    source: TypedAddress,
    destination: TypedAddress,
) -> (Bytes, Bytes) {
    let Some(rules) = plan.rewrite_in_from(sender, gsm) else {
        return (source.digits, destination.digits);
    };
    (
        digits_after(&rules.source, source),
        digits_after(&rules.destination, destination),
    )
}

/// An address that does not fit stays as it is here: Ingest refuses it.
fn digits_after(rules: &[CompiledRewriteRule], given: TypedAddress) -> Bytes {
    match rewrite(rules, &given) {
        Ok(Some(new)) => new.digits,
        Ok(None) | Err(_) => given.digits,
    }
}

/// The source as its sender wrote it.
pub fn original_source(message: &Message) -> TypedAddress {
    let rewritten = message.original.as_ref();
    match rewritten.and_then(|original| original.source.as_ref()) {
        Some(address) => number(address.ton, address.npi, &address.digits),
        None => number(message.source_ton, message.source_npi, &message.source),
    }
}

/// The destination as its sender wrote it.
pub fn original_destination(message: &Message) -> TypedAddress {
    let rewritten = message.original.as_ref();
    match rewritten.and_then(|original| original.destination.as_ref()) {
        Some(address) => number(address.ton, address.npi, &address.digits),
        None => number(message.dest_ton, message.dest_npi, &message.destination),
    }
}

fn source_in(pdu: &SubmitSm) -> TypedAddress {
    TypedAddress {
        ton: pdu.source_addr_ton,
        npi: pdu.source_addr_npi,
        digits: pdu.source_addr.clone(),
    }
}

fn destination_in(pdu: &SubmitSm) -> TypedAddress {
    TypedAddress {
        ton: pdu.dest_addr_ton,
        npi: pdu.dest_addr_npi,
        digits: pdu.destination_addr.clone(),
    }
}

fn number(ton: u32, npi: u32, digits: &Bytes) -> TypedAddress {
    TypedAddress {
        ton: ton.to_le_bytes()[0],
        npi: npi.to_le_bytes()[0],
        digits: digits.clone(),
    }
}

fn address(number: TypedAddress) -> Address {
    Address {
        ton: number.ton.into(),
        npi: number.npi.into(),
        digits: number.digits,
    }
}

fn invalid_source(_: AddressTooLong) -> CommandStatus {
    CommandStatus::ESME_RINVSRCADR
}

fn invalid_destination(_: AddressTooLong) -> CommandStatus {
    CommandStatus::ESME_RINVDSTADR
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octets(text: &str) -> Bytes {
        Bytes::copy_from_slice(text.as_bytes())
    }

    /// Turns national destinations into international ones, and names into a number.
    fn rules() -> CompiledRewriteRules {
        CompiledRewriteRules {
            source: vec![CompiledRewriteRule {
                alphanumeric: Some(true),
                replace: Some(octets("447700900000")),
                set_ton: Some(1),
                ..CompiledRewriteRule::default()
            }],
            destination: vec![CompiledRewriteRule {
                prefix: octets("0"),
                strip: 1,
                add: octets("44"),
                set_ton: Some(1),
                ..CompiledRewriteRule::default()
            }],
        }
    }

    fn message(source: &str, destination: &str) -> Message {
        Message {
            source_ton: 5,
            source: octets(source),
            dest_ton: 2,
            dest_npi: 1,
            destination: octets(destination),
            ..Message::default()
        }
    }

    #[test]
    fn what_is_rewritten_is_kept_as_it_came() {
        let mut both = message("ACME", "07700900123");
        rewrite_message(&rules(), &mut both).unwrap();
        assert_eq!(
            (both.source_ton, &both.source[..]),
            (1, &b"447700900000"[..])
        );
        assert_eq!(
            (both.dest_ton, &both.destination[..]),
            (1, &b"447700900123"[..])
        );
        assert_eq!(original_source(&both), number(5, 0, &octets("ACME")));
        assert_eq!(
            original_destination(&both),
            number(2, 1, &octets("07700900123"))
        );

        let mut one = message("12345", "07700900123");
        rewrite_message(&rules(), &mut one).unwrap();
        assert_eq!(one.original.as_ref().unwrap().source, None);
        assert_eq!(original_source(&one), number(5, 0, &octets("12345")));

        let mut none = message("12345", "447700900123");
        rewrite_message(&rules(), &mut none).unwrap();
        assert_eq!(none, message("12345", "447700900123"));
    }

    #[test]
    fn a_handset_gets_another_source_and_keeps_its_number() {
        let came = message("ACME", "07700900123");
        let sent = to_handset(&rules(), &came).unwrap();
        assert_eq!(
            (sent.source_ton, &sent.source[..]),
            (1, &b"447700900000"[..])
        );
        assert_eq!(sent.destination, came.destination);
        let other = message("12345", "07700900123");
        assert_eq!(*to_handset(&rules(), &other).unwrap(), other);
    }

    #[test]
    fn what_has_no_room_is_refused_by_the_field() {
        let long = CompiledRewriteRules {
            source: vec![CompiledRewriteRule {
                add: octets("00000000000000000000"),
                ..CompiledRewriteRule::default()
            }],
            ..rules()
        };
        let refused = rewrite_message(&long, &mut message("12345", "0770"));
        assert_eq!(refused, Err(CommandStatus::ESME_RINVSRCADR));
        let refused = rewrite_message(&rules(), &mut message("1", "00000000000000000000"));
        assert_eq!(refused, Err(CommandStatus::ESME_RINVDSTADR));
        let nothing = CompiledRewriteRules {
            destination: vec![CompiledRewriteRule {
                strip: 20,
                ..CompiledRewriteRule::default()
            }],
            ..CompiledRewriteRules::default()
        };
        let refused = rewrite_message(&nothing, &mut message("1", "0770"));
        assert_eq!(refused, Err(CommandStatus::ESME_RINVDSTADR));
    }
}
