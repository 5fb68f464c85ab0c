//! Asks the domain name system for the networks of numbers: ENUM (`domain::enumber`).
//!
//! Called by the resolver as one of its sources. A name that does not exist, and one without records about
//! portability, mean that the number is not ported; a server that fails or refuses is an error. Nothing here
//! logs a number: errors of the DNS client name the number that was asked for and are not passed on, and what
//! it logs by itself is dropped.

use std::net::SocketAddr;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig, ResolverOpts};
use hickory_resolver::lookup::Lookup;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{RData, RecordType, rdata::NAPTR};
use tracing::instrument::WithSubscriber as _;
use tracing::subscriber::NoSubscriber;

use super::source::{LookUpAnswer, LookUpSource, LookupError};
use crate::domain::enumber;

/// Which servers are asked, and how their records are read.
pub struct EnumOptions {
    pub servers: Vec<SocketAddr>,
    /// The zone below which numbers are.
    pub zone: String,
    /// The parameter of a URI that names the network.
    pub parameter: String,
    /// For each attempt.
    pub timeout: Duration,
    /// Most requests at once.
    pub concurrency: usize,
    /// Whether a server may answer so.
    pub is_answer: fn(&str) -> bool,
}

/// The servers of a zone.
pub struct Enum {
    resolver: TokioResolver,
    zone: String,
    parameter: String,
    timeout: Duration,
    is_answer: fn(&str) -> bool,
}

// === impl Enum ===

impl Enum {
    /// Asks at the first question.
    ///
    /// # Errors
    /// What keeps the DNS client from being built.
    pub fn new(options: EnumOptions) -> Result<Self, String> {
        let servers = options.servers.iter().map(|server| {
            // Over TCP what does not fit into a datagram.
            let mut connections = vec![ConnectionConfig::udp(), ConnectionConfig::tcp()];
            connections
                .iter_mut()
                .for_each(|one| one.port = server.port());
            NameServerConfig::new(server.ip(), true, connections)
        });
        let config = ResolverConfig::from_parts(None, Vec::new(), servers.collect());
        let mut own = ResolverOpts::default();
        own.timeout = options.timeout;
        own.attempts = 1;
        own.cache_size = 0;
        own.max_active_requests = options.concurrency;
        let provider = TokioRuntimeProvider::default();
        let builder = TokioResolver::builder_with_config(config, provider);
        let resolver = builder.with_options(own).build();
        Ok(Self {
            resolver: resolver.map_err(|error| error.to_string())?,
            zone: options.zone,
            parameter: options.parameter,
            timeout: options.timeout,
            is_answer: options.is_answer,
        })
    }
}

impl LookUpSource for Enum {
    fn name(&self) -> String {
        format!("the ENUM zone {}", self.zone)
    }

    fn ask(&self, number: &[u8]) -> LookUpAnswer {
        let Some(name) = enumber::domain(number, &self.zone) else {
            return Box::pin(std::future::ready(Ok(String::new())));
        };
        let (resolver, number) = (self.resolver.clone(), number.to_vec());
        let (parameter, is_answer, within) = (self.parameter.clone(), self.is_answer, self.timeout);
        Box::pin(async move {
            let asked = resolver.lookup(name, RecordType::NAPTR);
            let asked = asked.with_subscriber(NoSubscriber::default());
            match tokio::time::timeout(within, asked).await {
                Ok(Ok(found)) => network_of(&found, &number, &parameter, is_answer),
                Ok(Err(error)) if is_nothing(&error) => Ok(String::new()),
                Ok(Err(error)) => Err(LookupError::Unreachable(reason(&error))),
                Err(_) => Err(LookupError::Unreachable("no answer in time".to_owned())),
            }
        })
    }
}

/// The network in the records, the one with the lowest order and preference first.
fn network_of(
    found: &Lookup,
    number: &[u8],
    parameter: &str,
    is_answer: fn(&str) -> bool,
) -> Result<String, LookupError> {
    let mut records: Vec<&NAPTR> = found
        .answers()
        .iter()
        .filter_map(|answer| match &answer.data {
            RData::NAPTR(record) => Some(record),
            _ => None,
        })
        .filter(|record| enumber::is_portability(&record.flags, &record.services))
        .collect();
    records.sort_by_key(|record| (record.order, record.preference));
    let uris = records
        .iter()
        .filter_map(|record| enumber::uri(&record.regexp, number));
    let mut networks = uris.filter_map(|uri| enumber::parameter(&uri, parameter));
    match networks.next() {
        None => Ok(String::new()),
        Some(network) if is_answer(&network) => Ok(network),
        Some(_) => Err(LookupError::Unusable(
            "what a record names is no network".to_owned(),
        )),
    }
}

/// Whether the zone has nothing about the number.
fn is_nothing(error: &NetError) -> bool {
    let NetError::Dns(DnsError::NoRecordsFound(found)) = error else {
        return false;
    };
    matches!(
        found.response_code,
        ResponseCode::NXDomain | ResponseCode::NoError
    )
}

/// Why there is no answer, without the name that was asked for.
fn reason(error: &NetError) -> String {
    let said = |code: &ResponseCode| format!("its servers answer {code}");
    match error {
        NetError::Dns(DnsError::ResponseCode(code)) => said(code),
        NetError::Dns(DnsError::NoRecordsFound(found)) => said(&found.response_code),
        NetError::Io(error) => error.to_string(),
        NetError::Timeout => "no answer in time".to_owned(),
        NetError::Busy => "too many questions wait for an answer".to_owned(),
        _ => "its servers do not answer as they should".to_owned(),
    }
}
