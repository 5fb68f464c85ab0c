//! Random PDUs that conform to the standard, for the property tests of `smpp` (SMPP 3.4 §4, 5.0).
//!
//! A strict peer may send every generated body: C-octet strings of ASCII within their maximum, times
//! empty or 16 characters, TLVs of the right length.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::Union;
use smsc::smpp::*;

/// A C-octet string of at most `max` octets, NUL included.
fn c_string(max: usize) -> impl Strategy<Value = Bytes> {
    proptest::string::string_regex(&format!("[!-~]{{0,{}}}", max - 1))
        .unwrap()
        .prop_map(Bytes::from)
}

fn time() -> impl Strategy<Value = Bytes> {
    "([0-9]{15}[-+R])?".prop_map(Bytes::from)
}

fn octets(max: usize) -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..=max).prop_map(Bytes::from)
}

fn address(max: usize) -> impl Strategy<Value = (u8, u8, Bytes)> {
    (any::<u8>(), any::<u8>(), c_string(max))
}

fn from_pairs(pairs: Vec<(u16, Bytes)>) -> Tlvs {
    let mut tlvs = Tlvs::new();
    for (tag, value) in pairs {
        tlvs.push(tag, &value);
    }
    tlvs
}

/// Vendor TLVs of any length, and known TLVs of their correct length.
fn tlvs() -> impl Strategy<Value = Tlvs> {
    let word = |tag: u16| any::<[u8; 2]>().prop_map(move |v| (tag, Bytes::copy_from_slice(&v)));
    let one = prop_oneof![
        (0x1400_u16..=0x3FFF, octets(30)),
        word(tag::USER_MESSAGE_REFERENCE),
        word(tag::SAR_MSG_REF_NUM),
        word(tag::SOURCE_PORT),
        word(tag::DEST_PORT),
        any::<u8>().prop_map(|v| (tag::SAR_TOTAL_SEGMENTS, Bytes::copy_from_slice(&[v]))),
        any::<u8>().prop_map(|v| (tag::SAR_SEGMENT_SEQNUM, Bytes::copy_from_slice(&[v]))),
        octets(300).prop_map(|v| (tag::MESSAGE_PAYLOAD, v)),
    ];
    vec(one, 0..4).prop_map(from_pairs)
}

/// No or one TLV, for PDUs that allow only one.
fn one_tlv(tag: u16, value: impl Strategy<Value = Bytes>) -> impl Strategy<Value = Tlvs> {
    proptest::option::of(value)
        .prop_map(move |value| from_pairs(value.into_iter().map(|value| (tag, value)).collect()))
}

fn octet() -> impl Strategy<Value = Bytes> {
    any::<u8>().prop_map(|octet| Bytes::copy_from_slice(&[octet]))
}

pub fn bind() -> impl Strategy<Value = BindRequest> {
    (
        c_string(16),
        c_string(9),
        c_string(13),
        any::<u8>(),
        address(41),
    )
        .prop_map(
            |(system_id, password, system_type, interface_version, addr)| BindRequest {
                system_id,
                password,
                system_type,
                interface_version,
                addr_ton: addr.0,
                addr_npi: addr.1,
                address_range: addr.2,
            },
        )
}

fn bind_resp() -> impl Strategy<Value = BindResp> {
    (c_string(16), one_tlv(tag::SC_INTERFACE_VERSION, octet()))
        .prop_map(|(system_id, tlvs)| BindResp { system_id, tlvs })
}

pub fn submit_sm() -> impl Strategy<Value = SubmitSm> {
    (
        c_string(6),
        address(21),
        address(21),
        any::<[u8; 7]>(),
        (time(), time()),
        octets(255),
        tlvs(),
    )
        .prop_map(
            |(service_type, source, dest, o, times, short_message, tlvs)| SubmitSm {
                service_type,
                source_addr_ton: source.0,
                source_addr_npi: source.1,
                source_addr: source.2,
                dest_addr_ton: dest.0,
                dest_addr_npi: dest.1,
                destination_addr: dest.2,
                esm_class: o[0],
                protocol_id: o[1],
                priority_flag: o[2],
                schedule_delivery_time: times.0,
                validity_period: times.1,
                registered_delivery: o[3],
                replace_if_present_flag: o[4],
                data_coding: o[5],
                sm_default_msg_id: o[6],
                short_message,
                tlvs,
            },
        )
}

fn id_resp() -> impl Strategy<Value = SubmitSmResp> {
    (c_string(65), tlvs()).prop_map(|(message_id, tlvs)| SubmitSmResp { message_id, tlvs })
}

