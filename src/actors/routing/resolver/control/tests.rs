//! The connection to an HLR on a paused clock, over a pipe in memory whose other end a test plays.

use tokio::io::DuplexStream;

use super::*;
use crate::domain::imsi;
use crate::gsup::ipa::{OSMO, write_frame};

const TIMEOUT: Duration = Duration::from_secs(2);
const IMSI: &str = "001010000000001";

/// The task, with the ends of the connections that it makes.
struct Scene {
    questions: mpsc::Sender<ControlQuestion>,
    peers: mpsc::Receiver<DuplexStream>,
    /// Whether an attempt to connect succeeds.
    listens: Arc<Mutex<bool>>,
}

/// The HLR's end of a connection.
struct Peer {
    stream: DuplexStream,
    buffer: BytesMut,
}

fn scene() -> Scene {
    let (questions, asked) = mpsc::channel(8);
    let (accepted, peers) = mpsc::channel(8);
    let listens = Arc::new(Mutex::new(true));
    let options = ControlOptions {
        address: "hlr.example:4259".to_owned(),
        timeout: TIMEOUT,
        is_answer: imsi::is_imsi,
    };
    let is_there = Arc::clone(&listens);
    tokio::spawn(run(options, asked, move || {
        let (accepted, is_there) = (accepted.clone(), *is_there.lock().unwrap());
        async move {
            if !is_there {
                return Err(io::Error::from(io::ErrorKind::ConnectionRefused));
            }
            let (ours, theirs) = tokio::io::duplex(64 * 1024);
            accepted.try_send(theirs).unwrap();
            Ok(ours)
        }
    }));
    Scene {
        questions,
        peers,
        listens,
    }
}

impl Scene {
    fn ask(&self, number: &str) -> oneshot::Receiver<Result<String, LookupError>> {
        let (answer, answered) = oneshot::channel();
        let question = ControlQuestion {
            number: number.to_owned(),
            until: Instant::now() + TIMEOUT,
            answer,
        };
        self.questions.try_send(question).ok().unwrap();
        answered
    }

    async fn peer(&mut self) -> Peer {
        Peer {
            stream: self.peers.recv().await.unwrap(),
            buffer: BytesMut::new(),
        }
    }
}

impl Peer {
    /// The next request.
    async fn request(&mut self) -> String {
        loop {
            if let Some(frame) = next_frame(&mut self.buffer, FRAME_MAX).unwrap() {
                return String::from_utf8(frame.payload[1..].to_vec()).unwrap();
            }
            let read = self.stream.read_buf(&mut self.buffer).await.unwrap();
            assert!(read > 0, "the connection was closed");
        }
    }

    async fn say(&mut self, text: &str) {
        let mut out = BytesMut::new();
        write_frame(OSMO, &[&[ctrl::CTRL], text.as_bytes()], &mut out).unwrap();
        self.stream.write_all(&out).await.unwrap();
    }

    /// Whether the other side closes the connection.
    async fn is_closed(&mut self) -> bool {
        self.stream.read_buf(&mut self.buffer).await.unwrap() == 0
    }
}

#[tokio::test(start_paused = true)]
async fn answers_are_matched_by_their_number() {
    let mut scene = scene();
    let first = scene.ask("491");
    let mut peer = scene.peer().await;
    let second = scene.ask("492");
    let third = scene.ask("493");
    assert_eq!(peer.request().await, "GET 1 subscriber.by-msisdn-491.imsi");
    assert_eq!(peer.request().await, "GET 2 subscriber.by-msisdn-492.imsi");
    assert_eq!(peer.request().await, "GET 3 subscriber.by-msisdn-493.imsi");
    peer.say("ERROR 3 No such subscriber.").await;
    peer.say("TRAP 0 something 1").await;
    peer.say("GET_REPLY 9 subscriber.by-msisdn-491.imsi 99999999")
        .await;
    peer.say("GET_REPLY 2 subscriber.by-msisdn-492.imsi 001010000000002")
        .await;
    peer.say(&format!("GET_REPLY 1 subscriber.by-msisdn-491.imsi {IMSI}"))
        .await;
    assert_eq!(first.await.unwrap().unwrap(), IMSI);
    assert_eq!(second.await.unwrap().unwrap(), "001010000000002");
    assert_eq!(third.await.unwrap().unwrap(), "", "nobody has the number");
}

