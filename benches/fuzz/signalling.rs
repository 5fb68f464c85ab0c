//! M3UA, SCCP, TCAP and MAP: every reader, and what is fed with what they read.
//!
//! Values that cannot come back as they were, since an earlier version of MAP has no place for all of them, are compared as
//! they are written: what is read of that is written alike.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use smsc::firewall::{
    BlockAnswer, FirewallMode, FirewallRule, FirewallSettings, RequestRate, RoutingAsked,
    RuleAction, ScreenedOperation, ScreenedRequest,
};
use smsc::map::context::{
    SHORT_MSG_ALERT, SHORT_MSG_GATEWAY, SHORT_MSG_MO_RELAY, SHORT_MSG_MT_RELAY,
};
use smsc::map::session::{
    ForeignForward, HomeSubscribers, MapEvent, MapSession, MapSessionConfig, MtForward,
};
use smsc::map::{
    AlertServiceCentreArg, ForwardSmArg, ForwardSmResult, InformServiceCentreArg, MapOperationCode,
    MapUserError, MapVersion, ReportDeliveryStatusArg, ReportDeliveryStatusResult, RoutingInfoArg,
    RoutingInfoResult,
};
use smsc::sigtran::address::ssn;
use smsc::sigtran::m3ua::{SERVICE_SCCP, tag};
use smsc::sigtran::reassembly::{DATA_MAX, Reassemblies, ReassemblyKey};
use smsc::sigtran::sccp::Segmentation;
use smsc::sigtran::segments::messages;
use smsc::sigtran::{
    GlobalTitle, M3uaKind, M3uaMessage, M3uaParameter, PointCode, ProtocolData, SccpAddress,
    SccpMessage, SignallingConfig, SignallingPoint, TrafficMode, Unitdata, UnitdataRequest,
    next_m3ua,
};
use smsc::tcap::{
    ApplicationContext, Component, DialogueId, Invoke, TcapConfig, TcapDialogues, TcapEvent,
    TcapMessage,
};

use super::{Target, holds};

pub const TARGETS: &[Target] = &[
    ("m3ua", on_m3ua),
    ("sccp", on_sccp),
    ("reassembly", on_reassembly),
    ("gateways", on_gateways),
    ("tcap", on_tcap),
    ("dialogues", on_dialogues),
    ("map", on_map),
    ("session", on_session),
];

const OWN: PointCode = PointCode(187);
const STP: PointCode = PointCode(185);
const CENTRE: &str = "49160000";
const NODE: &str = "49170123";
const STRANGER: &str = "44770123";
/// What others get in place of an IMSI.
const CORRELATION_ID: &str = "262010000000017";
/// Bounds that a few messages reach.
const REASSEMBLIES: usize = 32;
const DIALOGUES: usize = 4;
/// Longer than every timer.
const LONG: Duration = Duration::from_secs(3600);

