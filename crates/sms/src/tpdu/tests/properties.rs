//! That reading undoes writing, and that no octets make a reader panic.

use proptest::prelude::*;

use super::*;
use crate::udh::Element;

fn address() -> impl Strategy<Value = TpduAddress> {
    let number = ("[0-9*#abc]{0,20}", 0_u8..8, 0_u8..16)
        .prop_map(|(text, ton, npi)| TpduAddress { ton, npi, text })
        .prop_filter("letters are the other case", |address| {
            address.ton != address::ALPHANUMERIC
        });
    let name = "[A-Za-z@£Δ_ !?0-9à]{0,11}".prop_map(TpduAddress::alphanumeric);
    prop_oneof![number, name]
}

fn time_stamp() -> impl Strategy<Value = TimeStamp> {
    let date = (0_u8..100, 1_u8..=12, 1_u8..=31);
    let clock = (0_u8..24, 0_u8..60, 0_u8..60);
    (date, clock, -79_i8..=79)
        .prop_map(
            |((year, month, day), (hour, minute, second), zone)| TimeStamp {
                year,
                month,
                day,
                hour,
                minute,
                second,
                zone,
            },
        )
        .prop_filter("a date of the calendar", TimeStamp::is_possible)
}

fn validity() -> impl Strategy<Value = Validity> {
    let clock =
        (0_u8..100, 0_u8..60, 0_u8..60).prop_map(|(hours, minutes, seconds)| Period::Clock {
            hours,
            minutes,
            seconds,
        });
    let period = prop_oneof![
        Just(Period::Absent),
        any::<u8>().prop_map(Period::Relative),
        (1_u8..).prop_map(Period::Seconds),
        clock,
    ];
    prop_oneof![
        Just(Validity::Absent),
        any::<u8>().prop_map(Validity::Relative),
        time_stamp().prop_map(Validity::Absolute),
        (any::<bool>(), period).prop_map(|(single_shot, period)| enhanced(single_shot, period)),
    ]
}

/// A TP-DCS, and user data that fits it and 131 octets.
fn user_data() -> impl Strategy<Value = (u8, UserData)> {
    let elements = prop::collection::vec((0_u8..=255, 0_usize..12), 0..3);
    let body = prop::collection::vec(any::<u8>(), 0..92);
    (any::<u8>(), elements, body).prop_map(|(data_coding, elements, mut body)| {
        let mut header = UserDataHeader::default();
        for (id, octets) in elements {
            let data = vec![id; octets].into();
            header.push(Element { id, data });
        }
        let dcs = crate::DataCodingScheme::parse(data_coding);
        if dcs.charset == crate::Charset::Gsm7 && !dcs.compressed {
            body.iter_mut().for_each(|octet| *octet &= 0x7F);
        } else if body.len() % 2 == 1 {
            body.pop();
        }
        let body = body.into();
        (data_coding, UserData { header, body })
    })
}

fn parameters() -> impl Strategy<Value = Parameters> {
    let text = prop::option::of(user_data());
    (any::<Option<u8>>(), text).prop_map(|(protocol_identifier, text)| match text {
        Some((data_coding, user_data)) => Parameters {
            protocol_identifier,
            data_coding: Some(data_coding),
            user_data: Some(user_data),
        },
        None => Parameters {
            protocol_identifier,
            ..Parameters::default()
        },
    })
}

fn any_deliver() -> impl Strategy<Value = Tpdu> {
    (
        any::<[bool; 4]>(),
        address(),
        any::<u8>(),
        time_stamp(),
        user_data(),
    )
        .prop_map(
            |(flags, originating_address, protocol_identifier, stamp, (data_coding, user_data))| {
                Tpdu::Deliver(Deliver {
                    more_messages: flags[0],
                    loop_prevention: flags[1],
                    status_report_indication: flags[2],
                    reply_path: flags[3],
                    originating_address,
                    protocol_identifier,
                    data_coding,
                    service_centre_time_stamp: stamp,
                    user_data,
                })
            },
        )
}

fn any_submit() -> impl Strategy<Value = Tpdu> {
    (
        any::<[bool; 3]>(),
        address(),
        any::<[u8; 2]>(),
        validity(),
        user_data(),
    )
        .prop_map(
            |(flags, destination_address, octets, validity, (data_coding, user_data))| {
                Tpdu::Submit(SmsSubmit {
                    reject_duplicates: flags[0],
                    status_report_request: flags[1],
                    reply_path: flags[2],
                    message_reference: octets[0],
                    destination_address,
                    protocol_identifier: octets[1],
                    data_coding,
                    validity,
                    user_data,
                })
            },
        )
}

