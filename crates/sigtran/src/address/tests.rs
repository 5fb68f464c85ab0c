//! Addresses: written and read again, and by octets of Q.713.

use proptest::prelude::*;

use super::*;
use crate::hex::octets;

/// Addresses that can be written.
pub(crate) fn any_address() -> impl Strategy<Value = SccpAddress> {
    let title = (0_u8..4, any::<u8>(), 0_u8..16, 0_u8..128, "[0-9A-E]{0,32}");
    let title = title.prop_map(|(form, translation_type, numbering_plan, nature, digits)| {
        let form = GlobalTitleForm::of_indicator(form + 1).unwrap();
        let has_nature = matches!(form, GlobalTitleForm::NatureOnly | GlobalTitleForm::Full);
        let has_plan = matches!(form, GlobalTitleForm::WithoutNature | GlobalTitleForm::Full);
        GlobalTitle {
            form,
            translation_type: if form == GlobalTitleForm::NatureOnly {
                0
            } else {
                translation_type
            },
            numbering_plan: if has_plan { numbering_plan } else { 0 },
            nature: if has_nature { nature } else { 0 },
            digits,
        }
    });
    let point = proptest::option::of((0..=PointCode::MAX).prop_map(PointCode));
    let parts = (
        any::<bool>(),
        point,
        any::<u8>(),
        proptest::option::of(title),
    );
    parts.prop_map(|(by_title, point_code, ssn, global_title)| {
        let is_nothing = point_code.is_none() && ssn == ssn::NONE;
        let routing = if by_title && (global_title.is_some() || is_nothing) {
            SccpRouting::GlobalTitle
        } else {
            SccpRouting::Ssn
        };
        SccpAddress {
            routing,
            point_code,
            ssn,
            global_title,
        }
    })
}

#[test]
fn addresses_are_read_and_written() {
    // Q.713 §3.4: the indicator, and what it announces.
    let title = || GlobalTitle::international("49170123", 0);
    let by_title = SccpAddress::of_title(title(), ssn::HLR);
    let by_point = SccpAddress::of_point(PointCode(187), ssn::MSC);
    let both = SccpAddress {
        point_code: Some(PointCode(0x3FFF)),
        ..by_title.clone()
    };
    let only_ssn = SccpAddress {
        point_code: None,
        ..by_point.clone()
    };
    let unknown = SccpAddress {
        routing: SccpRouting::GlobalTitle,
        point_code: None,
        ssn: ssn::NONE,
        global_title: None,
    };
    for (hex, expected, text) in [
        ("12 06 00 12 04 94 71 10 32", by_title, "+49170123 SSN 6"),
        ("43 BB 00 08", by_point, "0.23.3 SSN 8"),
        (
            "13 FF 3F 06 00 12 04 94 71 10 32",
            both,
            "+49170123 (7.255.7) SSN 6",
        ),
        ("42 08", only_ssn, "unknown SSN 8"),
        ("00", unknown, "unknown"),
    ] {
        let read = SccpAddress::decode(&octets(hex)).unwrap();
        assert_eq!(read, expected, "{hex}");
        assert_eq!(expected.encode().unwrap(), octets(hex), "{text}");
        assert_eq!(expected.to_string(), text);
    }
}

#[test]
fn addresses_that_others_write_are_taken() {
    let decode = |hex| SccpAddress::decode(&octets(hex)).unwrap();
    // The national bit; spare bits of the point code; octets behind.
    assert_eq!(decode("C3 BB C0 08"), decode("43 BB 00 08"));
    assert_eq!(decode("43 BB 00 08 FF FF"), decode("43 BB 00 08"));
    // Routing by a title that is not there.
    assert_eq!(decode("02 08"), decode("42 08"));
}

#[test]
fn what_is_no_address_is_refused() {
    let problem = |hex| SccpAddress::decode(&octets(hex)).unwrap_err();
    for hex in ["", "01", "01 BB", "02", "43 BB 00", "12 06", "12 06 00 12"] {
        assert_eq!(problem(hex), SccpAddressProblem::CutShort, "{hex:?}");
    }
    assert_eq!(problem("16 06 00"), SccpAddressProblem::Form(5));
    let write = |address: SccpAddress| address.encode().unwrap_err();
    let far = SccpAddress::of_point(PointCode(0x4000), 8);
    assert_eq!(write(far), SccpAddressProblem::PointCode(PointCode(0x4000)));
    let without_title = SccpAddress {
        routing: SccpRouting::GlobalTitle,
        ..SccpAddress::of_point(PointCode(1), 8)
    };
    assert_eq!(write(without_title), SccpAddressProblem::NoTitle);
}

proptest! {
    #[test]
    fn what_is_written_is_read(address in any_address()) {
        let octets = address.encode().unwrap();
        prop_assert_eq!(SccpAddress::decode(&octets).unwrap(), address);
    }

    #[test]
    fn what_is_read_can_be_written_and_reads_as_the_same(octets in any::<Vec<u8>>()) {
        if let Ok(address) = SccpAddress::decode(&octets) {
            let again = address.encode().unwrap();
            prop_assert_eq!(SccpAddress::decode(&again).unwrap(), address);
        }
    }

    #[test]
    fn an_independent_codec_reads_what_is_written(address in any_address()) {
        let octets = address.encode().unwrap();
        let theirs = ::sccp::SccpAddress::decode(&octets).unwrap();
        prop_assert_eq!(theirs.route_on_ssn, address.routing == SccpRouting::Ssn);
        prop_assert_eq!(theirs.point_code.map(u32::from), address.point_code.map(|point| point.0));
        prop_assert_eq!(theirs.ssn.as_ref().map_or(0, |ssn| ssn.value()), address.ssn);
        let digits = theirs.global_title.digits().map(|digits| {
            let ours = |digit| match digit {
                '*' => 'A',
                '#' => 'B',
                'a' => 'C',
                'b' => 'D',
                'c' => 'E',
                other => other,
            };
            digits.chars().map(ours).collect::<String>()
        });
        prop_assert_eq!(digits.as_deref(), address.digits());
        prop_assert_eq!(theirs.encode().unwrap(), octets);
    }
}