/// Messages of each layer to begin with: what both sides write while a message is delivered and an alert comes.
pub fn seeds() -> Vec<Vec<u8>> {
    // Arguments and results: sendRoutingInfoForSM, mt-ForwardSM, reportSM-DeliveryStatus, alertServiceCentre,
    // informServiceCentre, absentSubscriberSM.
    let mut seeds: Vec<Vec<u8>> = [
        "3015800791947106000000 8101FF 820791947106000000",
        "3014 0408 62021132547698F0 A008 8106 914917000010",
        "3020 8008 62021132547698F0 8407 91947106000000 0409 040B911346610089F6 0500",
        "3014 0406 914917123456 0407 91947106000000 0A0101",
        "3011 0406 914917123456 0407 91947106000000",
        "300C 0406 914917123456 0302 0240",
        "3003 020101",
        "3003 0A0100",
    ]
    .iter()
    .map(|hex| super::octets(hex))
    .collect();
    for unitdata in conversation() {
        seeds.push(unitdata.data.to_vec());
        // Whole, and in segments.
        for most in [254, 40] {
            let sccp = messages(&unitdata, most, 1).unwrap_or_default();
            let written = sccp.iter().filter_map(|message| message.encode().ok());
            for octets in written {
                seeds.push(octets.to_vec());
                seeds.extend(data(&octets).map(|frame| frame.to_vec()));
            }
        }
    }
    let numbered = |kind, tag, number| M3uaMessage::new(kind).with_number(tag, Some(number));
    let key = [
        M3uaParameter::number(tag::LOCAL_ROUTING_KEY, 1),
        M3uaParameter::number(tag::REGISTRATION_STATUS, 0),
        M3uaParameter::number(tag::ROUTING_CONTEXT, 7),
    ];
    let registered = M3uaParameter::group(tag::REGISTRATION_RESULT, &key).ok();
    let frames = [
        M3uaMessage::new(M3uaKind::ASPUP_ACK),
        M3uaMessage::new(M3uaKind::ASPAC_ACK),
        M3uaMessage::new(M3uaKind::ASPIA_ACK),
        M3uaMessage::new(M3uaKind::BEAT_ACK),
        numbered(M3uaKind::ERR, tag::ERROR_CODE, 0x19),
        numbered(M3uaKind::NTFY, tag::STATUS, 0x0001_0003),
        numbered(M3uaKind::NTFY, tag::STATUS, 0x0002_0002),
        numbered(M3uaKind::DUNA, tag::AFFECTED_POINT_CODE, STP.0),
        numbered(M3uaKind::SCON, tag::AFFECTED_POINT_CODE, STP.0),
        numbered(M3uaKind::DUPU, tag::AFFECTED_POINT_CODE, STP.0),
    ];
    let registration = registered.map(|result| M3uaMessage::new(M3uaKind::REG_RSP).with(result));
    let frames = frames.into_iter().chain(registration);
    seeds.extend(frames.filter_map(|frame| Some(frame.encode().ok()?.to_vec())));
    seeds
}

/// What goes over the wire for a message to a handset and an alert.
fn conversation() -> Vec<UnitdataRequest> {
    let now = Instant::now();
    let mut session = session();
    let mut network = TcapDialogues::new(TcapConfig::default());
    let mut written = Vec::new();
    if session.send(forward(), (), now).is_err() {
        return written;
    }
    for answer in [
        super::octets("3014 0408 62021132547698F0 A008 8106 914917000010"),
        Vec::new(),
    ] {
        while let Some(request) = session.next_unitdata() {
            written.push(request.clone());
            network.received(request.called, request.calling, &request.data, now);
        }
        while let Some(event) = network.next_event() {
            if let TcapEvent::Begun { id, components, .. } = event
                && let Some(Component::Invoke(invoke)) = components.first()
            {
                let answer = Bytes::from(answer.clone());
                let result = Component::result(invoke.id, invoke.operation, answer);
                network.end(id, vec![result]);
            }
        }
        while let Some(request) = network.next_unitdata() {
            written.push(request.clone());
            session.received(incoming(request), now);
        }
    }
    let alert = super::octets("3011 0406 914917123456 0407 91947106000000");
    let (context, version) = (SHORT_MSG_ALERT, 2);
    let begun = network.begin(
        Some(ApplicationContext { context, version }),
        party(CENTRE),
        party(NODE),
        vec![invoke(MapOperationCode::ALERT_SERVICE_CENTRE, alert.into())],
        now,
    );
    if begun.is_ok() {
        written.extend(std::iter::from_fn(|| network.next_unitdata()));
    }
    written
}

fn party(digits: &str) -> SccpAddress {
    SccpAddress::of_title(GlobalTitle::international(digits, 0), ssn::MSC)
}

fn incoming(request: UnitdataRequest) -> Unitdata {
    Unitdata {
        called: request.called,
        calling: request.calling,
        data: request.data,
    }
}

fn forward() -> MtForward {
    MtForward {
        msisdn: "4917612345678".to_owned(),
        imsi: None,
        tpdu: Bytes::from_static(&[0x04, 0x0B, 0x91, 0x13]),
        more: false,
        priority: false,
    }
}

fn session() -> MapSession<()> {
    session_with(None)
}

fn session_with(home: Option<HomeSubscribers>) -> MapSession<()> {
    let mut session = MapSession::new(MapSessionConfig {
        max_dialogues: DIALOGUES,
        max_incoming: DIALOGUES,
        home,
        ..MapSessionConfig::new(CENTRE, party(CENTRE))
    });
    session.set_ready(true);
    session
}