fn any_status_report() -> impl Strategy<Value = Tpdu> {
    (
        any::<[bool; 3]>(),
        any::<[u8; 2]>(),
        address(),
        time_stamp(),
        time_stamp(),
        parameters(),
    )
        .prop_map(
            |(flags, octets, recipient_address, stamp, discharge_time, parameters)| {
                Tpdu::StatusReport(StatusReport {
                    more_messages: flags[0],
                    loop_prevention: flags[1],
                    of_command: flags[2],
                    message_reference: octets[0],
                    recipient_address,
                    service_centre_time_stamp: stamp,
                    discharge_time,
                    status: octets[1],
                    parameters,
                })
            },
        )
}

fn any_other() -> impl Strategy<Value = Tpdu> {
    let cause = prop::option::of(0x80_u8..);
    let command = (any::<bool>(), any::<[u8; 4]>(), address(), user_data()).prop_map(
        |(status_report_request, octets, destination_address, (_, data))| {
            Tpdu::Command(SmsCommand {
                status_report_request,
                message_reference: octets[0],
                protocol_identifier: octets[1],
                command_type: octets[2],
                message_number: octets[3],
                destination_address,
                data,
            })
        },
    );
    let deliver = (cause.clone(), parameters()).prop_map(|(failure_cause, parameters)| {
        Tpdu::DeliverReport(DeliverReport {
            failure_cause,
            parameters,
        })
    });
    let submit =
        (cause, time_stamp(), parameters()).prop_map(|(failure_cause, stamp, parameters)| {
            Tpdu::SubmitReport(SubmitReport {
                failure_cause,
                service_centre_time_stamp: stamp,
                parameters,
            })
        });
    prop_oneof![command, deliver, submit]
}

fn any_tpdu() -> impl Strategy<Value = Tpdu> {
    prop_oneof![
        any_deliver(),
        any_submit(),
        any_status_report(),
        any_other()
    ]
}

fn any_kind() -> impl Strategy<Value = TpduKind> {
    prop_oneof![
        Just(TpduKind::Deliver),
        Just(TpduKind::Submit),
        Just(TpduKind::StatusReport),
        Just(TpduKind::Command),
        Just(TpduKind::DeliverReport),
        Just(TpduKind::DeliverReportError),
        Just(TpduKind::SubmitReport),
        Just(TpduKind::SubmitReportError),
    ]
}

proptest! {
    #[test]
    fn reading_undoes_writing(tpdu in any_tpdu()) {
        let written = Bytes::from(tpdu.encode().unwrap());
        prop_assert!(written.len() <= TPDU_MAX);
        let examined = examine(tpdu.kind(), &written);
        prop_assert!(examined.notes.oddities.is_empty(), "{examined:?}");
        prop_assert_eq!(examined.tpdu, Ok(tpdu));
    }

    #[test]
    fn no_octets_panic(kind in any_kind(), octets: Vec<u8>) {
        let mut octets = octets;
        if let Some(first) = octets.first_mut() {
            *first = *first & !MESSAGE_TYPE | kind.message_type();
        }
        let octets = Bytes::from(octets);
        let examined = examine(kind, &octets);
        prop_assert_eq!(&decode(kind, &octets), &examined.tpdu);
        let mut at = 0;
        for span in &examined.notes.fields {
            prop_assert_eq!(span.at, at);
            at += span.octets;
        }
        prop_assert!(at <= octets.len());
        if let Ok(tpdu) = examined.tpdu {
            prop_assert_eq!(at, octets.len());
            let text = tpdu.user_data().map(|(user_data, coding)| user_data.text(coding));
            prop_assert!(text.is_none_or(|text| text.is_none_or(|text| text.len() <= 4 * 255)));
            let _ = tpdu.encode();
        }
    }

    #[test]
    fn what_was_cut_short_is_named_or_kept(tpdu in any_tpdu(), cut in 0_usize..TPDU_MAX) {
        let whole = tpdu.encode().unwrap();
        let octets = Bytes::copy_from_slice(&whole[..cut.min(whole.len())]);
        match examine(tpdu.kind(), &octets).tpdu {
            Ok(read) => prop_assert_eq!(read.kind(), tpdu.kind()),
            Err(fault) => prop_assert!(fault.at <= octets.len()),
        }
    }
}
