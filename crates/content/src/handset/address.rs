//! Addresses of SMPP as addresses of TPDUs, and back (3GPP TS 23.040 §9.1.2.5; SMPP 3.4 §5.2.5, §5.2.6).
//!
//! Types of number are the same in both. Names are octets of UTF-8 on the side of SMPP, as everywhere in the SMSC.

use bytes::Bytes;

use super::HandsetRefusal;
use smsc_config::UnrepresentableRule;
use smsc_domain::rewrite::TypedAddress;
use smsc_sms::convert::{self, Alphabet};
use smsc_sms::tpdu::TpduAddress;
use smsc_sms::tpdu::address::{ALPHANUMERIC, INTERNATIONAL, ISDN};
use smsc_sms::{Shifts, gsm7};

/// The largest type of number and numbering plan of a TPDU.
const TON_MAX: u32 = 7;
const NPI_MAX: u32 = 15;
const TON_UNKNOWN: u8 = 0;

/// An address of a TPDU that was made of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    pub address: TpduAddress,
    /// Characters of a name that are others now.
    pub changed: usize,
}

/// The address of a TPDU.
///
/// A number with a plus is an international one. What is no number, whatever its type says, is a name: a handset could
/// not show it otherwise. A name has characters of the 7-bit alphabet only: with the policies `ucs2` and
/// `transliterate` others are written with those it has, with `replace` as `?`.
///
/// # Errors
/// The type of number is none of a TPDU, or the policy refuses a character.
pub fn of_smpp(
    ton: u32,
    npi: u32,
    octets: &[u8],
    policy: UnrepresentableRule,
) -> Result<Made, HandsetRefusal> {
    let own_ton = match u8::try_from(ton) {
        Ok(own) if ton <= TON_MAX => own,
        _ => return Err(HandsetRefusal::Numbering(ton)),
    };
    let text = text_of(octets);
    let (own_ton, digits) = match text.strip_prefix('+') {
        Some(digits) if own_ton == TON_UNKNOWN || own_ton == INTERNATIONAL => {
            (INTERNATIONAL, digits)
        }
        _ => (own_ton, &text[..]),
    };
    if own_ton == ALPHANUMERIC || !is_number(digits, own_ton) {
        return name(&text, policy);
    }
    Ok(Made {
        address: TpduAddress {
            ton: own_ton,
            // Plans above 15 are of networks that no handset is in (SMPP 3.4 §5.2.6).
            npi: u8::try_from(npi)
                .ok()
                .filter(|_| npi <= NPI_MAX)
                .unwrap_or(0),
            text: digits.to_owned(),
        },
        changed: 0,
    })
}

/// TON, NPI and octets of an address of a TPDU.
#[must_use]
pub fn of_tpdu(address: &TpduAddress) -> TypedAddress {
    TypedAddress {
        ton: address.ton,
        npi: address.npi,
        digits: Bytes::copy_from_slice(address.text.as_bytes()),
    }
}

/// A subscriber's number in international form.
#[must_use]
pub fn of_subscriber(msisdn: &str) -> TypedAddress {
    TypedAddress {
        ton: INTERNATIONAL,
        npi: ISDN,
        digits: Bytes::copy_from_slice(msisdn.as_bytes()),
    }
}

fn name(text: &str, policy: UnrepresentableRule) -> Result<Made, HandsetRefusal> {
    let unchanged = |text: &str| Made {
        address: TpduAddress::alphanumeric(text),
        changed: 0,
    };
    let Err(error) = gsm7::encode(text, Shifts::default()) else {
        return Ok(unchanged(text));
    };
    let policy = match policy {
        UnrepresentableRule::Refuse => {
            let character = error.character;
            return Err(crate::peer::divide::DivideRefusal::Character { character }.into());
        }
        UnrepresentableRule::Replace => convert::SubstitutionPolicy::Replace,
        UnrepresentableRule::Ucs2 | UnrepresentableRule::Transliterate => {
            convert::SubstitutionPolicy::Transliterate
        }
    };
    let forced = convert::force(text, Alphabet::Gsm, Shifts::default(), policy);
    let written = gsm7::decode(&forced.octets, Shifts::default());
    Ok(Made {
        changed: forced.changed,
        ..unchanged(&written)
    })
}

