//! Rules against addresses with the TON and NPI of the standard (SMPP 3.4 §5.2.5, §5.2.6).

use proptest::prelude::*;

use super::*;

/// TON.
const UNKNOWN: u8 = 0;
const INTERNATIONAL: u8 = 1;
const NATIONAL: u8 = 2;
const NETWORK: u8 = 3;
const SUBSCRIBER: u8 = 4;
const ALPHANUMERIC: u8 = 5;
const ABBREVIATED: u8 = 6;
/// NPI.
const ISDN: u8 = 1;

fn number(ton: u8, npi: u8, digits: &str) -> TypedAddress {
    TypedAddress {
        ton,
        npi,
        digits: Bytes::copy_from_slice(digits.as_bytes()),
    }
}

fn octets(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

/// Short codes apart, everything becomes an international number of the United Kingdom.
fn to_international() -> Vec<CompiledRewriteRule> {
    let international = CompiledRewriteRule {
        set_ton: Some(INTERNATIONAL),
        set_npi: Some(ISDN),
        ..CompiledRewriteRule::default()
    };
    vec![
        CompiledRewriteRule {
            max_length: Some(6),
            alphanumeric: Some(false),
            set_ton: Some(NETWORK),
            set_npi: Some(UNKNOWN),
            ..CompiledRewriteRule::default()
        },
        CompiledRewriteRule {
            alphanumeric: Some(true),
            set_ton: Some(ALPHANUMERIC),
            set_npi: Some(UNKNOWN),
            ..CompiledRewriteRule::default()
        },
        CompiledRewriteRule {
            prefix: octets("+"),
            strip: 1,
            ..international.clone()
        },
        CompiledRewriteRule {
            prefix: octets("00"),
            strip: 2,
            ..international.clone()
        },
        CompiledRewriteRule {
            prefix: octets("0"),
            strip: 1,
            add: octets("44"),
            ..international.clone()
        },
        CompiledRewriteRule {
            ton: Some(NATIONAL),
            add: octets("44"),
            ..international.clone()
        },
        CompiledRewriteRule {
            ton: Some(SUBSCRIBER),
            min_length: Some(7),
            add: octets("4420"),
            ..international
        },
    ]
}

#[test]
fn national_forms_become_international() {
    let cases = [
        // Already so.
        ((INTERNATIONAL, ISDN, "447700900123"), None),
        ((UNKNOWN, UNKNOWN, "447700900123"), None),
        (
            (UNKNOWN, UNKNOWN, "+447700900123"),
            Some((INTERNATIONAL, ISDN, "447700900123")),
        ),
        (
            (UNKNOWN, ISDN, "00447700900123"),
            Some((INTERNATIONAL, ISDN, "447700900123")),
        ),
        (
            (NATIONAL, ISDN, "07700900123"),
            Some((INTERNATIONAL, ISDN, "447700900123")),
        ),
        (
            (NATIONAL, ISDN, "7700900123"),
            Some((INTERNATIONAL, ISDN, "447700900123")),
        ),
        (
            (SUBSCRIBER, ISDN, "79460000"),
            Some((INTERNATIONAL, ISDN, "442079460000")),
        ),
        // Short codes are not national numbers.
        (
            (UNKNOWN, UNKNOWN, "12345"),
            Some((NETWORK, UNKNOWN, "12345")),
        ),
        (
            (ABBREVIATED, ISDN, "0800"),
            Some((NETWORK, UNKNOWN, "0800")),
        ),
        ((NETWORK, UNKNOWN, "12345"), None),
        // Names stay what they are.
        (
            (UNKNOWN, UNKNOWN, "ACME"),
            Some((ALPHANUMERIC, UNKNOWN, "ACME")),
        ),
        ((ALPHANUMERIC, UNKNOWN, "0ACME Ltd"), None),
        ((UNKNOWN, UNKNOWN, ""), Some((NETWORK, UNKNOWN, ""))),
    ];
    let rules = to_international();
    for ((ton, npi, digits), expected) in cases {
        let given = number(ton, npi, digits);
        let expected = expected.map(|(ton, npi, digits)| number(ton, npi, digits));
        assert_eq!(rewrite(&rules, &given), Ok(expected), "{given:?}");
    }
}

#[test]
fn international_becomes_national_again() {
    let rules = [CompiledRewriteRule {
        ton: Some(INTERNATIONAL),
        npi: Some(ISDN),
        prefix: octets("44"),
        min_length: Some(11),
        strip: 2,
        add: octets("0"),
        set_ton: Some(NATIONAL),
        ..CompiledRewriteRule::default()
    }];
    let rewritten = rewrite(&rules, &number(INTERNATIONAL, ISDN, "447700900123"));
    assert_eq!(rewritten, Ok(Some(number(NATIONAL, ISDN, "07700900123"))));
    for other in [
        number(UNKNOWN, ISDN, "447700900123"),
        number(INTERNATIONAL, UNKNOWN, "447700900123"),
        number(INTERNATIONAL, ISDN, "4912345678901"),
        number(INTERNATIONAL, ISDN, "4477009001"),
    ] {
        assert_eq!(rewrite(&rules, &other), Ok(None), "{other:?}");
    }
}

#[test]
fn a_fixed_sender_takes_the_place_of_names_and_of_nothing() {
    let number_of_ours = |rule: CompiledRewriteRule| CompiledRewriteRule {
        replace: Some(octets("447700900000")),
        set_ton: Some(INTERNATIONAL),
        set_npi: Some(ISDN),
        ..rule
    };
    let rules = [
        number_of_ours(CompiledRewriteRule {
            alphanumeric: Some(true),
            ..CompiledRewriteRule::default()
        }),
        number_of_ours(CompiledRewriteRule {
            max_length: Some(0),
            ..CompiledRewriteRule::default()
        }),
    ];
    let ours = number(INTERNATIONAL, ISDN, "447700900000");
    for given in [
        number(ALPHANUMERIC, UNKNOWN, "ACME"),
        number(UNKNOWN, UNKNOWN, "24x7"),
        number(UNKNOWN, UNKNOWN, ""),
    ] {
        assert_eq!(rewrite(&rules, &given), Ok(Some(ours.clone())), "{given:?}");
    }
    assert_eq!(
        rewrite(&rules, &number(UNKNOWN, UNKNOWN, "+4477")),
        Ok(None)
    );
}

#[test]
fn the_first_rule_that_matches_is_the_only_one() {
    let rules = [
        CompiledRewriteRule {
            prefix: octets("08"),
            ..CompiledRewriteRule::default()
        },
        CompiledRewriteRule {
            prefix: octets("0"),
            strip: 1,
            ..CompiledRewriteRule::default()
        },
    ];
    assert_eq!(rewrite(&rules, &number(UNKNOWN, UNKNOWN, "0800")), Ok(None));
    let once = rewrite(&rules, &number(UNKNOWN, UNKNOWN, "0077"));
    assert_eq!(once, Ok(Some(number(UNKNOWN, UNKNOWN, "077"))));
}

#[test]
fn what_has_no_room_is_refused() {
    let rules = [CompiledRewriteRule {
        add: octets("00"),
        ..CompiledRewriteRule::default()
    }];
    let fits = rewrite(&rules, &number(UNKNOWN, UNKNOWN, "123456789012345678"));
    assert_eq!(fits.unwrap().unwrap().digits.len(), MAX_ADDRESS);
    let beyond = rewrite(&rules, &number(UNKNOWN, UNKNOWN, "1234567890123456789"));
    assert_eq!(beyond, Err(AddressTooLong(21)));
}

fn any_octets(most: usize) -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), 0..=most).prop_map(Bytes::from)
}