fn data_sm() -> impl Strategy<Value = DataSm> {
    (
        c_string(6),
        address(21),
        address(21),
        any::<[u8; 3]>(),
        tlvs(),
    )
        .prop_map(|(service_type, source, dest, o, tlvs)| DataSm {
            service_type,
            source_addr_ton: source.0,
            source_addr_npi: source.1,
            source_addr: source.2,
            dest_addr_ton: dest.0,
            dest_addr_npi: dest.1,
            destination_addr: dest.2,
            esm_class: o[0],
            registered_delivery: o[1],
            data_coding: o[2],
            tlvs,
        })
}

fn submit_multi() -> impl Strategy<Value = SubmitMulti> {
    let dest_address = prop_oneof![
        address(21).prop_map(|(dest_addr_ton, dest_addr_npi, destination_addr)| {
            DestAddress::Sme {
                dest_addr_ton,
                dest_addr_npi,
                destination_addr,
            }
        }),
        c_string(21).prop_map(|dl_name| DestAddress::DistributionList { dl_name }),
    ];
    (submit_sm(), vec(dest_address, 1..6)).prop_map(|(sm, dest_address)| SubmitMulti {
        service_type: sm.service_type,
        source_addr_ton: sm.source_addr_ton,
        source_addr_npi: sm.source_addr_npi,
        source_addr: sm.source_addr,
        dest_address,
        esm_class: sm.esm_class,
        protocol_id: sm.protocol_id,
        priority_flag: sm.priority_flag,
        schedule_delivery_time: sm.schedule_delivery_time,
        validity_period: sm.validity_period,
        registered_delivery: sm.registered_delivery,
        replace_if_present_flag: sm.replace_if_present_flag,
        data_coding: sm.data_coding,
        sm_default_msg_id: sm.sm_default_msg_id,
        short_message: sm.short_message,
        tlvs: sm.tlvs,
    })
}

fn submit_multi_resp() -> impl Strategy<Value = SubmitMultiResp> {
    let failure = (address(21), any::<u32>()).prop_map(|(dest, status)| UnsuccessSme {
        dest_addr_ton: dest.0,
        dest_addr_npi: dest.1,
        destination_addr: dest.2,
        error_status_code: CommandStatus(status),
    });
    (c_string(65), vec(failure, 0..4), tlvs()).prop_map(|(message_id, unsuccess_sme, tlvs)| {
        SubmitMultiResp {
            message_id,
            unsuccess_sme,
            tlvs,
        }
    })
}

fn query_sm() -> impl Strategy<Value = QuerySm> {
    (c_string(65), address(21)).prop_map(|(message_id, source)| QuerySm {
        message_id,
        source_addr_ton: source.0,
        source_addr_npi: source.1,
        source_addr: source.2,
    })
}

fn query_sm_resp() -> impl Strategy<Value = QuerySmResp> {
    (c_string(65), time(), any::<[u8; 2]>()).prop_map(|(message_id, final_date, o)| QuerySmResp {
        message_id,
        final_date,
        message_state: o[0],
        error_code: o[1],
    })
}

fn cancel_sm() -> impl Strategy<Value = CancelSm> {
    (c_string(6), c_string(65), address(21), address(21)).prop_map(
        |(service_type, message_id, source, dest)| CancelSm {
            service_type,
            message_id,
            source_addr_ton: source.0,
            source_addr_npi: source.1,
            source_addr: source.2,
            dest_addr_ton: dest.0,
            dest_addr_npi: dest.1,
            destination_addr: dest.2,
        },
    )
}

fn replace_sm() -> impl Strategy<Value = ReplaceSm> {
    let payload = one_tlv(tag::MESSAGE_PAYLOAD, octets(300));
    (
        query_sm(),
        (time(), time()),
        any::<[u8; 2]>(),
        octets(255),
        payload,
    )
        .prop_map(|(query, times, o, short_message, tlvs)| ReplaceSm {
            message_id: query.message_id,
            source_addr_ton: query.source_addr_ton,
            source_addr_npi: query.source_addr_npi,
            source_addr: query.source_addr,
            schedule_delivery_time: times.0,
            validity_period: times.1,
            registered_delivery: o[0],
            sm_default_msg_id: o[1],
            short_message,
            tlvs,
        })
}

fn alert_notification() -> impl Strategy<Value = AlertNotification> {
    let tlv = one_tlv(tag::MS_AVAILABILITY_STATUS, octet());
    (address(65), address(65), tlv).prop_map(|(source, esme, tlvs)| AlertNotification {
        source_addr_ton: source.0,
        source_addr_npi: source.1,
        source_addr: source.2,
        esme_addr_ton: esme.0,
        esme_addr_npi: esme.1,
        esme_addr: esme.2,
        tlvs,
    })
}

