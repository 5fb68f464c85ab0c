//! The sender as an application writes it: every submit_sm and every receipt goes through a client library that is not
//! ours (rusmppc), with its session, its pending requests and its tasks.

use std::str::FromStr as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt as _, stream};
use rusmpp::pdus::{BindTransceiver, DeliverSmResp};
use rusmpp::types::COctetString;
use rusmpp::{CommandStatus, Pdu};
use rusmppc::error::Error;
use rusmppc::{Client, ConnectionBuilder, Event};
use tokio::runtime::Runtime;
use tokio::time::sleep;

use crate::{LOOK_AFTER, Load, Outcome, PATIENCE, Totals, message};

/// Sends the shares of all binds, a client each. Returns when the last answer and the last receipt came.
pub fn send(
    address: &str,
    loads: Vec<Load>,
    totals: &Arc<Totals>,
) -> Outcome<(Duration, Duration)> {
    Runtime::new()?.block_on(async {
        let mut clients = Vec::new();
        for load in loads {
            clients.push((bind(address).await?, load));
        }
        let (started, mut everything, mut pushing) = (Instant::now(), 0, Vec::new());
        for ((client, events), load) in clients {
            everything = load.everything;
            tokio::spawn(hear(client.clone(), events, Arc::clone(totals)));
            pushing.push(tokio::spawn(push(client, load, Arc::clone(totals))));
        }
        for pushed in pushing {
            pushed.await??;
        }
        let last_answer = started.elapsed();
        let (mut heard, mut before) = (Instant::now(), 0);
        while !totals.is_complete(everything) {
            let receipts = totals.receipts.load(Ordering::Acquire);
            if receipts != before {
                (heard, before) = (Instant::now(), receipts);
            } else if heard.elapsed() > PATIENCE {
                return Err(format!("nothing has come for {PATIENCE:?}").into());
            }
            sleep(LOOK_AFTER / 20).await;
        }
        Ok((last_answer, started.elapsed()))
    })
}

async fn bind(address: &str) -> Outcome<(Client, impl Stream<Item = Event> + Unpin + use<>)> {
    let (client, events) = ConnectionBuilder::new()
        .response_timeout(PATIENCE)
        .connect(format!("smpp://{address}"))
        .await?;
    let bind = BindTransceiver::builder()
        .system_id(COctetString::from_str("test")?)
        .password(COctetString::from_str("test")?);
    client.bind_transceiver(bind.build()).await?;
    Ok((client, events))
}

/// Keeps the window full until all are answered.
async fn push(client: Client, load: Load, totals: Arc<Totals>) -> Outcome<()> {
    let client = &client;
    let submit = |number| async move {
        match client.submit_sm(message(load.first + number)?).await {
            Ok(_) => Ok(1),
            Err(Error::UnexpectedResponse { response })
                if response.status() != CommandStatus::EsmeRok =>
            {
                Ok(0)
            }
            Err(error) => Outcome::Err(error.into()),
        }
    };
    let submits = stream::iter(1..=load.messages).map(submit);
    let mut answers = submits.buffer_unordered(load.window as usize);
    while let Some(accepted) = answers.next().await {
        totals.add(1, accepted?, 0);
    }
    Ok(())
}

/// Acknowledges receipts, whichever bind they come by.
async fn hear(client: Client, mut events: impl Stream<Item = Event> + Unpin, totals: Arc<Totals>) {
    while let Some(event) = events.next().await {
        match event {
            Event::Incoming(command) if matches!(command.pdu(), Some(Pdu::DeliverSm(_))) => {
                let number = command.sequence_number();
                let answer = DeliverSmResp::default();
                if let Err(error) = client.deliver_sm_resp(number, answer).await {
                    return eprintln!("a receipt could not be acknowledged: {error}");
                }
                totals.add(0, 0, 1);
            }
            Event::Incoming(_) => {}
            Event::Error(error) => eprintln!("the client library says: {error}"),
        }
    }
}
