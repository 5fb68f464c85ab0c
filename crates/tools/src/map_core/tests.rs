//! The simulated network, asked by a service centre of its own.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use crate::simulator::SimulatorOptions;
use smsc_map::session::{FailedPart, HlrAddress, MoRefusal};
use smsc_map::{
    MapEvent, MapSession, MapSessionConfig, MapVersion, MtForward, MtOutcome, ServingNode,
    SmDeliveryOutcome,
};
use smsc_sigtran::address::ssn;
use smsc_sigtran::{
    GlobalTitle, SccpAddress, SignallingConfig, SignallingEvent, SignallingPoint, TrafficMode,
    next_m3ua,
};
use smsc_sms::tpdu::{Deliver, SmsSubmit, TimeStamp, Tpdu, TpduAddress, UserData};

const CENTRE: &str = "49160000";
const SUBSCRIBER: &str = "4917100001";
const PATIENCE: Duration = Duration::from_secs(20);

/// A service centre that is active.
struct Centre {
    socket: TcpStream,
    read: BytesMut,
    point: SignallingPoint,
    session: MapSession<u32>,
}

async fn network(change: impl FnOnce(&mut MapCoreOptions)) -> (SocketAddr, Arc<MapPhones>) {
    let mut options = MapCoreOptions::default();
    options.core.like = SimulatorOptions {
        listen: "127.0.0.1:0".to_owned(),
        ..SimulatorOptions::default()
    };
    options.core.keep = true;
    change(&mut options);
    let core = MapCore::bind(options).await.unwrap();
    let (address, phones) = (core.local_addr().unwrap(), core.phones());
    tokio::spawn(core.run());
    (address, phones)
}

fn message(text: &'static str) -> MtForward {
    let deliver = Deliver {
        originating_address: TpduAddress::alphanumeric("ACME"),
        service_centre_time_stamp: TimeStamp {
            month: 1,
            day: 1,
            ..TimeStamp::default()
        },
        user_data: UserData {
            body: Bytes::from_static(text.as_bytes()),
            ..UserData::default()
        },
        ..Deliver::default()
    };
    MtForward {
        msisdn: SUBSCRIBER.to_owned(),
        imsi: None,
        tpdu: Tpdu::Deliver(deliver).encode().unwrap().into(),
        more: false,
        priority: true,
    }
}

// === impl Centre ===

impl Centre {
    async fn connect(address: SocketAddr, point_code: u32) -> Self {
        let signalling = SignallingConfig {
            register: true,
            mode: TrafficMode::Loadshare,
            ..SignallingConfig::new(PointCode(point_code), PointCode(17))
        };
        let now = Instant::now();
        let own = SccpAddress::of_title(GlobalTitle::international(CENTRE, 0), ssn::MSC);
        let session = MapSessionConfig {
            hlr: HlrAddress::ByMsisdn {
                translation_type: 0,
            },
            serving_nodes: vec![ServingNode::Msc, ServingNode::Sgsn],
            route_cache: Duration::ZERO,
            ..MapSessionConfig::new(CENTRE, own)
        };
        let mut centre = Self {
            socket: TcpStream::connect(address).await.unwrap(),
            read: BytesMut::new(),
            point: SignallingPoint::new(signalling, now),
            session: MapSession::new(session),
        };
        centre.point.connected(0, now);
        while !centre.point.is_active() {
            centre.turn().await;
        }
        centre.session.set_ready(true);
        centre
    }

    /// Writes what is to be written, and reads once.
    async fn turn(&mut self) {
        let now = Instant::now();
        while let Some(request) = self.session.next_unitdata() {
            self.point.send(&request, now).unwrap();
        }
        while let Some(transmit) = self.point.next_transmit() {
            self.socket.write_all(&transmit.octets).await.unwrap();
        }
        let read = self.socket.read_buf(&mut self.read);
        let count = tokio::time::timeout(PATIENCE, read).await.unwrap().unwrap();
        assert!(count > 0, "closed");
        while let Some(octets) = next_m3ua(&mut self.read).unwrap() {
            self.point.received(0, &octets, now);
        }
        while let Some(event) = self.point.next_event() {
            match event {
                SignallingEvent::Unitdata(unitdata) => self.session.received(unitdata, now),
                SignallingEvent::Returned { cause, data, .. } => {
                    self.session.returned(cause, &data, now);
                }
                SignallingEvent::Active => {}
                other => panic!("{other:?}"),
            }
        }
    }

