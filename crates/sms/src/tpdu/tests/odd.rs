//! What is not as the standard says: kept and noted on reading, refused on writing.

use super::*;
use crate::udh::{Element, HeaderError};

const HEAD: &str = "01 00 08 91 94610010 00 00";

fn of_submit(rest: &str) -> ExaminedTpdu {
    examine(TpduKind::Submit, &given(&format!("{HEAD} {rest}")))
}

#[test]
fn reading_ends_at_the_field_that_is_missing() {
    let short =
        |field: TpduField, at, wanted, left| field.fault(at, FieldProblem::Short { wanted, left });
    for (kind, hex, fault) in [
        (TpduKind::Submit, "", short(TpduField::FirstOctet, 0, 1, 0)),
        (
            TpduKind::Submit,
            "01",
            short(TpduField::MessageReference, 1, 1, 0),
        ),
        (
            TpduKind::Submit,
            "01 00 08",
            short(TpduField::DestinationAddress, 2, 2, 1),
        ),
        (
            TpduKind::Submit,
            "01 00 08 91 9461",
            short(TpduField::DestinationAddress, 4, 4, 2),
        ),
        (
            TpduKind::Submit,
            "01 00 00 80",
            short(TpduField::ProtocolIdentifier, 4, 1, 0),
        ),
        (
            TpduKind::Submit,
            "19 00 00 80 00 00 62",
            short(TpduField::ValidityPeriod, 6, 7, 1),
        ),
        (
            TpduKind::Submit,
            "01 00 00 80 00 00",
            short(TpduField::UserDataLength, 6, 1, 0),
        ),
        (
            TpduKind::Deliver,
            "04 00 80 00 00 6211",
            short(TpduField::ServiceCentreTimeStamp, 5, 7, 2),
        ),
        (
            TpduKind::Command,
            "02 00 00 02 00 00 80",
            short(TpduField::CommandDataLength, 7, 1, 0),
        ),
        (
            TpduKind::DeliverReportError,
            "00",
            short(TpduField::FailureCause, 1, 1, 0),
        ),
        (
            TpduKind::SubmitReport,
            "01",
            short(TpduField::ParameterIndicator, 1, 1, 0),
        ),
        (
            TpduKind::DeliverReport,
            "00 80",
            short(TpduField::ParameterIndicator, 2, 1, 0),
        ),
    ] {
        assert_eq!(decode(kind, &given(hex)), Err(fault), "{hex}");
    }
}

#[test]
fn another_message_type_is_named() {
    let error = decode(TpduKind::Submit, &given("04 00")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "TP-MTI at octet 0: message type 0 is not that of SMS-SUBMIT"
    );
    let read = examine(
        TpduKind::Deliver,
        &given("07 00 80 00 00 62111250035100 00"),
    );
    assert!(read.tpdu.is_ok(), "{read:?}");
    let reserved = TpduField::FirstOctet.fault(0, FieldProblem::Reserved(3));
    assert_eq!(read.notes.oddities, [reserved]);
}

#[test]
fn user_data_is_kept_as_far_as_it_goes() {
    // Octets behind TP-DCS, what was odd, the text.
    let short = |wanted, left| TpduField::UserData.fault(11, FieldProblem::Short { wanted, left });
    for (rest, fault, text) in [
        ("05 C8329BFD", short(5, 4), "Hell"),
        ("A0 C8329BFD06", short(140, 5), "Hello"),
        (
            "05 C8329BFD06 AA55",
            TpduField::Rest.fault(16, FieldProblem::LeftOver(2)),
            "Hello",
        ),
    ] {
        let read = of_submit(rest);
        assert_eq!(read.notes.oddities, [fault], "{rest}");
        let Ok(Tpdu::Submit(submit)) = read.tpdu else {
            panic!("{rest}: {:?}", read.tpdu);
        };
        assert_eq!(submit.user_data.text(0).as_deref(), Some(text), "{rest}");
    }
    // 161 septets fill 141 octets: one more than a short message has.
    let long = of_submit(&format!("A1 {}", "00".repeat(141)));
    let problem = FieldProblem::Long {
        octets: 141,
        most: 140,
    };
    assert_eq!(
        long.notes.oddities,
        [TpduField::UserData.fault(11, problem)]
    );
}

