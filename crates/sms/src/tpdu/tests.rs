//! Tables of TPDUs with the section of the standard; what is odd, refused and undone is in `tests/`.

use bytes::Bytes;

use super::*;
use crate::hex::octets;
use crate::udh::{Concat, UserDataHeader};
use crate::{Shifts, gsm7, ucs2};

mod odd;
mod properties;
mod readings;
mod vectors;

fn given(hex: &str) -> Bytes {
    octets(hex).into()
}

/// User data in the 7-bit alphabet.
fn septets(text: &str) -> UserData {
    UserData {
        header: UserDataHeader::default(),
        body: gsm7::encode(text, Shifts::default()).unwrap().into(),
    }
}

fn stamp(zone: i8) -> TimeStamp {
    TimeStamp {
        year: 26,
        month: 11,
        day: 21,
        hour: 5,
        minute: 30,
        second: 15,
        zone,
    }
}

fn numbered(wide: bool) -> UserDataHeader {
    let mut header = UserDataHeader::default();
    assert!(header.set_concat(Some(Concat {
        reference: 0xCC,
        wide,
        total: 2,
        sequence: 1,
    })));
    header
}

fn submit() -> SmsSubmit {
    SmsSubmit {
        destination_address: TpduAddress::international("49160001"),
        user_data: septets("Hello"),
        ..SmsSubmit::default()
    }
}

fn deliver() -> Deliver {
    Deliver {
        originating_address: TpduAddress::international("49160001"),
        service_centre_time_stamp: stamp(0),
        user_data: septets("Hello"),
        ..Deliver::default()
    }
}

fn status_report() -> StatusReport {
    StatusReport {
        message_reference: 0x2A,
        recipient_address: TpduAddress::international("49160001"),
        service_centre_time_stamp: stamp(0),
        discharge_time: stamp(0),
        status: 0x45,
        ..StatusReport::default()
    }
}

fn submit_with(validity: Validity) -> SmsSubmit {
    SmsSubmit {
        validity,
        ..submit()
    }
}

fn enhanced(single_shot: bool, period: Period) -> Validity {
    Validity::Enhanced(Enhanced {
        single_shot,
        period,
    })
}