/// One that is the HLR and MSC of our subscribers for others, behind a firewall all of whose rules block.
fn guarded_session() -> MapSession<()> {
    let prefixes = |prefix: &str| vec![prefix.to_owned()];
    let mut session = session_with(Some(HomeSubscribers {
        numbers: prefixes("49176"),
        node: CENTRE.to_owned(),
    }));
    let rate = RequestRate {
        per_second: 1.0,
        burst: 2,
    };
    let block = RuleAction::Block(BlockAnswer::Error(MapUserError::FACILITY_NOT_SUPPORTED));
    session.set_firewall(FirewallSettings {
        mode: FirewallMode::On,
        own_titles: prefixes("4917"),
        own_numbers: prefixes("49176"),
        visited_titles: prefixes("43"),
        denied_titles: prefixes("882"),
        network_digits: 5,
        title_rate: Some(rate),
        subscriber_rate: Some(rate),
        actions: FirewallRule::ALL.map(|rule| (rule, block)).to_vec(),
        mirrored: FirewallRule::ALL.to_vec(),
        ..FirewallSettings::default()
    });
    session
}

fn invoke(operation: MapOperationCode, parameter: Bytes) -> Component {
    Component::Invoke(Invoke {
        id: 1,
        operation: operation.0,
        parameter,
        timeout: Duration::from_secs(30),
    })
}

/// A DATA message to us.
fn data(sccp: &Bytes) -> Option<Bytes> {
    let data = ProtocolData {
        originating: STP,
        destination: OWN,
        service: SERVICE_SCCP,
        network_indicator: 0,
        priority: 0,
        selection: 3,
        data: sccp.clone(),
    };
    let message = M3uaMessage::new(M3uaKind::DATA).with(data.to_parameter());
    message.encode().ok()
}

/// What octets become that name a dialogue, when they name this one.
fn naming(octets: &Bytes, dialogue: DialogueId) -> Bytes {
    const DESTINATION: [u8; 2] = [0x49, 4];
    let mut octets = octets.to_vec();
    let place = octets.windows(2).position(|two| two == DESTINATION);
    if let Some(id) = place.and_then(|at| octets.get_mut(at + 2..at + 6)) {
        id.copy_from_slice(&dialogue.0.to_be_bytes());
    }
    octets.into()
}

fn on_m3ua(octets: &Bytes) -> Result<(), String> {
    let mut buffer = BytesMut::from(&octets[..]);
    let mut before = buffer.len();
    while let Ok(Some(_)) = next_m3ua(&mut buffer) {
        holds(buffer.len() < before, || "a frame took nothing".to_owned())?;
        before = buffer.len();
    }
    let Ok(found) = M3uaMessage::decode(octets) else {
        return Ok(());
    };
    let _ = found.info();
    for parameter in &found.parameters {
        let _ = (parameter.as_group(), parameter.as_numbers().count());
        if let Some(data) = ProtocolData::of_value(&parameter.value) {
            let again = ProtocolData::of_value(&data.to_parameter().value);
            holds(again.as_ref() == Some(&data), || {
                format!("its data comes back as {again:?}")
            })?;
        }
    }
    let Ok(written) = found.encode() else {
        return Ok(());
    };
    let again = M3uaMessage::decode(&written);
    holds(again.as_ref() == Ok(&found), || {
        format!("it comes back as {again:?}")
    })
}

fn on_sccp(octets: &Bytes) -> Result<(), String> {
    let Ok(found) = SccpMessage::decode(octets) else {
        return Ok(());
    };
    let Ok(written) = found.encode() else {
        return Ok(());
    };
    let again = SccpMessage::decode(&written).map(|again| again.encode());
    holds(again == Ok(Ok(written)), || {
        format!("{found:?} comes back as {again:?}")
    })
}