#[test]
fn a_header_that_does_not_fit_is_ignored() {
    // 9.2.3.24: the text is what is behind it, or everything when it has no end.
    let absent = HeaderError::Absent;
    let element = HeaderError::Element { id: 0, at: 1 };
    let long = HeaderError::TooLong {
        length: 127,
        there: 1,
    };
    for (hex, error, body) in [
        ("41 00 00 80 00 04 06 030003CC BEEF", element, "BEEF"),
        ("41 00 00 80 00 04 02 7F00", long, "7F00"),
        ("41 00 00 80 00 04 00", absent, ""),
    ] {
        let read = examine(TpduKind::Submit, &given(hex));
        let fault = TpduField::UserData.fault(7, FieldProblem::Header(error));
        assert_eq!(read.notes.oddities, [fault], "{hex}");
        let Ok(Tpdu::Submit(submit)) = read.tpdu else {
            panic!("{hex}: {:?}", read.tpdu);
        };
        assert!(submit.user_data.header.is_empty(), "{hex}");
        assert_eq!(submit.user_data.body, given(body), "{hex}");
    }
}

#[test]
fn odd_values_are_noted_and_kept() {
    let odd = |hex: &str, kind| {
        let read = examine(kind, &given(hex));
        assert!(read.tpdu.is_ok(), "{hex}: {read:?}");
        let [fault] = read.notes.oddities[..] else {
            panic!("{hex}: {:?}", read.notes.oddities);
        };
        fault
    };
    for (kind, hex, fault) in [
        (
            TpduKind::Submit,
            "01 00 16 91 1111111111111111111111 00 00 00",
            TpduField::DestinationAddress.fault(2, FieldProblem::Digits(22)),
        ),
        (
            TpduKind::Submit,
            "01 00 02 11 94 00 00 00",
            TpduField::DestinationAddress.fault(3, FieldProblem::TypeOfAddress(0x11)),
        ),
        (
            TpduKind::Submit,
            "01 00 04 91 1FF1 00 00 00",
            TpduField::DestinationAddress.fault(4, FieldProblem::Filler),
        ),
        (
            TpduKind::Submit,
            "09 00 00 80 00 00 05000000000000 00",
            TpduField::ValidityPeriod.fault(6, FieldProblem::ValidityFormat(5)),
        ),
        (
            TpduKind::Deliver,
            "04 00 80 00 00 62311250035100 00",
            TpduField::ServiceCentreTimeStamp.fault(5, FieldProblem::Time),
        ),
        (
            TpduKind::Deliver,
            "04 00 80 00 00 621112500351F0 00",
            TpduField::ServiceCentreTimeStamp.fault(5, FieldProblem::Time),
        ),
        (
            TpduKind::DeliverReportError,
            "00 7F 00",
            TpduField::FailureCause.fault(1, FieldProblem::Reserved(0x7F)),
        ),
        (
            TpduKind::DeliverReport,
            "00",
            TpduField::ParameterIndicator.fault(1, FieldProblem::Short { wanted: 1, left: 0 }),
        ),
        (
            TpduKind::DeliverReport,
            "00 04",
            TpduField::UserDataLength.fault(2, FieldProblem::Short { wanted: 1, left: 0 }),
        ),
    ] {
        assert_eq!(odd(hex, kind), fault, "{hex}");
    }
}

