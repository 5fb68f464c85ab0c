//! The simulated core, asked by a client of its own.

use std::time::Instant;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use crate::simulator::SimulatorOptions;
use smsc_gsup::message::{GsupMessage, REFERENCE_UNKNOWN, SmRpAddress};
use smsc_gsup::message_type::MessageType;
use smsc_gsup::session::{GsupEvent, GsupRole, GsupSession, GsupSessionConfig};
use smsc_sms::tpdu::{Deliver, TimeStamp, Tpdu, TpduAddress, UserData};

/// A client that has shaken hands.
struct Client {
    socket: TcpStream,
    session: GsupSession<u32>,
    out: BytesMut,
}

impl Client {
    async fn connect(address: std::net::SocketAddr) -> Self {
        let socket = TcpStream::connect(address).await.unwrap();
        let second = std::time::Duration::from_secs(60);
        let config = GsupSessionConfig {
            role: GsupRole::Client,
            name: Bytes::from_static(b"SMSC-1"),
            ping_every: second,
            patience: second,
            request_timeout: second,
            late: second,
            window: 10,
        };
        let mut out = BytesMut::new();
        let session = GsupSession::new(config, Instant::now(), &mut out);
        let mut client = Self {
            socket,
            session,
            out,
        };
        assert_eq!(client.next().await, GsupEvent::Ready(None));
        client
    }

    async fn next(&mut self) -> GsupEvent<u32> {
        loop {
            if let Some(event) = self.session.next_event(&mut self.out) {
                self.flush().await;
                return event;
            }
            self.flush().await;
            let mut read = BytesMut::new();
            let count = self.socket.read_buf(&mut read).await.unwrap();
            assert!(count > 0, "closed");
            self.session.receive(&read, Instant::now());
        }
    }

    async fn flush(&mut self) {
        self.socket.write_all_buf(&mut self.out).await.unwrap();
    }

    async fn deliver(&mut self, imsi: &str, text: &'static str) -> GsupMessage {
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
        let request = GsupMessage {
            reference: Some(REFERENCE_UNKNOWN),
            destination: Some(SmRpAddress::Imsi(imsi.to_owned())),
            originator: Some(SmRpAddress::ServiceCentre(TpduAddress::international("49"))),
            user_information: Some(Tpdu::Deliver(deliver).encode().unwrap().into()),
            ..GsupMessage::new(MessageType::MT_FORWARD_SM_REQUEST, imsi)
        };
        let sent = self
            .session
            .send(&request, 7, Instant::now(), &mut self.out);
        assert_eq!(sent, Ok(()));
        self.flush().await;
        match self.next().await {
            GsupEvent::Answer(7, answer) => *answer,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn phones_behave_as_they_are_told() {
    let core = GsmCore::bind(GsmCoreOptions {
        like: SimulatorOptions {
            listen: "127.0.0.1:0".to_owned(),
            ..SimulatorOptions::default()
        },
        keep: true,
        ..GsmCoreOptions::default()
    });
    let core = core.await.unwrap();
    let (address, phones) = (core.local_addr(), core.phones());
    tokio::spawn(core.run());
    let mut client = Client::connect(address).await;
    let (here, full, away) = ("001010000000001", "001010000000002", "001010000000003");
    phones.set(full, Phone::Refuses(22));
    phones.set(away, Phone::Away(0x0A));

    let answer = client.deliver(here, "hello").await;
    assert_eq!(answer.message_type, MessageType::MT_FORWARD_SM_RESULT);
    assert_ne!(answer.reference, Some(REFERENCE_UNKNOWN), "that of an MSC");
    assert_eq!(client.deliver(full, "x").await.rp_cause, Some(22));
    assert_eq!(client.deliver(away, "x").await.cause, Some(0x0A));
    let taken = phones.delivered(here);
    assert_eq!((taken[0].text.as_str(), taken.len()), ("hello", 1));
    assert_eq!(taken[0].from, "ACME");
    assert_eq!((phones.counts(), phones.overlaps()), ((1, 2), 0));
    assert_eq!(phones.connected(), ["SMSC-1"]);

    phones.ready(full, 2);
    match client.next().await {
        GsupEvent::Message(alert) => {
            assert_eq!(alert.message_type, MessageType::READY_FOR_SM_REQUEST);
            assert_eq!(alert.alert_reason, Some(2));
        }
        other => panic!("{other:?}"),
    }
}