#[tokio::test(start_paused = true)]
async fn an_old_hlr_is_asked_for_all_about_the_subscriber() {
    let mut scene = scene();
    let first = scene.ask("491");
    let mut peer = scene.peer().await;
    peer.request().await;
    peer.say("ERROR 1 Command not found").await;
    assert_eq!(peer.request().await, "GET 2 subscriber.by-msisdn-491.info");
    let info = format!("GET_REPLY 2 subscriber.by-msisdn-491.info \nid\t1\nimsi\t{IMSI}\n");
    peer.say(&info).await;
    assert_eq!(first.await.unwrap().unwrap(), IMSI);
    let _second = scene.ask("492");
    assert_eq!(
        peer.request().await,
        "GET 3 subscriber.by-msisdn-492.info",
        "at once"
    );
}

#[tokio::test(start_paused = true)]
async fn lies_are_errors_and_end_the_connection_where_nothing_can_be_believed() {
    let mut scene = scene();
    let mut answer = scene.ask("491");
    let mut peer = scene.peer().await;
    for lie in ["not-digits", "12345", "0010100000000012345"] {
        let request = peer.request().await;
        let id = request.split(' ').nth(1).unwrap();
        peer.say(&format!(
            "GET_REPLY {id} subscriber.by-msisdn-491.imsi {lie}"
        ))
        .await;
        let error = answer.await.unwrap().unwrap_err();
        assert!(matches!(error, LookupError::Unusable(_)), "{lie}: {error}");
        assert!(!error.to_string().contains(lie), "{error}");
        answer = scene.ask("491");
    }
    let request = peer.request().await;
    let id = request.split(' ').nth(1).unwrap();
    let pending = scene.ask("492");
    peer.say(&format!(
        "GET_REPLY {id} subscriber.by-msisdn-499.imsi {IMSI}"
    ))
    .await;
    assert!(matches!(
        answer.await.unwrap(),
        Err(LookupError::Unusable(_))
    ));
    assert!(matches!(
        pending.await.unwrap(),
        Err(LookupError::Unreachable(_))
    ));
    while !peer.is_closed().await {}

    tokio::time::sleep(PAUSE * 2).await;
    let answer = scene.ask("491");
    let mut peer = scene.peer().await;
    peer.request().await;
    // The length of a frame that is longer than any.
    peer.stream.write_all(&[0xFF, 0xFF, 0xEE]).await.unwrap();
    assert!(matches!(
        answer.await.unwrap(),
        Err(LookupError::Unreachable(_))
    ));
}

#[tokio::test(start_paused = true)]
async fn one_that_is_late_loses_its_question_and_one_that_is_silent_its_connection() {
    let mut scene = scene();
    let late = scene.ask("491");
    let mut peer = scene.peer().await;
    peer.request().await;
    tokio::time::sleep(TIMEOUT / 2).await;
    let other = scene.ask("492");
    peer.request().await;
    peer.say("GET_REPLY 2 subscriber.by-msisdn-492.imsi 001010000000002")
        .await;
    assert!(other.await.unwrap().is_ok());
    let before = Instant::now();
    assert!(matches!(
        late.await.unwrap(),
        Err(LookupError::Unreachable(_))
    ));
    assert!(before.elapsed() < TIMEOUT);

    let silent = scene.ask("493");
    assert!(
        peer.request().await.ends_with("493.imsi"),
        "on the same connection"
    );
    assert!(matches!(
        silent.await.unwrap(),
        Err(LookupError::Unreachable(_))
    ));
    assert!(peer.is_closed().await);
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_is_made_again_after_a_pause() {
    let mut scene = scene();
    let first = scene.ask("491");
    let mut peer = scene.peer().await;
    peer.request().await;
    *scene.listens.lock().unwrap() = false;
    drop(peer);
    assert!(matches!(
        first.await.unwrap(),
        Err(LookupError::Unreachable(_))
    ));
    let began = Instant::now();
    assert!(scene.ask("491").await.unwrap().is_err(), "within the pause");
    assert_eq!(began.elapsed(), Duration::ZERO, "nothing is waited for");
    tokio::time::sleep(PAUSE * 2).await;
    assert!(scene.ask("491").await.unwrap().is_err(), "nobody listens");
    *scene.listens.lock().unwrap() = true;
    tokio::time::sleep(PAUSE * 2).await;
    let again = scene.ask("491");
    let mut peer = scene.peer().await;
    peer.request().await;
    peer.say(&format!("GET_REPLY 1 subscriber.by-msisdn-491.imsi {IMSI}"))
        .await;
    assert_eq!(again.await.unwrap().unwrap(), IMSI);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_number_is_not_asked_for() {
    let control = Control::new(ControlOptions {
        address: "127.0.0.1:1".to_owned(),
        timeout: TIMEOUT,
        is_answer: imsi::is_imsi,
    });
    for name in ["ACME", "", "+", "49 1"] {
        assert_eq!(control.ask(name.as_bytes()).await.unwrap(), "", "{name}");
    }
    assert!(lock(&control.line).is_none(), "nothing was connected");
}
