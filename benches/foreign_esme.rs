//! A sender that nobody of this project wrote: rusmppc (an SMPP 5.0 client), as fast as its windows allow.
//!
//! `cargo bench --bench foreign_esme -- HOST:PORT [messages] [binds] [window]` binds transceivers as account *test*, keeps
//! the window of each full, answers every receipt, and prints messages a second from the first submit_sm to
//! the last receipt. It takes the port of an SMSC, or of `smsc simulate`: so the same sender is measured straight
//! into the operator.

use std::str::FromStr as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use rusmpp::Pdu;
use rusmpp::pdus::{BindTransceiver, DeliverSmResp, SubmitSm};
use rusmpp::types::{COctetString, OctetString};
use rusmpp::values::RegisteredDelivery;
use rusmppc::{Client, ConnectionBuilder, Event};

const PATIENCE: Duration = Duration::from_secs(60);
const TEXT: &str = "A text of sixty octets, as the other benchmarks send it, too";

#[tokio::main]
async fn main() {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let Some(address) = words.next() else {
        eprintln!(
            "usage: cargo bench --bench foreign_esme -- HOST:PORT [messages] [binds] [window]"
        );
        return;
    };
    let mut numbers = words.filter_map(|word| word.parse::<u64>().ok());
    let messages = numbers.next().unwrap_or(100_000);
    let binds = numbers.next().unwrap_or(4);
    let window = numbers.next().unwrap_or(250);
    let receipts = Arc::new(AtomicU64::new(0));
    let mut clients = Vec::new();
    for _ in 0..binds {
        clients.push(bind(&address, &receipts).await);
    }
    let started = Instant::now();
    let each = messages / binds;
    let sending = clients
        .iter()
        .map(|client| send(client, each, window as usize));
    let accepted: u64 = join_all(sending).await.into_iter().sum();
    let answered = started.elapsed();
    while receipts.load(Ordering::Relaxed) < accepted && started.elapsed() < answered + PATIENCE {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let told = receipts.load(Ordering::Relaxed);
    println!(
        "{} sent, {accepted} accepted, {told} receipts; {:.0} accepted a second, {:.0} a second end to end",
        each * binds,
        accepted as f64 / answered.as_secs_f64(),
        told as f64 / started.elapsed().as_secs_f64(),
    );
}

/// A bound client whose receipts are answered and counted.
async fn bind(address: &str, receipts: &Arc<AtomicU64>) -> Client {
    let connecting = ConnectionBuilder::new()
        .response_timeout(PATIENCE)
        .connect(format!("smpp://{address}"));
    let (client, events) = connecting.await.expect("a connection");
    let bind = BindTransceiver::builder()
        .system_id(COctetString::from_str("test").expect("short enough"))
        .password(COctetString::from_str("test").expect("short enough"))
        .build();
    client.bind_transceiver(bind).await.expect("a bind");
    let (answers, receipts) = (client.clone(), Arc::clone(receipts));
    tokio::spawn(async move {
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.next().await {
            if let Event::Incoming(command) = event
                && let Some(Pdu::DeliverSm(_)) = command.pdu()
            {
                receipts.fetch_add(1, Ordering::Relaxed);
                let (answers, sequence) = (answers.clone(), command.sequence_number());
                // Not awaited here: the connection does not go on while its events wait to be taken.
                tokio::spawn(async move {
                    let answer = answers.deliver_sm_resp(sequence, DeliverSmResp::default());
                    answer.await.expect("an open session");
                });
            }
        }
    });
    client
}

/// Keeps the window full; returns how many were accepted.
async fn send(client: &Client, messages: u64, window: usize) -> u64 {
    let submissions = stream::iter(0..messages).map(|number| async move {
        let message = SubmitSm::builder()
            .source_addr(COctetString::from_str("12345").expect("short enough"))
            .destination_addr(
                COctetString::from_str(&format!("4477{number:08}")).expect("short enough"),
            )
            .registered_delivery(RegisteredDelivery::request_all())
            .short_message(OctetString::from_str(TEXT).expect("short enough"))
            .build();
        client.submit_sm(message).await.is_ok()
    });
    let accepted = submissions.buffer_unordered(window);
    accepted
        .filter(|accepted| std::future::ready(*accepted))
        .count()
        .await as u64
}
