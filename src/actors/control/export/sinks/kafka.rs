//! Publishes on topics of Kafka, for a sink.
//!
//! Events of a message have one key, and so one partition, in which they stay in order. Each partition gets its share of
//! a batch, and a batch is over when all replicas in sync have all of it (`acks=all`). Connections, one to the
//! leader of each partition, are kept until something fails that the client does not overcome by itself within the
//! sink's time.

mod partition;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use futures_util::future::try_join_all;
use rskafka::chrono::DateTime;
use rskafka::client::Client;
use rskafka::client::error::{Error, ProtocolError};
use rskafka::client::partition::{Compression, PartitionClient, UnknownTopicHandling};
use rskafka::record::Record;

use self::partition::partition_of;
use super::batch::within;
use super::event::Publication;
use crate::actors::runtime::kafka;
use crate::clock;
use crate::config::KafkaConnection;

/// Octets of one request, about; brokers take a million if nothing is configured (`message.max.bytes`).
const REQUEST: usize = 512 * 1024;

/// Topics of one cluster.
pub(super) struct Kafka {
    connection: KafkaConnection,
    connected: Option<Connected>,
}

struct Connected {
    client: Client,
    /// How many partitions each topic has.
    topics: HashMap<String, u32>,
    leaders: HashMap<(String, i32), Arc<PartitionClient>>,
}

// === impl Kafka ===

impl Kafka {
    /// Connects later.
    pub(super) fn new(connection: KafkaConnection) -> Self {
        Self {
            connection,
            connected: None,
        }
    }

    pub(super) fn close(&mut self) {
        self.connected = None;
    }

    /// The brokers that were asked first; empty while nothing is connected.
    pub(super) fn server(&self) -> String {
        match self.connected {
            Some(_) => self.connection.servers.join(", "),
            None => String::new(),
        }
    }

    /// Publishes all, and returns when the brokers have acknowledged all.
    ///
    /// # Errors
    /// Why they have not; some may have arrived.
    pub(super) async fn publish(&mut self, all: &[Publication]) -> Result<(), String> {
        // Until all is well: a failure closes the connections, and topics are looked at anew.
        let mut connected = match self.connected.take() {
            Some(connected) => connected,
            None => within(self.connection.timeout, self.connect()).await?,
        };
        within(2 * self.connection.timeout, connected.publish(all)).await?;
        self.connected = Some(connected);
        Ok(())
    }

    async fn connect(&self) -> Result<Connected, String> {
        let client = kafka::connect(&self.connection).await?;
        let topics = client
            .list_topics()
            .await
            .map_err(|error| kafka::shown(&error))?;
        let sizes = topics.into_iter();
        let sizes = sizes.map(|topic| (topic.name, topic.partitions.len() as u32));
        Ok(Connected {
            client,
            topics: sizes.collect(),
            leaders: HashMap::new(),
        })
    }
}

// === impl Connected ===

impl Connected {
    async fn publish(&mut self, all: &[Publication]) -> Result<(), String> {
        let mut shares: BTreeMap<(String, i32), Vec<Record>> = BTreeMap::new();
        for event in all {
            let topic = &event.destination;
            let count = self.topics.get(topic).copied().unwrap_or_default();
            if count == 0 {
                return Err(format!(
                    "there is no topic \"{topic}\", or it is not shown to us"
                ));
            }
            let place = (topic.clone(), partition_of(event.key.as_bytes(), count));
            shares.entry(place).or_default().push(record(event));
        }
        let new = shares
            .keys()
            .filter(|place| !self.leaders.contains_key(place));
        let client = &self.client;
        let opened = try_join_all(new.map(async |place: &(String, i32)| {
            let open = client.partition_client(&place.0, place.1, UnknownTopicHandling::Error);
            open.await.map(|leader| (place.clone(), Arc::new(leader)))
        }));
        let opened = opened.await.map_err(|error| kafka::shown(&error))?;
        self.leaders.extend(opened);
        let produced = shares.into_iter().filter_map(|(place, records)| {
            let leader = self.leaders.get(&place).cloned()?;
            Some(async move { produce(&leader, records).await })
        });
        let produced = try_join_all(produced).await;
        produced.map(drop).map_err(|error| kafka::shown(&error))
    }
}

/// Sends the records of one partition in their order, in requests that its topic takes.
async fn produce(leader: &PartitionClient, records: Vec<Record>) -> Result<(), Error> {
    let mut requests = requests(records);
    while let Some(mut records) = requests.pop_front() {
        match leader
            .produce(records.clone(), Compression::NoCompression)
            .await
        {
            Ok(_) => {}
            // The topic takes less than most.
            Err(error) if is_too_large(&error) && records.len() > 1 => {
                let second = records.split_off(records.len() / 2);
                requests.push_front(second);
                requests.push_front(records);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn requests(records: Vec<Record>) -> VecDeque<Vec<Record>> {
    let (mut requests, mut octets) = (VecDeque::new(), 0);
    for record in records {
        let size = record.approximate_size();
        match requests.back_mut() {
            Some(request) if octets + size <= REQUEST => {
                Vec::push(request, record);
                octets += size;
            }
            _ => {
                requests.push_back(vec![record]);
                octets = size;
            }
        }
    }
    requests
}

fn is_too_large(error: &Error) -> bool {
    matches!(
        error,
        Error::ServerError {
            protocol_error: ProtocolError::MessageTooLarge | ProtocolError::RecordListTooLarge,
            ..
        }
    )
}

fn record(event: &Publication) -> Record {
    let mut headers = BTreeMap::from([
        ("event-id".to_owned(), event.id.clone().into_bytes()),
        ("content-type".to_owned(), event.content_type.into()),
    ]);
    if !event.trace.is_empty() {
        headers.insert("traceparent".to_owned(), event.trace.clone().into_bytes());
    }
    Record {
        key: Some(event.key.clone().into_bytes()),
        value: Some(event.body.clone()),
        headers,
        // Brokers may refuse records of a time long past; the event's own time is in its body.
        timestamp: DateTime::from_timestamp_millis(clock::now_ms()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(octets: usize) -> Record {
        record(&Publication {
            body: vec![0; octets],
            content_type: "application/json",
            ..Publication::default()
        })
    }

    #[test]
    fn a_request_is_as_large_as_brokers_take() {
        let sizes = [1, 300_000, 300_000, 1_000_000, 2, 3];
        let requests = requests(sizes.map(of).to_vec());
        let sizes: Vec<Vec<usize>> = requests
            .iter()
            .map(|request| {
                let size = |one: &Record| one.value.as_ref().map_or(0, Vec::len);
                request.iter().map(size).collect()
            })
            .collect();
        assert_eq!(
            sizes,
            [vec![1, 300_000], vec![300_000], vec![1_000_000], vec![2, 3]]
        );
    }
}
