//! What is not as the standard says: kept and noted on reading, refused on writing.

use super::*;
use crate::udh::{Element, HeaderError};

const HEAD: &str = "01 00 08 91 94610010 00 00";

fn of_submit(rest: &str) -> Examined {
    examine(Kind::Submit, &given(&format!("{HEAD} {rest}")))
}

#[test]
fn reading_ends_at_the_field_that_is_missing() {
    let short = |field: Field, at, wanted, left| field.fault(at, Problem::Short { wanted, left });
    for (kind, hex, fault) in [
        (Kind::Submit, "", short(Field::FirstOctet, 0, 1, 0)),
        (Kind::Submit, "01", short(Field::MessageReference, 1, 1, 0)),
        (
            Kind::Submit,
            "01 00 08",
            short(Field::DestinationAddress, 2, 2, 1),
        ),
        (
            Kind::Submit,
            "01 00 08 91 9461",
            short(Field::DestinationAddress, 4, 4, 2),
        ),
        (
            Kind::Submit,
            "01 00 00 80",
            short(Field::ProtocolIdentifier, 4, 1, 0),
        ),
        (
            Kind::Submit,
            "19 00 00 80 00 00 62",
            short(Field::ValidityPeriod, 6, 7, 1),
        ),
        (
            Kind::Submit,
            "01 00 00 80 00 00",
            short(Field::UserDataLength, 6, 1, 0),
        ),
        (
            Kind::Deliver,
            "04 00 80 00 00 6211",
            short(Field::ServiceCentreTimeStamp, 5, 7, 2),
        ),
        (
            Kind::Command,
            "02 00 00 02 00 00 80",
            short(Field::CommandDataLength, 7, 1, 0),
        ),
        (
            Kind::DeliverReportError,
            "00",
            short(Field::FailureCause, 1, 1, 0),
        ),
        (
            Kind::SubmitReport,
            "01",
            short(Field::ParameterIndicator, 1, 1, 0),
        ),
        (
            Kind::DeliverReport,
            "00 80",
            short(Field::ParameterIndicator, 2, 1, 0),
        ),
    ] {
        assert_eq!(decode(kind, &given(hex)), Err(fault), "{hex}");
    }
}

#[test]
fn another_message_type_is_named() {
    let error = decode(Kind::Submit, &given("04 00")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "TP-MTI at octet 0: message type 0 is not that of SMS-SUBMIT"
    );
    let read = examine(Kind::Deliver, &given("07 00 80 00 00 62111250035100 00"));
    assert!(read.tpdu.is_ok(), "{read:?}");
    let reserved = Field::FirstOctet.fault(0, Problem::Reserved(3));
    assert_eq!(read.notes.oddities, [reserved]);
}