    async fn event(&mut self) -> MapEvent<u32> {
        loop {
            if let Some(event) = self.session.next_event() {
                return event;
            }
            self.turn().await;
        }
    }

    async fn deliver(&mut self, forward: MtForward) -> MtOutcome {
        self.session.send(forward, 7, Instant::now()).unwrap();
        match self.event().await {
            MapEvent::Answer(7, outcome) => outcome,
            other => panic!("{other:?}"),
        }
    }

    async fn fails(&mut self, text: &'static str) -> (u32, FailedPart) {
        match self.deliver(message(text)).await {
            MtOutcome::Failed { status, of, .. } => (status, of),
            other @ MtOutcome::Delivered { .. } => panic!("{other:?}"),
        }
    }
}

fn named(name: &str) -> u32 {
    smsc_domain::gsm_result::parse(name).unwrap()
}

#[tokio::test]
async fn a_message_reaches_its_handset() {
    let (address, phones) = network(|_| {}).await;
    let mut centre = Centre::connect(address, 9).await;
    let outcome = centre.deliver(message("hello")).await;
    let MtOutcome::Delivered { imsi, .. } = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(imsi, imsi_of(SUBSCRIBER));
    assert_eq!(imsi, "001014917100001");
    let taken = phones.delivered(SUBSCRIBER);
    assert_eq!((taken[0].text.as_str(), taken.len()), ("hello", 1));
    assert_eq!(taken[0].from, "ACME");
    assert_eq!((phones.counts(), phones.overlaps()), ((1, 0), 0));
    assert_eq!((phones.routing_asked(), phones.connections()), (1, (1, 1)));
    assert_eq!(phones.dialogues(), 0);
}

#[tokio::test]
async fn messages_of_a_run_share_a_dialogue() {
    let (address, phones) = network(|_| {}).await;
    let mut centre = Centre::connect(address, 9).await;
    for (text, more) in [("one", true), ("two", true), ("three", false)] {
        let forward = MtForward {
            more,
            ..message(text)
        };
        let outcome = centre.deliver(forward).await;
        assert!(
            matches!(outcome, MtOutcome::Delivered { .. }),
            "{outcome:?}"
        );
        assert_eq!(phones.dialogues(), usize::from(more), "{text}");
    }
    let texts = phones.delivered(SUBSCRIBER);
    let texts: Vec<&str> = texts.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(texts, ["one", "two", "three"]);
    assert_eq!(phones.routing_asked(), 1);
}

/// What a service centre makes of each mood.
#[tokio::test]
async fn subscribers_are_served_as_is_told() {
    let (address, phones) = network(|_| {}).await;
    let mut centre = Centre::connect(address, 9).await;
    for (phone, name, of) in [
        (
            MapPhone::at_msc(MapMood::Refuses(22)),
            "MAP_MEMORY_CAPACITY_EXCEEDED",
            FailedPart::Forward,
        ),
        (
            MapPhone::at_msc(MapMood::Aborts),
            "MAP_USER_ABORT",
            FailedPart::Forward,
        ),
        (
            MapPhone::at_hlr(MapMood::Fails(1)),
            "MAP_UNKNOWN_SUBSCRIBER",
            FailedPart::Routing,
        ),
        (
            MapPhone::at_hlr(MapMood::ComesBack(1)),
            "SCCP_NO_TRANSLATION",
            FailedPart::Routing,
        ),
    ] {
        phones.set(SUBSCRIBER, phone);
        assert_eq!(centre.fails("x").await, (named(name), of), "{phone:?}");
    }
    let nobody = MtForward {
        msisdn: "0001234567".to_owned(),
        ..message("x")
    };
    let outcome = centre.deliver(nobody).await;
    assert!(matches!(outcome, MtOutcome::Failed { .. }), "{outcome:?}");
    assert_eq!(phones.counts(), (0, 2));
}

#[tokio::test]
async fn who_is_absent_at_the_msc_may_be_at_the_sgsn() {
    let (address, phones) = network(|_| {}).await;
    let mut centre = Centre::connect(address, 9).await;
    let phone = MapPhone {
        sgsn: Some(MapMood::Fine),
        ..MapPhone::at_msc(MapMood::Absent(Some(1)))
    };
    phones.set(SUBSCRIBER, phone);
    let outcome = centre.deliver(message("hello")).await;
    assert!(
        matches!(outcome, MtOutcome::Delivered { .. }),
        "{outcome:?}"
    );
    assert_eq!(phones.counts(), (1, 1));
}