fn on_reassembly(octets: &Bytes) -> Result<(), String> {
    let now = Instant::now();
    let mut reassemblies = Reassemblies::new(REASSEMBLIES, LONG);
    let key = |digits: &str, reference| ReassemblyKey {
        originating: STP,
        calling: party(digits),
        reference,
    };
    // Somebody says what they like of the order of segments.
    for four in octets.chunks_exact(4) {
        let segmentation = Segmentation {
            is_first: four[0] & 1 == 1,
            in_order: false,
            remaining: four[1] & 0x0F,
            reference: u32::from(four[2] & 0x0F),
        };
        let data = octets.slice(..usize::from(four[3]).min(octets.len()));
        let key = key(STRANGER, segmentation.reference);
        let taken = reassemblies.take(key, segmentation, &data, now);
        let length = taken.ok().flatten().map_or(0, |whole| whole.len());
        holds(length <= DATA_MAX, || format!("a message of {length}"))?;
        let kept = reassemblies.len();
        holds(kept <= REASSEMBLIES, || format!("{kept} are begun"))?;
    }
    // What an honest peer has cut is whole again.
    let request = UnitdataRequest {
        called: party(CENTRE),
        calling: party(NODE),
        data: octets.clone(),
        sequence: 0,
        in_order: false,
        return_on_error: false,
    };
    let most = octets.first().map_or(1, |first| usize::from(*first));
    let Ok(segments) = messages(&request, most, 7) else {
        return Ok(());
    };
    let mut whole = None;
    for message in segments {
        whole = match message.segmentation {
            None => Some(message.data),
            Some(segmentation) => {
                let key = key(NODE, segmentation.reference);
                let taken = reassemblies.take(key, segmentation, &message.data, now);
                taken.map_err(|fault| fault.name().to_owned())?
            }
        };
    }
    holds(whole.as_ref() == Some(octets), || {
        "segments are not whole again".to_owned()
    })?;
    reassemblies.expire(now + LONG);
    holds(reassemblies.is_empty(), || "some stay for ever".to_owned())
}

fn on_gateways(octets: &Bytes) -> Result<(), String> {
    for (mode, register) in [
        (TrafficMode::Override, false),
        (TrafficMode::Loadshare, false),
        (TrafficMode::Loadshare, true),
    ] {
        let now = Instant::now();
        let config = SignallingConfig {
            mode,
            register,
            links: 2,
            max_reassemblies: REASSEMBLIES,
            ..SignallingConfig::new(OWN, STP)
        };
        let mut point = SignallingPoint::new(config, now);
        let mut heard = 0;
        for link in [0, 1] {
            point.connected(link, now);
            for kind in [M3uaKind::ASPUP_ACK, M3uaKind::ASPAC_ACK] {
                if let Ok(message) = M3uaMessage::new(kind).encode() {
                    point.received(link, &message, now);
                    heard += 1;
                }
            }
        }
        let mut buffer = BytesMut::from(&octets[..]);
        let framed = std::iter::from_fn(|| next_m3ua(&mut buffer).ok().flatten());
        let all: Vec<Bytes> = framed.chain([octets.clone()]).chain(data(octets)).collect();
        for message in &all {
            point.received(0, message, now);
            point.received(1, message, now);
            heard += 2;
        }
        point.on_tick(now + Duration::from_secs(1));
        let begun = point.reassemblies();
        holds(begun <= REASSEMBLIES, || format!("{begun} are begun"))?;
        point.on_tick(now + LONG);
        let begun = point.reassemblies();
        holds(begun == 0, || format!("{begun} stay for ever"))?;
        let transmits = std::iter::from_fn(|| point.next_transmit()).count();
        let events = std::iter::from_fn(|| point.next_event()).count();
        // Each message is answered, and told of, a few times at most.
        let most = 16 * (heard + 2);
        holds(transmits <= most && events <= most, || {
            format!("{heard} messages make {transmits} and {events} events")
        })?;
    }
    Ok(())
}

fn on_tcap(octets: &Bytes) -> Result<(), String> {
    let Ok(found) = TcapMessage::decode(octets) else {
        return Ok(());
    };
    let written = found.encode();
    let again = TcapMessage::decode(&written).map(|again| again.encode());
    holds(again == Ok(written), || {
        format!("{found:?} comes back as {again:?}")
    })
}