fn broadcast_sm() -> impl Strategy<Value = BroadcastSm> {
    (
        c_string(6),
        address(21),
        c_string(65),
        (time(), time()),
        any::<[u8; 4]>(),
        tlvs(),
    )
        .prop_map(
            |(service_type, source, message_id, times, o, tlvs)| BroadcastSm {
                service_type,
                source_addr_ton: source.0,
                source_addr_npi: source.1,
                source_addr: source.2,
                message_id,
                priority_flag: o[0],
                schedule_delivery_time: times.0,
                validity_period: times.1,
                replace_if_present_flag: o[1],
                data_coding: o[2],
                sm_default_msg_id: o[3],
                tlvs,
            },
        )
}

fn cancel_broadcast_sm() -> impl Strategy<Value = CancelBroadcastSm> {
    (c_string(6), query_sm(), tlvs()).prop_map(|(service_type, query, tlvs)| CancelBroadcastSm {
        service_type,
        message_id: query.message_id,
        source_addr_ton: query.source_addr_ton,
        source_addr_npi: query.source_addr_npi,
        source_addr: query.source_addr,
        tlvs,
    })
}

fn query_broadcast_sm() -> impl Strategy<Value = QueryBroadcastSm> {
    let reference = any::<[u8; 2]>().prop_map(|v| Bytes::copy_from_slice(&v));
    (query_sm(), one_tlv(tag::USER_MESSAGE_REFERENCE, reference)).prop_map(|(query, tlvs)| {
        QueryBroadcastSm {
            message_id: query.message_id,
            source_addr_ton: query.source_addr_ton,
            source_addr_npi: query.source_addr_npi,
            source_addr: query.source_addr,
            tlvs,
        }
    })
}

/// Any body of 3.4 and 5.0.
pub fn body() -> impl Strategy<Value = Body> {
    let outbind = (c_string(16), c_string(9)).prop_map(|(system_id, password)| OutbindRequest {
        system_id,
        password,
    });
    let broadcast_sm_resp =
        (c_string(65), tlvs()).prop_map(|(message_id, tlvs)| BroadcastSmResp { message_id, tlvs });
    let query_broadcast_sm_resp = (c_string(65), tlvs())
        .prop_map(|(message_id, tlvs)| QueryBroadcastSmResp { message_id, tlvs });
    Union::new(vec![
        bind().prop_map(Body::BindTransmitter).boxed(),
        bind().prop_map(Body::BindReceiver).boxed(),
        bind().prop_map(Body::BindTransceiver).boxed(),
        bind_resp().prop_map(Body::BindTransmitterResp).boxed(),
        bind_resp().prop_map(Body::BindReceiverResp).boxed(),
        bind_resp().prop_map(Body::BindTransceiverResp).boxed(),
        outbind.prop_map(Body::Outbind).boxed(),
        Just(Body::Unbind).boxed(),
        Just(Body::UnbindResp).boxed(),
        Just(Body::EnquireLink).boxed(),
        Just(Body::EnquireLinkResp).boxed(),
        Just(Body::GenericNack).boxed(),
        submit_sm().prop_map(Body::SubmitSm).boxed(),
        id_resp().prop_map(Body::SubmitSmResp).boxed(),
        submit_sm().prop_map(Body::DeliverSm).boxed(),
        id_resp().prop_map(Body::DeliverSmResp).boxed(),
        data_sm().prop_map(Body::DataSm).boxed(),
        id_resp().prop_map(Body::DataSmResp).boxed(),
        submit_multi().prop_map(Body::SubmitMulti).boxed(),
        submit_multi_resp().prop_map(Body::SubmitMultiResp).boxed(),
        query_sm().prop_map(Body::QuerySm).boxed(),
        query_sm_resp().prop_map(Body::QuerySmResp).boxed(),
        cancel_sm().prop_map(Body::CancelSm).boxed(),
        Just(Body::CancelSmResp).boxed(),
        replace_sm().prop_map(Body::ReplaceSm).boxed(),
        Just(Body::ReplaceSmResp).boxed(),
        alert_notification()
            .prop_map(Body::AlertNotification)
            .boxed(),
        broadcast_sm().prop_map(Body::BroadcastSm).boxed(),
        broadcast_sm_resp.prop_map(Body::BroadcastSmResp).boxed(),
        query_broadcast_sm()
            .prop_map(Body::QueryBroadcastSm)
            .boxed(),
        query_broadcast_sm_resp
            .prop_map(Body::QueryBroadcastSmResp)
            .boxed(),
        cancel_broadcast_sm()
            .prop_map(Body::CancelBroadcastSm)
            .boxed(),
        Just(Body::CancelBroadcastSmResp).boxed(),
    ])
}