#[tokio::test]
async fn earlier_versions_are_spoken() {
    for version in [2, 1] {
        let (address, phones) = network(|options| {
            options.hlr_version = version;
            options.msc_version = version;
        })
        .await;
        let mut centre = Centre::connect(address, 9).await;
        let outcome = centre.deliver(message("hello")).await;
        assert!(
            matches!(outcome, MtOutcome::Delivered { .. }),
            "version {version}: {outcome:?}"
        );
        assert_eq!(phones.counts(), (1, 0));
    }
}

#[tokio::test]
async fn who_was_absent_is_told_to_be_there() {
    let (address, phones) = network(|_| {}).await;
    let mut centre = Centre::connect(address, 9).await;
    phones.set(SUBSCRIBER, MapPhone::at_msc(MapMood::Absent(Some(1))));
    centre.fails("x").await;
    while phones.delivery_reports().is_empty() {
        centre.turn().await;
    }
    let report = &phones.delivery_reports()[0];
    assert_eq!(report.outcome, Some(SmDeliveryOutcome::AbsentSubscriber));
    assert_eq!(report.msisdn.text, SUBSCRIBER);
    phones.ready(SUBSCRIBER);
    let event = centre.event().await;
    let ready = MapEvent::SubscriberReady {
        msisdn: SUBSCRIBER.to_owned(),
    };
    assert_eq!(event, ready);
}

#[tokio::test]
async fn messages_of_handsets_are_answered() {
    let (address, phones) = network(|options| options.smsc = Some(CENTRE.to_owned())).await;
    let mut centre = Centre::connect(address, 9).await;
    let submit = SmsSubmit {
        destination_address: TpduAddress::international("12345"),
        user_data: UserData {
            body: Bytes::from_static(b"hello"),
            ..UserData::default()
        },
        ..SmsSubmit::default()
    };
    let tpdu: Bytes = Tpdu::Submit(submit).encode().unwrap().into();
    let imsi = imsi_of(SUBSCRIBER);
    for refusal in [None, Some(50)] {
        assert!(phones.submit(&imsi, SUBSCRIBER, CENTRE, tpdu.clone()));
        let MapEvent::MoForward {
            invoke,
            msisdn,
            tpdu: came,
            ..
        } = centre.event().await
        else {
            panic!("no message");
        };
        assert_eq!((msisdn.as_deref(), &came), (Some(SUBSCRIBER), &tpdu));
        assert_eq!(invoke.version, MapVersion::V3);
        let answer = match refusal {
            None => Ok(None),
            Some(cause) => Err(MoRefusal {
                cause,
                report: None,
            }),
        };
        centre.session.answer_mo(invoke, answer);
    }
    // Written before the next thing is read.
    phones.ready(SUBSCRIBER);
    centre.event().await;
    while phones.answers().len() < 2 {
        phones.ready(SUBSCRIBER);
        centre.turn().await;
    }
    assert_eq!(phones.answers(), [(imsi.clone(), 0), (imsi, 32)]);
}

/// Two service centres of one global title get the answers to their own questions.
#[tokio::test]
async fn answers_go_to_who_has_asked() {
    let (address, phones) = network(|_| {}).await;
    let mut first = Centre::connect(address, 9).await;
    let mut second = Centre::connect(address, 10).await;
    for centre in [&mut first, &mut second] {
        let outcome = centre.deliver(message("hello")).await;
        assert!(
            matches!(outcome, MtOutcome::Delivered { .. }),
            "{outcome:?}"
        );
    }
    assert_eq!((phones.counts(), phones.connections()), ((2, 0), (2, 2)));
}

#[tokio::test]
async fn a_kernel_without_sctp_is_told_of() {
    let options = MapCoreOptions {
        transport: MapTransport::Sctp,
        ..MapCoreOptions::default()
    };
    let bound = MapCore::bind(options).await;
    if !smsc_sctp::is_supported() {
        assert_eq!(bound.unwrap_err().to_string(), smsc_sctp::NOT_THERE);
    }
}