/// What it shows, with the section; the octets; the message.
#[expect(clippy::too_many_lines, reason = "a table of TPDUs")]
fn table() -> Vec<(&'static str, &'static str, Tpdu)> {
    let all_flags = SmsSubmit {
        reject_duplicates: true,
        status_report_request: true,
        reply_path: true,
        message_reference: 0xFE,
        protocol_identifier: 0x41,
        data_coding: 0x10,
        ..submit()
    };
    vec![
        (
            "9.2.2.2 SMS-SUBMIT, no validity period",
            "01 00 08 91 94610010 00 00 05 C8329BFD06",
            Tpdu::Submit(submit()),
        ),
        (
            "9.2.2.2 TP-RD, TP-SRR, TP-RP, TP-PID, TP-DCS with a class",
            "A5 FE 08 91 94610010 41 10 05 C8329BFD06",
            Tpdu::Submit(all_flags),
        ),
        (
            "9.2.3.12.1 relative, 4 days",
            "11 00 08 91 94610010 00 00 AA 05 C8329BFD06",
            Tpdu::Submit(submit_with(Validity::Relative(0xAA))),
        ),
        (
            "9.2.3.12.2 absolute, behind UTC by 5 hours",
            "19 00 08 91 94610010 00 00 6211125003510A 05 C8329BFD06",
            Tpdu::Submit(submit_with(Validity::Absolute(stamp(-20)))),
        ),
        (
            "9.2.3.12.3 enhanced, nothing but a single attempt",
            "09 00 08 91 94610010 00 00 40000000000000 05 C8329BFD06",
            Tpdu::Submit(submit_with(enhanced(true, Period::Absent))),
        ),
        (
            "9.2.3.12.3 enhanced, relative",
            "09 00 08 91 94610010 00 00 01AA0000000000 05 C8329BFD06",
            Tpdu::Submit(submit_with(enhanced(false, Period::Relative(0xAA)))),
        ),
        (
            "9.2.3.12.3 enhanced, seconds",
            "09 00 08 91 94610010 00 00 421E0000000000 05 C8329BFD06",
            Tpdu::Submit(submit_with(enhanced(true, Period::Seconds(30)))),
        ),
        (
            "9.2.3.12.3 enhanced, hours, minutes and seconds",
            "09 00 08 91 94610010 00 00 03215495000000 05 C8329BFD06",
            Tpdu::Submit(submit_with(enhanced(
                false,
                Period::Clock {
                    hours: 12,
                    minutes: 45,
                    seconds: 59,
                },
            ))),
        ),
        (
            "9.1.2.5 a number of the network with * and #, an odd number of digits",
            "01 00 05 B9 0A12FB 00 00 00",
            Tpdu::Submit(SmsSubmit {
                destination_address: TpduAddress {
                    ton: 3,
                    npi: 9,
                    text: "*021#".to_owned(),
                },
                user_data: UserData::default(),
                ..SmsSubmit::default()
            }),
        ),
        (
            "9.2.3.24 the text behind 6 octets of header begins with a fill bit",
            "41 00 08 91 94610010 00 00 0C 050003CC0201 906536FB0D",
            Tpdu::Submit(SmsSubmit {
                user_data: UserData {
                    header: numbered(false),
                    ..septets("Hello")
                },
                ..submit()
            }),
        ),
        (
            "9.2.3.24 the text behind 7 octets of header begins at once",
            "41 00 08 91 94610010 00 00 0D 06080400CC0201 C8329BFD06",
            Tpdu::Submit(SmsSubmit {
                user_data: UserData {
                    header: numbered(true),
                    ..septets("Hello")
                },
                ..submit()
            }),
        ),
        (
            "9.2.2.1 SMS-DELIVER, more messages, ahead of UTC by 2 hours",
            "00 08 91 94610010 00 00 62111250035180 05 C8329BFD06",
            Tpdu::Deliver(Deliver {
                more_messages: true,
                service_centre_time_stamp: stamp(8),
                ..deliver()
            }),
        ),
        (
            "9.2.2.1 all flags, UCS-2",
            "AC 08 91 94610010 7F 08 62111250035100 04 00480069",
            Tpdu::Deliver(Deliver {
                loop_prevention: true,
                status_report_indication: true,
                reply_path: true,
                protocol_identifier: 0x7F,
                data_coding: 8,
                user_data: UserData {
                    header: UserDataHeader::default(),
                    body: ucs2::encode("Hi").into(),
                },
                ..deliver()
            }),
        ),
        (
            "9.1.2.5 alphanumeric, 7 septets in 13 semi-octets",
            "04 0D D0 C8F71D14969701 00 00 62111250035100 05 C8329BFD06",
            Tpdu::Deliver(Deliver {
                originating_address: TpduAddress::alphanumeric("How are"),
                ..deliver()
            }),
        ),
        (
            "9.1.2.5 alphanumeric, 8 septets of which the last is an @; 9.2.3.16 no user data",
            "04 0E D0 31D98C56B3DD00 00 00 62111250035100 00",
            Tpdu::Deliver(Deliver {
                originating_address: TpduAddress::alphanumeric("1234567@"),
                user_data: UserData::default(),
                ..deliver()
            }),
        ),
        (
            "9.2.2.3 SMS-STATUS-REPORT without TP-PI",
            "06 2A 08 91 94610010 62111250035100 62111250035100 45",
            Tpdu::StatusReport(status_report()),
        ),
        (
            "9.2.2.3 SMS-STATUS-REPORT of a command, with all that TP-PI announces",
            "6E 2A 08 91 94610010 62111250035100 62111250035100 45 07 01 04 08 050003CC0201 BEEF",
            Tpdu::StatusReport(StatusReport {
                loop_prevention: true,
                of_command: true,
                parameters: Parameters {
                    protocol_identifier: Some(1),
                    data_coding: Some(4),
                    user_data: Some(UserData {
                        header: numbered(false),
                        body: given("BEEF"),
                    }),
                },
                ..status_report()
            }),
        ),
        (
            "9.2.2.4 SMS-COMMAND: delete",
            "22 07 00 02 2A 08 91 94610010 02 BEEF",
            Tpdu::Command(SmsCommand {
                status_report_request: true,
                message_reference: 7,
                command_type: 2,
                message_number: 0x2A,
                destination_address: TpduAddress::international("49160001"),
                data: UserData {
                    header: UserDataHeader::default(),
                    body: given("BEEF"),
                },
                ..SmsCommand::default()
            }),
        ),
        (
            "9.2.2.1a SMS-DELIVER-REPORT in RP-ACK",
            "00 00",
            Tpdu::DeliverReport(DeliverReport::default()),
        ),
        (
            "9.2.2.1a SMS-DELIVER-REPORT in RP-ERROR: data download to the SIM",
            "00 D5 07 7F F6 02 BEEF",
            Tpdu::DeliverReport(DeliverReport {
                failure_cause: Some(0xD5),
                parameters: Parameters {
                    protocol_identifier: Some(0x7F),
                    data_coding: Some(0xF6),
                    user_data: Some(UserData {
                        header: UserDataHeader::default(),
                        body: given("BEEF"),
                    }),
                },
            }),
        ),
        (
            "9.2.2.2a SMS-SUBMIT-REPORT in RP-ACK",
            "01 00 62111250035100",
            Tpdu::SubmitReport(SubmitReport {
                service_centre_time_stamp: stamp(0),
                ..SubmitReport::default()
            }),
        ),
        (
            "9.2.2.2a SMS-SUBMIT-REPORT in RP-ERROR, with a text in the default alphabet",
            "01 C3 04 62111250035100 05 C8329BFD06",
            Tpdu::SubmitReport(SubmitReport {
                failure_cause: Some(0xC3),
                service_centre_time_stamp: stamp(0),
                parameters: Parameters {
                    user_data: Some(septets("Hello")),
                    ..Parameters::default()
                },
            }),
        ),
    ]
}