#[test]
fn reserved_bits_are_ignored() {
    for (kind, hex, plain) in [
        // Bits of the first octet, and of TP-PI with an octet that extends it.
        (
            TpduKind::Deliver,
            "14 00 80 00 00 62111250035100 00",
            "04 00 80 00 00 62111250035100 00",
        ),
        (
            TpduKind::Command,
            "9E 00 00 02 00 00 80 00",
            "02 00 00 02 00 00 80 00",
        ),
        (TpduKind::DeliverReport, "3C F9 00 7F", "00 01 7F"),
        // An enhanced validity period with an octet of flags that is not known.
        (
            TpduKind::Submit,
            "09 00 00 80 00 00 82001E00000000 00",
            "09 00 00 80 00 00 021E0000000000 00",
        ),
    ] {
        let read = decode(kind, &given(hex));
        assert!(read.is_ok(), "{hex}: {read:?}");
        assert_eq!(read, decode(kind, &given(plain)), "{hex}");
    }
}

#[test]
fn a_zone_is_an_offset_in_quarters_of_an_hour() {
    for (offset, zone) in [
        ("+00:00", Some(0)),
        ("-00:00", Some(0)),
        ("+01:00", Some(4)),
        ("+05:45", Some(23)),
        ("-03:30", Some(-14)),
        ("+19:45", Some(79)),
        ("-19:45", Some(-79)),
        ("+20:00", None),
        ("+99:00", None),
        ("+01:10", None),
        ("+01:60", None),
        ("01:00", None),
        ("+1:00", None),
        ("+0100", None),
        ("+-1:00", None),
        ("CET", None),
        ("", None),
        ("é", None),
    ] {
        assert_eq!(time::zone_of(offset), zone, "{offset}");
    }
}