/// Octets that are no UTF-8 are Latin-1, so that each is a character.
fn text_of(octets: &[u8]) -> String {
    match std::str::from_utf8(octets) {
        Ok(text) => text.to_owned(),
        Err(_) => octets.iter().copied().map(char::from).collect(),
    }
}

/// Whether semi-octets can say it (§9.1.2.3). Letters alone are a name where nothing says that they are a number.
fn is_number(text: &str, ton: u8) -> bool {
    let is_letter = |character: char| matches!(character, 'a'..='c');
    let is_digit = |character: char| character.is_ascii_digit() || "*#".contains(character);
    let is_said = ton != TON_UNKNOWN || text.is_empty();
    text.chars().all(|one| is_digit(one) || is_letter(one)) && (is_said || text.contains(is_digit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn made(
        ton: u32,
        octets: &[u8],
        policy: UnrepresentableRule,
    ) -> Result<(u8, String, usize), HandsetRefusal> {
        let made = of_smpp(ton, 1, octets, policy)?;
        Ok((made.address.ton, made.address.text, made.changed))
    }

    #[test]
    fn numbers_stay_numbers_and_the_rest_is_a_name() {
        let ucs2 = UnrepresentableRule::Ucs2;
        for (ton, octets, expected, text) in [
            (1, &b"447700900123"[..], 1, "447700900123"),
            (1, b"+447700900123", 1, "447700900123"),
            (0, b"+447700900123", 1, "447700900123"),
            (2, b"07700900123", 2, "07700900123"),
            (0, b"12345", 0, "12345"),
            (3, b"*100#", 3, "*100#"),
            (1, b"", 1, ""),
            (5, b"Bank", 5, "Bank"),
            (5, b"12345", 5, "12345"),
            // Letters, whatever the type says.
            (0, b"Bank", 5, "Bank"),
            (0, b"abc", 5, "abc"),
            (6, b"abc", 6, "abc"),
            (2, b"+4477", 5, "+4477"),
            // Latin-1, because it is no UTF-8.
            (5, b"Caf\xe9", 5, "Café"),
        ] {
            let found = made(ton, octets, ucs2);
            assert_eq!(found, Ok((expected, text.to_owned(), 0)), "{octets:?}");
        }
        assert_eq!(made(8, b"1", ucs2), Err(HandsetRefusal::Numbering(8)));
        let plan = of_smpp(1, 18, b"1", ucs2).unwrap().address.npi;
        assert_eq!(plan, 0, "WAP is no plan of a TPDU");
    }

    #[test]
    fn a_name_is_written_in_the_7_bit_alphabet_or_refused() {
        let name = "Žižka".as_bytes();
        let found = |policy| made(5, name, policy);
        let changed = Ok((5, "Zizka".to_owned(), 2));
        assert_eq!(found(UnrepresentableRule::Ucs2), changed);
        assert_eq!(found(UnrepresentableRule::Transliterate), changed);
        let replaced = Ok((5, "?i?ka".to_owned(), 2));
        assert_eq!(found(UnrepresentableRule::Replace), replaced);
        let refused = found(UnrepresentableRule::Refuse).unwrap_err().to_string();
        assert_eq!(refused, "its alphabet does not have 'Ž'");
    }

    proptest! {
        #[test]
        fn an_address_of_a_tpdu_comes_back(ton in 0_u8..=7, npi in 0_u8..=15, digits in "[0-9*#]{0,20}", name in "[A-Za-z@£Δ_ !?0-9à]{0,11}") {
            let address = match ton {
                ALPHANUMERIC => TpduAddress::alphanumeric(name),
                _ => TpduAddress { ton, npi, text: digits },
            };
            let TypedAddress { ton, npi, digits } = of_tpdu(&address);
            let made = of_smpp(ton.into(), npi.into(), &digits, UnrepresentableRule::Refuse).unwrap();
            prop_assert_eq!(made, Made { address, changed: 0 });
        }

        #[test]
        fn any_octets_are_an_address_or_refused(ton in 0_u32..=9, npi in 0_u32..=20, octets in prop::collection::vec(any::<u8>(), 0..21)) {
            let made = of_smpp(ton, npi, &octets, UnrepresentableRule::Ucs2);
            prop_assert_eq!(made.is_err(), ton > 7);
        }
    }
}