#[test]
fn user_data_is_kept_as_far_as_it_goes() {
    // Octets behind TP-DCS, what was odd, the text.
    let short = |wanted, left| Field::UserData.fault(11, Problem::Short { wanted, left });
    for (rest, fault, text) in [
        ("05 C8329BFD", short(5, 4), "Hell"),
        ("A0 C8329BFD06", short(140, 5), "Hello"),
        (
            "05 C8329BFD06 AA55",
            Field::Rest.fault(16, Problem::LeftOver(2)),
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
    let problem = Problem::Long {
        octets: 141,
        most: 140,
    };
    assert_eq!(long.notes.oddities, [Field::UserData.fault(11, problem)]);
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
        let read = examine(Kind::Submit, &given(hex));
        let fault = Field::UserData.fault(7, Problem::Header(error));
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
            Kind::Submit,
            "01 00 16 91 1111111111111111111111 00 00 00",
            Field::DestinationAddress.fault(2, Problem::Digits(22)),
        ),
        (
            Kind::Submit,
            "01 00 02 11 94 00 00 00",
            Field::DestinationAddress.fault(3, Problem::TypeOfAddress(0x11)),
        ),
        (
            Kind::Submit,
            "01 00 04 91 1FF1 00 00 00",
            Field::DestinationAddress.fault(4, Problem::Filler),
        ),
        (
            Kind::Submit,
            "09 00 00 80 00 00 05000000000000 00",
            Field::ValidityPeriod.fault(6, Problem::ValidityFormat(5)),
        ),
        (
            Kind::Deliver,
            "04 00 80 00 00 62311250035100 00",
            Field::ServiceCentreTimeStamp.fault(5, Problem::Time),
        ),
        (
            Kind::Deliver,
            "04 00 80 00 00 621112500351F0 00",
            Field::ServiceCentreTimeStamp.fault(5, Problem::Time),
        ),
        (
            Kind::DeliverReportError,
            "00 7F 00",
            Field::FailureCause.fault(1, Problem::Reserved(0x7F)),
        ),
        (
            Kind::DeliverReport,
            "00",
            Field::ParameterIndicator.fault(1, Problem::Short { wanted: 1, left: 0 }),
        ),
        (
            Kind::DeliverReport,
            "00 04",
            Field::UserDataLength.fault(2, Problem::Short { wanted: 1, left: 0 }),
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
            Kind::Deliver,
            "14 00 80 00 00 62111250035100 00",
            "04 00 80 00 00 62111250035100 00",
        ),
        (
            Kind::Command,
            "9E 00 00 02 00 00 80 00",
            "02 00 00 02 00 00 80 00",
        ),
        (Kind::DeliverReport, "3C F9 00 7F", "00 01 7F"),
        // An enhanced validity period with an octet of flags that is not known.
        (
            Kind::Submit,
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
        let Ok(Tpdu::Deliver(deliver)) = decode(Kind::Deliver, &given(&hex)) else {
            panic!("{hex}");
        };
        assert_eq!(deliver.service_centre_time_stamp.zone, zone, "{octet}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of what is refused")]
fn what_the_standard_cannot_carry_is_refused() {
    let long = |length, unit, most| Reason::Long { length, unit, most };
    let to = |address| {
        Tpdu::Submit(Submit {
            destination_address: address,
            ..submit()
        })
    };
    let saying = |data_coding, body: Vec<u8>| {
        Tpdu::Submit(Submit {
            data_coding,
            user_data: UserData {
                header: Header::default(),
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
        |ton| Address {
            ton,
            ..Address::default()
        },
        |npi| Address {
            npi,
            ..Address::default()
        },
    );
    let euro = gsm7::encode("Ж", Shifts::default()).unwrap_err();
    let large = |value, most| Reason::Large { value, most };
    let (to_field, text_field) = (Field::DestinationAddress, Field::UserData);
    let (period, sent) = (Field::ValidityPeriod, Field::ServiceCentreTimeStamp);
    let lasting = |period| Tpdu::Submit(submit_with(enhanced(false, period)));
    let refused = Tpdu::DeliverReport(DeliverReport {
        failure_cause: Some(0x7F),
        ..DeliverReport::default()
    });
    for (tpdu, field, reason) in [
        (
            to(Address::international("1".repeat(21))),
            to_field,
            long(21, "digits", 20),
        ),
        (
            to(Address::international("+49")),
            to_field,
            Reason::Digit('+'),
        ),
        (
            to(Address::alphanumeric("a".repeat(12))),
            to_field,
            long(12, "septets", 11),
        ),
        (
            to(Address::alphanumeric("€€€€€€")),
            to_field,
            long(12, "septets", 11),
        ),
        (
            to(Address::alphanumeric("Ж")),
            to_field,
            Reason::Character(euro),
        ),
        (to(ton(8)), to_field, large(8, 7)),
        (to(npi(16)), to_field, large(16, 15)),
        (saying(0, vec![0x80]), text_field, Reason::Septet(0x80)),
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
        (saying(8, vec![0x20; 3]), text_field, Reason::Odd(3)),
        (
            at(TimeStamp {
                month: 0,
                ..stamp(0)
            }),
            sent,
            Reason::Time,
        ),
        (
            at(TimeStamp {
                day: 31,
                ..stamp(0)
            }),
            sent,
            Reason::Time,
        ),
        (
            at(TimeStamp {
                year: 100,
                ..stamp(0)
            }),
            sent,
            Reason::Time,
        ),
        (at(stamp(80)), sent, Reason::Time),
        (at(stamp(i8::MIN)), sent, Reason::Time),
        (lasting(Period::Seconds(0)), period, Reason::Reserved(0)),
        (lasting(Period::Reserved(4)), period, Reason::Reserved(4)),
        (
            lasting(Period::Clock {
                hours: 1,
                minutes: 60,
                seconds: 0,
            }),
            period,
            Reason::Time,
        ),
        (refused, Field::FailureCause, Reason::Reserved(0x7F)),
    ] {
        assert_eq!(tpdu.encode(), Err(WriteError { field, reason }), "{tpdu:?}");
    }
}

#[test]
fn the_longest_of_everything_fits() {
    let header = |octets: usize| {
        let mut header = Header::default();
        let data = vec![0; octets - 3].into();
        assert!(header.push(Element { id: 0x70, data }));
        header
    };
    let to = Address::international("1".repeat(20));
    let long = |data_coding, header, body: usize| {
        Tpdu::Submit(Submit {
            destination_address: to.clone(),
            validity: Validity::Absolute(stamp(0)),
            data_coding,
            user_data: UserData {
                header,
                body: vec![0x20; body].into(),
            },
            ..Submit::default()
        })
    };
    for (tpdu, length) in [
        (long(0, Header::default(), 160), TPDU_MAX),
        (long(4, Header::default(), 140), TPDU_MAX),
        (long(0, header(140), 0), TPDU_MAX),
        (long(0, numbered(false), 153), TPDU_MAX),
        (long(0, numbered(true), 152), TPDU_MAX),
    ] {
        assert_eq!(tpdu.encode().unwrap().len(), length);
    }
    // 9.2.2.3: 143 octets of user data when the address is empty and nothing else is optional.
    let report = |octets: usize| {
        let user_data = UserData {
            header: Header::default(),
            body: vec![0x20; octets * 8 / 7].into(),
        };
        let parameters = Parameters {
            user_data: Some(user_data),
            ..Parameters::default()
        };
        Tpdu::StatusReport(StatusReport {
            recipient_address: Address::default(),
            parameters,
            ..status_report()
        })
    };
    assert_eq!(report(143).encode().unwrap().len(), TPDU_MAX);
    let reason = Reason::Long {
        length: 144,
        unit: "octets",
        most: 143,
    };
    assert_eq!(
        report(144).encode(),
        Err(WriteError {
            field: Field::UserData,
            reason
        })
    );
}