prop_compose! {
    fn any_rule()(
        (ton, npi, set_ton, set_npi) in any::<(Option<u8>, Option<u8>, Option<u8>, Option<u8>)>(),
        (min_length, max_length) in any::<(Option<usize>, Option<usize>)>(),
        alphanumeric in any::<Option<bool>>(),
        prefix in any_octets(2),
        replace in prop::option::of(any_octets(30)),
        strip in prop_oneof![0..30usize, Just(usize::MAX)],
        add in any_octets(30),
    ) -> CompiledRewriteRule {
        CompiledRewriteRule {
            ton, npi, prefix, min_length, max_length, alphanumeric,
            replace, strip, add, set_ton, set_npi,
        }
    }
}

proptest! {
    #[test]
    fn whatever_the_rules_the_result_fits_a_pdu(
        rules in prop::collection::vec(any_rule(), 0..5),
        ton in 0..8u8,
        npi in 0..19u8,
        digits in any_octets(64),
    ) {
        let given = TypedAddress { ton, npi, digits };
        match rewrite(&rules, &given) {
            Ok(Some(rewritten)) => {
                prop_assert!(rewritten.digits.len() <= MAX_ADDRESS);
                prop_assert_ne!(rewritten, given);
            }
            Ok(None) => {}
            Err(AddressTooLong(length)) => prop_assert!(length > MAX_ADDRESS),
        }
    }
}