#[test]
fn a_zone_behind_utc_has_its_sign_in_the_first_semi_octet() {
    // 9.2.3.11: 62 quarters of an hour behind, and the zone of 0 hours with a sign.
    for (octet, zone) in [
        ("2E", -62),
        ("26", 62),
        ("08", 0),
        ("80", 8),
        ("8F", -78),
        ("9F", -79),
    ] {
        let hex = format!("04 00 80 00 00 621112500351{octet} 00");
        let Ok(Tpdu::Deliver(deliver)) = decode(TpduKind::Deliver, &given(&hex)) else {
            panic!("{hex}");
        };
        assert_eq!(deliver.service_centre_time_stamp.zone, zone, "{octet}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of what is refused")]
fn what_the_standard_cannot_carry_is_refused() {
    let long = |length, unit, most| UnwritableReason::Long { length, unit, most };
    let to = |address| {
        Tpdu::Submit(SmsSubmit {
            destination_address: address,
            ..submit()
        })
    };
    let saying = |data_coding, body: Vec<u8>| {
        Tpdu::Submit(SmsSubmit {
            data_coding,
            user_data: UserData {
                header: UserDataHeader::default(),
                body: body.into(),
            },
            ..submit()
        })
    };
    let at = |service_centre_time_stamp| {
        Tpdu::Deliver(Deliver {
            service_centre_time_stamp,
            ..deliver()
        })
    };
    let (ton, npi) = (
        |ton| TpduAddress {
            ton,
            ..TpduAddress::default()
        },
        |npi| TpduAddress {
            npi,
            ..TpduAddress::default()
        },
    );
    let euro = gsm7::encode("Ж", Shifts::default()).unwrap_err();
    let large = |value, most| UnwritableReason::Large { value, most };
    let (to_field, text_field) = (TpduField::DestinationAddress, TpduField::UserData);
    let (period, sent) = (TpduField::ValidityPeriod, TpduField::ServiceCentreTimeStamp);
    let lasting = |period| Tpdu::Submit(submit_with(enhanced(false, period)));
    let refused = Tpdu::DeliverReport(DeliverReport {
        failure_cause: Some(0x7F),
        ..DeliverReport::default()
    });
    for (tpdu, field, reason) in [
        (
            to(TpduAddress::international("1".repeat(21))),
            to_field,
            long(21, "digits", 20),
        ),
        (
            to(TpduAddress::international("+49")),
            to_field,
            UnwritableReason::Digit('+'),
        ),
        (
            to(TpduAddress::alphanumeric("a".repeat(12))),
            to_field,
            long(12, "septets", 11),
        ),
        (
            to(TpduAddress::alphanumeric("€€€€€€")),
            to_field,
            long(12, "septets", 11),
        ),
        (
            to(TpduAddress::alphanumeric("Ж")),
            to_field,
            UnwritableReason::Character(euro),
        ),
        (to(ton(8)), to_field, large(8, 7)),
        (to(npi(16)), to_field, large(16, 15)),
        (
            saying(0, vec![0x80]),
            text_field,
            UnwritableReason::Septet(0x80),
        ),
        (
            saying(0, vec![0x20; 161]),
            text_field,
            long(141, "octets", 140),
        ),
        (
            saying(4, vec![0x20; 141]),
            text_field,
            long(141, "octets", 140),
        ),
        (
            saying(8, vec![0x20; 3]),
            text_field,
            UnwritableReason::Odd(3),
        ),
        (
            at(TimeStamp {
                month: 0,
                ..stamp(0)
            }),
            sent,
            UnwritableReason::Time,
        ),
        (
            at(TimeStamp {
                day: 31,
                ..stamp(0)
            }),
            sent,
            UnwritableReason::Time,
        ),
        (
            at(TimeStamp {
                year: 100,
                ..stamp(0)
            }),
            sent,
            UnwritableReason::Time,
        ),
        (at(stamp(80)), sent, UnwritableReason::Time),
        (at(stamp(i8::MIN)), sent, UnwritableReason::Time),
        (
            lasting(Period::Seconds(0)),
            period,
            UnwritableReason::Reserved(0),
        ),
        (
            lasting(Period::Reserved(4)),
            period,
            UnwritableReason::Reserved(4),
        ),
        (
            lasting(Period::Clock {
                hours: 1,
                minutes: 60,
                seconds: 0,
            }),
            period,
            UnwritableReason::Time,
        ),
        (
            refused,
            TpduField::FailureCause,
            UnwritableReason::Reserved(0x7F),
        ),
    ] {
        assert_eq!(
            tpdu.encode(),
            Err(TpduWriteError { field, reason }),
            "{tpdu:?}"
        );
    }
}

#[test]
fn the_longest_of_everything_fits() {
    let header = |octets: usize| {
        let mut header = UserDataHeader::default();
        let data = vec![0; octets - 3].into();
        assert!(header.push(Element { id: 0x70, data }));
        header
    };
    let to = TpduAddress::international("1".repeat(20));
    let long = |data_coding, header, body: usize| {
        Tpdu::Submit(SmsSubmit {
            destination_address: to.clone(),
            validity: Validity::Absolute(stamp(0)),
            data_coding,
            user_data: UserData {
                header,
                body: vec![0x20; body].into(),
            },
            ..SmsSubmit::default()
        })
    };
    for (tpdu, length) in [
        (long(0, UserDataHeader::default(), 160), TPDU_MAX),
        (long(4, UserDataHeader::default(), 140), TPDU_MAX),
        (long(0, header(140), 0), TPDU_MAX),
        (long(0, numbered(false), 153), TPDU_MAX),
        (long(0, numbered(true), 152), TPDU_MAX),
    ] {
        assert_eq!(tpdu.encode().unwrap().len(), length);
    }
    // 9.2.2.3: 143 octets of user data when the address is empty and nothing else is optional.
    let report = |octets: usize| {
        let user_data = UserData {
            header: UserDataHeader::default(),
            body: vec![0x20; octets * 8 / 7].into(),
        };
        let parameters = Parameters {
            user_data: Some(user_data),
            ..Parameters::default()
        };
        Tpdu::StatusReport(StatusReport {
            recipient_address: TpduAddress::default(),
            parameters,
            ..status_report()
        })
    };
    assert_eq!(report(143).encode().unwrap().len(), TPDU_MAX);
    let reason = UnwritableReason::Long {
        length: 144,
        unit: "octets",
        most: 143,
    };
    assert_eq!(
        report(144).encode(),
        Err(TpduWriteError {
            field: TpduField::UserData,
            reason
        })
    );
}