#[test]
fn messages_are_read_and_written() {
    for (about, hex, tpdu) in table() {
        let given = given(hex);
        let examined = examine(tpdu.kind(), &given);
        assert_eq!(examined.tpdu, Ok(tpdu.clone()), "{about}");
        assert!(examined.notes.oddities.is_empty(), "{about}: {examined:?}");
        let mut at = 0;
        for span in &examined.notes.fields {
            assert_eq!(span.at, at, "{about}: {span:?}");
            at += span.octets;
        }
        assert_eq!(at, given.len(), "{about}");
        assert_eq!(tpdu.encode().unwrap(), given, "{about}");
    }
}

#[test]
fn a_type_is_told_by_direction() {
    let table = table();
    for (about, hex, tpdu) in &table {
        let direction = match tpdu {
            Tpdu::Submit(_) | Tpdu::Command(_) | Tpdu::DeliverReport(_) => Direction::FromPhone,
            _ => Direction::ToPhone,
        };
        assert_eq!(
            TpduKind::guess(direction, &given(hex)),
            Some(tpdu.kind()),
            "{about}"
        );
    }
    assert_eq!(TpduKind::guess(Direction::FromPhone, &[3]), None);
    assert_eq!(
        TpduKind::guess(Direction::ToPhone, &[3]),
        Some(TpduKind::Deliver)
    );
    assert_eq!(TpduKind::guess(Direction::ToPhone, &[]), None);
}

#[test]
fn relative_validity_in_seconds() {
    // 9.2.3.12.1: the ends of all four ranges.
    for (octet, seconds) in [
        (0, 300),
        (143, 12 * 3_600),
        (144, 12 * 3_600 + 1_800),
        (167, 24 * 3_600),
        (168, 2 * 86_400),
        (170, 4 * 86_400),
        (196, 30 * 86_400),
        (197, 5 * 7 * 86_400),
        (255, 63 * 7 * 86_400),
    ] {
        assert_eq!(time::relative_seconds(octet), seconds, "{octet}");
        assert_eq!(time::relative_of(seconds), octet, "{seconds}");
        assert_eq!(time::relative_of(seconds - 1), octet, "{seconds}");
    }
    assert_eq!(time::relative_of(0), 0);
    assert_eq!(time::relative_of(u32::MAX), 255);
}

#[test]
fn texts_are_read_by_their_coding() {
    let data = |body: &[u8]| UserData {
        header: UserDataHeader::default(),
        body: Bytes::copy_from_slice(body),
    };
    for (body, data_coding, text) in [
        (&b"\x1be"[..], 0x00, Some("€")),
        (b"hi", 0xF1, Some("hi")),
        (b"hi", 0x80, Some("hi")),
        (b"\x04\x16", 0x08, Some("Ж")),
        (b"\x04\x16", 0xE8, Some("Ж")),
        (b"hi", 0x04, None),
        (b"hi", 0x20, None),
    ] {
        let read = data(body).text(data_coding);
        assert_eq!(read.as_deref(), text, "{data_coding:#04x}");
    }
}
