//! Associations of the kernel with itself; where it has no SCTP, what is said then.

use std::net::SocketAddr;
use std::time::Duration;

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

/// Both ends of an association over loopback, of which the one that listens grants `streams`.
async fn pair(streams: u16) -> (SctpConnection, SctpConnection) {
    let options = |streams| SctpOptions {
        streams,
        ..SctpOptions::default()
    };
    let here: [SocketAddr; 2] = ["127.0.0.1:0", "127.0.0.2:0"].map(|text| text.parse().unwrap());
    let listener = SctpListener::bind(&here, &options(streams)).unwrap();
    let port = listener.local_addr().port();
    let there = here.map(|address| SocketAddr::new(address.ip(), port));
    let from: [SocketAddr; 2] = ["127.0.0.3:0", "127.0.0.4:0"].map(|text| text.parse().unwrap());
    let options = options(16);
    let connect = SctpConnection::connect(&from, &there, &options);
    let (accepted, connected) = tokio::join!(listener.accept(), connect);
    (connected.unwrap(), accepted.unwrap().0)
}

/// The next message; what the kernel tells in between is passed over.
async fn message(connection: &mut SctpConnection) -> SctpMessage {
    loop {
        let next = tokio::time::timeout(PATIENCE, connection.next()).await;
        match next.unwrap().unwrap() {
            SctpEvent::Message(message) => return message,
            SctpEvent::Notification(_) => {}
            SctpEvent::Closed => panic!("closed"),
        }
    }
}

/// What is told until the association is over.
async fn ending(connection: &mut SctpConnection) -> Vec<AssociationChange> {
    let mut told = Vec::new();
    loop {
        let next = tokio::time::timeout(PATIENCE, connection.next()).await;
        match next.unwrap() {
            Ok(SctpEvent::Notification(SctpNotification::Association { change, .. })) => {
                told.push(change);
            }
            Ok(SctpEvent::Closed) | Err(_) => return told,
            Ok(_) => {}
        }
    }
}

#[tokio::test]
async fn a_kernel_without_sctp_says_what_to_do() {
    if is_supported() {
        return;
    }
    let there = ["127.0.0.1:2905".parse().unwrap()];
    let options = SctpOptions::default();
    let error = SctpConnection::connect(&[], &there, &options).await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    assert_eq!(error.to_string(), NOT_THERE);
    let error = SctpListener::bind(&there, &options).unwrap_err();
    assert_eq!(error.to_string(), NOT_THERE);
}

#[tokio::test]
async fn an_association_needs_an_address() {
    let error = SctpConnection::connect(&[], &[], &SctpOptions::default()).await;
    assert_eq!(error.unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

#[tokio::test]
async fn messages_come_whole_and_on_their_streams() {
    if !is_supported() {
        return;
    }
    let (mut ours, mut theirs) = pair(4).await;
    assert_eq!(ours.writer().streams(), 4, "of 16 that were asked for");
    let long = vec![0xA5; 40_000];
    let sent: [(u16, &[u8]); 4] = [(0, b"first"), (1, b"second"), (3, &long), (7, b"fourth")];
    for (stream, octets) in sent {
        ours.send(stream, octets).await.unwrap();
    }
    for (stream, octets) in [
        (0, sent[0].1),
        (1, sent[1].1),
        (3, sent[2].1),
        (1, sent[3].1),
    ] {
        let message = message(&mut theirs).await;
        assert_eq!((message.stream, &message.octets[..]), (stream, octets));
        assert_eq!(message.payload_protocol, M3UA);
    }
    theirs.send(2, b"answer").await.unwrap();
    assert_eq!(&message(&mut ours).await.octets[..], b"answer");
    let paths = ours.writer().paths().unwrap();
    assert_eq!(paths.len(), 2, "{paths:?}");
}

#[tokio::test]
async fn a_message_without_end_ends_the_association() {
    if !is_supported() {
        return;
    }
    let (ours, mut theirs) = pair(2).await;
    // Larger than what is taken, smaller than the kernel's buffer.
    ours.send(1, &vec![1; MESSAGE_MAX + 1]).await.unwrap();
    loop {
        match theirs.next().await {
            Ok(SctpEvent::Notification(_)) => {}
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
                return;
            }
            Ok(other) => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn how_an_association_ends_is_told() {
    if !is_supported() {
        return;
    }
    let (mut ours, mut theirs) = pair(2).await;
    theirs.send(1, b"last").await.unwrap();
    theirs.writer().shut_down().unwrap();
    assert_eq!(&message(&mut ours).await.octets[..], b"last");
    let told = ending(&mut ours).await;
    assert_eq!(told.last(), Some(&AssociationChange::ShutDown), "{told:?}");
    // The side that has shut down reads no end of it by itself.
    let told = ending(&mut theirs).await;
    assert_eq!(told.last(), Some(&AssociationChange::ShutDown), "{told:?}");

    let (mut ours, theirs) = pair(2).await;
    theirs.writer().abort_when_dropped().unwrap();
    drop(theirs);
    let told = ending(&mut ours).await;
    assert!(told.contains(&AssociationChange::Lost), "{told:?}");
    assert!(ours.send(1, b"too late").await.is_err());
}

#[tokio::test]
async fn nobody_there_is_an_error() {
    if !is_supported() {
        return;
    }
    let here = ["127.0.0.1:0".parse().unwrap()];
    let options = SctpOptions::default();
    // A port that is free again.
    let free = SctpListener::bind(&here, &options).unwrap().local_addr();
    let there = [free];
    let connect = SctpConnection::connect(&[], &there, &options);
    let error = tokio::time::timeout(PATIENCE, connect).await.unwrap();
    let error = error.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused, "{error}");
}