fn on_dialogues(octets: &Bytes) -> Result<(), String> {
    let now = Instant::now();
    let mut table = TcapDialogues::new(TcapConfig {
        max_dialogues: DIALOGUES,
        max_incoming: DIALOGUES,
        max_incoming_of_peer: DIALOGUES / 2,
        ..TcapConfig::default()
    });
    let context = Some(ApplicationContext {
        context: SHORT_MSG_GATEWAY,
        version: 3,
    });
    let operation = MapOperationCode::SEND_ROUTING_INFO_FOR_SM;
    let components = vec![invoke(operation, Bytes::new())];
    let begun = table.begin(context, party(NODE), party(CENTRE), components, now);
    let ours = begun.map_err(|error| error.to_string())?;
    for peer in [STRANGER, NODE, NODE, NODE] {
        for data in [octets.clone(), naming(octets, ours)] {
            table.received(party(CENTRE), party(peer), &data, now);
        }
    }
    let (begun, incoming) = (table.begun(), table.incoming());
    holds(begun <= 1 && incoming <= DIALOGUES, || {
        format!("{begun} of ours, {incoming} of others")
    })?;
    table.returned(1, &naming(octets, ours));
    let known = std::iter::from_fn(|| table.next_event()).count();
    let sent = std::iter::from_fn(|| table.next_unitdata()).count();
    holds(known <= 9 && sent <= 9, || {
        format!("8 messages make {known} events and {sent} answers")
    })?;
    table.on_tick(now + LONG);
    table.on_tick(now + 2 * LONG);
    let open = table.begun() + table.incoming();
    holds(open == 0, || format!("{open} stay for ever"))
}

/// What is read can be written, and what is read of that is written alike.
fn is_stable<V, E>(
    what: &str,
    octets: &[u8],
    read: impl Fn(&[u8]) -> Result<V, E>,
    write: impl Fn(&V) -> Option<Bytes>,
) -> Result<(), String> {
    let found = read(octets).ok();
    let Some(written) = found.as_ref().and_then(&write) else {
        return Ok(());
    };
    let again = read(&written[..]).ok().as_ref().and_then(&write);
    holds(again.as_ref() == Some(&written), || {
        let again = again.as_ref().map(|again| super::hex(again));
        format!(
            "{what} is written as {}, and then as {again:?}",
            super::hex(&written)
        )
    })
}

fn on_map(octets: &Bytes) -> Result<(), String> {
    let code = octets.first().copied().unwrap_or_default();
    let parameter = octets.get(1..).unwrap_or_default();
    for version in [MapVersion::V1, MapVersion::V2, MapVersion::V3] {
        is_stable("a question", octets, RoutingInfoArg::decode, |read| {
            read.encode(version).ok()
        })?;
        is_stable("a location", octets, RoutingInfoResult::decode, |read| {
            read.encode(version).ok()
        })?;
        is_stable("a message", octets, ForwardSmArg::decode, |read| {
            read.encode(version).ok()
        })?;
        is_stable("its result", octets, ForwardSmResult::decode, |read| {
            read.encode(version).ok()
        })?;
        is_stable(
            "a report",
            octets,
            ReportDeliveryStatusArg::decode,
            |read| read.encode(version).ok(),
        )?;
        is_stable(
            "its result",
            octets,
            ReportDeliveryStatusResult::decode,
            |read| read.encode(version).ok(),
        )?;
        is_stable("an alert", octets, AlertServiceCentreArg::decode, |read| {
            read.encode().ok()
        })?;
        is_stable("a notice", octets, InformServiceCentreArg::decode, |read| {
            read.encode(version).ok()
        })?;
        for code in [
            code,
            MapUserError::ABSENT_SUBSCRIBER_SM,
            MapUserError::SM_DELIVERY_FAILURE,
        ] {
            let read = |octets: &[u8]| Ok::<_, ()>(MapUserError::decode(code, octets));
            is_stable("an error", parameter, read, |read| {
                read.encode(version).ok()
            })?;
        }
    }
    Ok(())
}

fn on_session(octets: &Bytes) -> Result<(), String> {
    converse(session(), octets)?;
    converse(guarded_session(), octets)
}

/// A message is under way, while the network answers and begins with these octets.
fn converse(mut session: MapSession<()>, octets: &Bytes) -> Result<(), String> {
    let now = Instant::now();
    let mut network = TcapDialogues::new(TcapConfig::default());
    session
        .send(forward(), (), now)
        .map_err(|error| error.to_string())?;
    let mut ours = DialogueId(0);
    while let Some(request) = session.next_unitdata() {
        ours = DialogueId(request.sequence);
        network.received(request.called, request.calling, &request.data, now);
    }
    while let Some(event) = network.next_event() {
        // Of every second one, the HLR says these octets; of the others nothing.
        if let TcapEvent::Begun { id, .. } = event
            && octets.len() & 1 == 0
        {
            let operation = MapOperationCode::SEND_ROUTING_INFO_FOR_SM.0;
            network.end(id, vec![Component::result(1, operation, octets.clone())]);
        }
    }
    let requests = [
        (SHORT_MSG_MO_RELAY, 3, MapOperationCode::FORWARD_SM),
        (SHORT_MSG_ALERT, 2, MapOperationCode::ALERT_SERVICE_CENTRE),
        (
            SHORT_MSG_GATEWAY,
            3,
            MapOperationCode::SEND_ROUTING_INFO_FOR_SM,
        ),
        (
            SHORT_MSG_GATEWAY,
            3,
            MapOperationCode::REPORT_SM_DELIVERY_STATUS,
        ),
        (SHORT_MSG_MT_RELAY, 3, MapOperationCode::MT_FORWARD_SM),
    ];
    let whose = if octets.len() & 2 == 0 {
        NODE
    } else {
        STRANGER
    };
    for (at, (context, version, operation)) in requests.into_iter().enumerate() {
        let context = Some(ApplicationContext { context, version });
        let components = vec![invoke(operation, octets.clone())];
        // One peer alone may have one dialogue.
        let calling = party(&format!("{whose}{at}"));
        let begun = network.begin(context, party(CENTRE), calling, components, now);
        begun.map_err(|error| error.to_string())?;
    }
    while let Some(request) = network.next_unitdata() {
        session.received(incoming(request), now);
    }
    for data in [octets.clone(), naming(octets, ours)] {
        let unitdata = Unitdata {
            called: party(CENTRE),
            calling: party(NODE),
            data: data.clone(),
        };
        session.received(unitdata, now);
        session.returned(1, &data, now);
    }
    let mut ended = 0;
    // Whatever was begun for the message, versions and nodes are tried one after another.
    for step in 0..20 {
        session.on_tick(now + Duration::from_secs(120) * step);
        while session.next_unitdata().is_some() {}
        while let Some(event) = session.next_event() {
            match event {
                MapEvent::Answer((), _) => ended += 1,
                MapEvent::MoForward { invoke, .. } => session.answer_mo(invoke, Ok(None)),
                MapEvent::RoutingAsked(question) => {
                    session.answer_routing(question.invoke, Ok(CORRELATION_ID));
                }
                MapEvent::Forwarded(forward) => answer_forward(&mut session, &forward, now),
                _ => {}
            }
        }
        let (begun, incoming) = session.dialogues();
        holds(begun <= 2 * DIALOGUES && incoming <= DIALOGUES, || {
            format!("{begun} dialogues of ours, {incoming} of others")
        })?;
    }
    holds(ended == 1 && session.held() == 0, || {
        format!("the message has ended {ended} times")
    })?;
    let open = session.dialogues();
    holds(open == (0, 0), || format!("{open:?} stay for ever"))
}

/// What others bring for an id is taken, unless the firewall finds something.
fn answer_forward(session: &mut MapSession<()>, forward: &ForeignForward, now: Instant) {
    let request = ScreenedRequest {
        operation: ScreenedOperation::MtForward,
        calling_gt: &forward.brought_by,
        service_centre: &forward.service_centre,
        subscriber: &forward.id,
        originator: "",
        routing_asked_by: RoutingAsked::By(NODE),
    };
    let (tpdu, is_counted) = (&forward.tpdu, forward.is_counted);
    match session.screen_routing(&request, tpdu, is_counted, now) {
        None => session.answer_forward(forward.invoke, Ok(()), now),
        Some(_) => session.drop_invoke(forward.invoke),
    }
}
