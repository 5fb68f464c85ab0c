//! The servers that a URL names, of which one is the database at a time.
//!
//! Every connection to PostgreSQL is made here. Hosts, and the addresses of each, are tried side by side: the one that
//! was good last first, the next a moment later or as soon as one has failed; those that failed again while others
//! are still silent, because a standby is promoted meanwhile. Each has a limit that includes its login.
//!
//! Invariants: a connection leads to a server that can be written to. A former primary is refused once its successor
//! was seen. When a new connection finds a successor, all connections to the server before are given up at once:
//! whoever waits for an answer there waits no longer, however silent it is.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use rand::seq::SliceRandom;
use rustls::ClientConfig;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_postgres::config::{Host, LoadBalanceHosts, TargetSessionAttrs};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, SimpleQueryMessage, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::failure::{describe, failed};
use crate::StoreResult;

/// What drives a client: poll it, or nothing happens.
pub type Driver = Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// After this time without an answer the next one is tried, too.
const NEXT: Duration = Duration::from_millis(250);
/// One that has failed is tried again after this time, while another has not answered yet.
const AGAIN: Duration = Duration::from_millis(500);
/// No connection ends sooner because its octets are not confirmed.
const SHORTEST: Duration = Duration::from_secs(1);
/// What tokio-postgres has where the URL names no `keepalives_idle`.
const UNSET_IDLE: Duration = Duration::from_secs(2 * 60 * 60);

/// Which server it is. Only PostgreSQL itself answers this; databases like it may refuse.
const WHO: &str = "
SELECT s.system_identifier,
  ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint,
  (extract(epoch FROM pg_postmaster_start_time()) * 1000)::bigint
FROM pg_control_system() s";

/// Connects to whichever host can be written to.
#[derive(Clone)]
pub struct Hosts(Arc<KnownHosts>);

struct KnownHosts {
    places: Vec<HostPlace>,
    /// Of every connection; without hosts.
    config: Config,
    tls: MakeRustlsConnect,
    /// For one address, with its login.
    limit: Duration,
    in_any_order: bool,
    now: watch::Sender<DatabaseNow>,
}

/// A host of the URL.
struct HostPlace {
    host: Option<Host>,
    address: Option<IpAddr>,
    port: u16,
}

/// Where the database is, as far as is known.
#[derive(Debug, Default)]
struct DatabaseNow {
    server: Option<DatabaseServer>,
    /// The last good place: its number, and its address if it was resolved.
    at: Option<(usize, Option<IpAddr>)>,
    /// Grows when another server takes the place of the one before.
    generation: u64,
}

/// A running server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DatabaseServer {
    /// A primary and its standbys have one.
    system: u64,
    /// Grows with each promotion.
    timeline: i64,
    /// In Unix milliseconds.
    started: i64,
}

/// What a server is to the one that was the database until now.
#[derive(Debug, PartialEq, Eq)]
enum ServerStanding {
    Same,
    Successor,
    Former,
}

/// A connection.
pub struct OpenedConnection {
    pub client: Client,
    pub driver: Driver,
    pub tie: Tie,
}

/// Says when the server of a connection is the database no more.
pub struct Tie {
    generation: u64,
    now: watch::Receiver<DatabaseNow>,
}

// === impl Hosts ===

impl Hosts {
    /// Connects to nothing. `patience`: for each host, where the URL has no `connect_timeout`; what the URL does not
    /// say of silent connections follows from it.
    ///
    /// # Errors
    /// The URL names no host, or only servers that cannot be written to.
    pub fn new(url: &Config, tls: ClientConfig, patience: Duration) -> StoreResult<Self> {
        if url.get_target_session_attrs() == TargetSessionAttrs::ReadOnly {
            return Err(failed(
                "target_session_attrs=read-only in the database URL: the SMSC writes; say read-write or nothing",
            ));
        }
        Ok(Self(Arc::new(KnownHosts {
            places: places(url)?,
            config: common(url, patience),
            tls: MakeRustlsConnect::new(tls),
            limit: url.get_connect_timeout().copied().unwrap_or(patience),
            in_any_order: url.get_load_balance_hosts() == LoadBalanceHosts::Random,
            now: watch::Sender::default(),
        })))
    }

    /// A client whose driver runs on this runtime until the connection ends, or its server is the database no more.
    ///
    /// # Errors
    /// No host answers in time and can be written to.
    pub async fn driven(&self) -> StoreResult<Client> {
        Ok(self.driven_of().await?.0)
    }

    /// A dedicated client with the generation of its server.
    ///
    /// # Errors
    /// No host answers in time and can be written to.
    pub async fn driven_of(&self) -> StoreResult<(Client, u64)> {
        let opened = self.open().await?;
        let generation = opened.tie.generation;
        tokio::spawn(drive(opened.driver, opened.tie));
        Ok((opened.client, generation))
    }

    /// Grows when another server takes the place of the one before, or the same one was started again.
    pub fn generation(&self) -> u64 {
        self.0.now.borrow().generation
    }

    /// The history of the database that is followed now: its system and timeline. Another one after a promotion or a
    /// restore, where what was confirmed may be missing. Empty where the server does not say.
    pub fn history(&self) -> String {
        let now = self.0.now.borrow();
        let server = now.server;
        server.map_or_else(String::new, |server| {
            format!("{}/{}", server.system, server.timeline)
        })
    }

    /// A connection; its driver must be polled, and dropped when the tie says so.
    ///
    /// # Errors
    /// No host answers in time and can be written to.
    pub async fn open(&self) -> StoreResult<OpenedConnection> {
        let order = self.0.order();
        let opened = race(order.len(), |turn| self.0.reach(order[turn])).await;
        opened.map_err(|mut errors| {
            let text = match errors.len() {
                1 => errors.remove(0),
                _ => {
                    let names = order.iter().map(|place| self.0.places[*place].name());
                    let each: Vec<String> = names
                        .zip(errors)
                        .map(|(name, error)| format!("{name}: {error}"))
                        .collect();
                    each.join("; ")
                }
            };
            failed(format!("PostgreSQL: {text}"))
        })
    }
}

/// Polls a driver until its connection ends, or its server is the database no more.
pub async fn drive(driver: Driver, mut tie: Tie) {
    tokio::select! {
        ended = driver => if let Err(error) = ended {
            tracing::warn!(error = describe(&error), "a database connection broke");
        },
        () = tie.cut() => {}
    }
}

/// The first success of several attempts: the next begins a moment after the one before, or when one has failed. Those
/// that have failed are made again until each has failed; then their last errors are the result.
async fn race<T, F>(count: usize, attempt: impl Fn(usize) -> F) -> Result<T, Vec<String>>
where
    F: Future<Output = Result<T, String>>,
{
    let begin = |turn: usize, pause: Duration| {
        let attempt = attempt(turn);
        async move {
            sleep(pause).await;
            (turn, attempt.await)
        }
    };
    let mut errors: Vec<Option<String>> = vec![None; count];
    let mut under_way = FuturesUnordered::new();
    let (mut begun, mut next_at) = (0, Instant::now());
    while errors.iter().any(Option::is_none) {
        tokio::select! {
            () = sleep_until(next_at), if begun < count => {
                under_way.push(begin(begun, Duration::ZERO));
                begun += 1;
                next_at = Instant::now() + NEXT;
            }
            Some((turn, result)) = under_way.next() => match result {
                Ok(won) => return Ok(won),
                Err(error) => {
                    errors[turn] = Some(error);
                    next_at = Instant::now();
                    under_way.push(begin(turn, AGAIN));
                }
            },
        }
    }
    Err(errors.into_iter().flatten().collect())
}

fn places(url: &Config) -> StoreResult<Vec<HostPlace>> {
    let (hosts, addresses, ports) = (url.get_hosts(), url.get_hostaddrs(), url.get_ports());
    let count = hosts.len().max(addresses.len());
    if count == 0 {
        return Err(failed("the database URL names no host"));
    }
    let fits = |number: usize| number == 0 || number == count;
    if !fits(hosts.len()) || !fits(addresses.len()) || !(ports.len() == 1 || fits(ports.len())) {
        return Err(failed(
            "the database URL has different numbers of hosts, addresses and ports",
        ));
    }
    let place = |at: usize| HostPlace {
        host: hosts.get(at).cloned(),
        address: addresses.get(at).copied(),
        port: *ports.get(at).or(ports.first()).unwrap_or(&5432),
    };
    Ok((0..count).map(place).collect())
}

/// What connections to all hosts have in common: the URL's values, and others where it has none.
fn common(url: &Config, patience: Duration) -> Config {
    let mut config = Config::new();
    if let Some(user) = url.get_user() {
        config.user(user);
    }
    if let Some(password) = url.get_password() {
        config.password(password);
    }
    if let Some(database) = url.get_dbname() {
        config.dbname(database);
    }
    if let Some(options) = url.get_options() {
        config.options(options);
    }
    if let Some(name) = url.get_application_name() {
        config.application_name(name);
    }
    // Milliseconds, as libpq has it; tokio-postgres takes them for seconds.
    let millis = |read: &Duration| Duration::from_millis(read.as_secs());
    let unconfirmed = url.get_tcp_user_timeout().map(millis);
    let unconfirmed = unconfirmed.map(|limit| limit.max(SHORTEST));
    let idle = Some(url.get_keepalives_idle()).filter(|idle| *idle != UNSET_IDLE);
    config
        .ssl_mode(url.get_ssl_mode())
        .ssl_negotiation(url.get_ssl_negotiation())
        .channel_binding(url.get_channel_binding())
        .tcp_user_timeout(unconfirmed.unwrap_or(patience * 2))
        .keepalives(url.get_keepalives())
        // The kernel counts in whole seconds.
        .keepalives_idle(idle.unwrap_or(patience.max(Duration::from_secs(1))))
        .keepalives_interval(
            url.get_keepalives_interval()
                .unwrap_or(Duration::from_secs(2)),
        )
        .keepalives_retries(url.get_keepalives_retries().unwrap_or(3))
        // After a failover a former primary still answers, but cannot be written to.
        .target_session_attrs(TargetSessionAttrs::ReadWrite);
    config
}

// === impl KnownHosts ===

impl KnownHosts {
    /// All places, the last good one first.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.places.len()).collect();
        if self.in_any_order {
            order.shuffle(&mut rand::rng());
        }
        let last = self.now.borrow().at.map(|(place, _)| place);
        order.sort_by_key(|place| Some(*place) != last);
        order
    }

    /// Connects to a place, by whichever of its addresses answers.
    async fn reach(&self, place: usize) -> Result<OpenedConnection, String> {
        let mut addresses = match timeout(self.limit, self.places[place].resolve()).await {
            Ok(addresses) => addresses?,
            Err(_) => return Err("its name is not resolved in time".to_owned()),
        };
        if let Some(last) = self.now.borrow().at {
            addresses.sort_by_key(|address| (place, *address) != last);
        }
        let opened = race(addresses.len(), |turn| self.connect(place, addresses[turn])).await;
        opened.map_err(|errors| errors.join(", "))
    }

    async fn connect(
        &self,
        place: usize,
        address: Option<IpAddr>,
    ) -> Result<OpenedConnection, String> {
        let mut config = self.config.clone();
        let HostPlace { host, port, .. } = &self.places[place];
        match host {
            Some(Host::Tcp(name)) => config.host(name),
            Some(Host::Unix(path)) => config.host_path(path),
            None => &mut config,
        };
        if let Some(address) = address {
            config.hostaddr(address);
        }
        config.port(*port);
        let logging_in = async {
            let (client, mut driver) = config.connect(self.tls.clone()).await?;
            let server = tokio::select! {
                server = who(&client) => server?,
                // Its error is that of the question, which knows it as well.
                ended = &mut driver => { ended?; None }
            };
            Ok::<_, tokio_postgres::Error>((client, driver, server))
        };
        let logged_in = timeout(self.limit, logging_in).await;
        let (client, driver, server) = logged_in
            .map_err(|_| format!("no answer within {:?}", self.limit))?
            .map_err(|error| describe(&error))?;
        let tie = self.enter(server, place, address)?;
        Ok(OpenedConnection {
            client,
            driver,
            tie,
        })
    }

    /// Notes that this server is the database; not if it was only before another one.
    fn enter(
        &self,
        server: Option<DatabaseServer>,
        place: usize,
        address: Option<IpAddr>,
    ) -> Result<Tie, String> {
        let mut entered = None;
        self.now.send_if_modified(|now| {
            let standing = match (now.server, server) {
                (Some(before), Some(server)) => server.after(before),
                _ => ServerStanding::Same,
            };
            if standing == ServerStanding::Former {
                return false;
            }
            let is_other = standing == ServerStanding::Successor;
            if is_other || now.server.is_none() {
                now.server = server;
            }
            now.at = Some((place, address));
            now.generation += u64::from(is_other);
            entered = Some((now.generation, is_other));
            is_other
        });
        let (generation, is_other) =
            entered.ok_or("it was the primary before another one was promoted")?;
        if is_other {
            tracing::warn!(
                host = self.places[place].name(),
                "the database has moved or was started again: connections from before are given up"
            );
        }
        Ok(Tie {
            generation,
            now: self.now.subscribe(),
        })
    }
}

/// `None`: it does not say.
async fn who(client: &Client) -> Result<Option<DatabaseServer>, tokio_postgres::Error> {
    let answer = match client.simple_query(WHO).await {
        Err(error) if error.as_db_error().is_none() => return Err(error),
        answer => answer.unwrap_or_default(),
    };
    let read = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => Some(DatabaseServer {
            system: row.get(0)?.parse().ok()?,
            timeline: row.get(1)?.parse().ok()?,
            started: row.get(2)?.parse().ok()?,
        }),
        _ => None,
    };
    Ok(answer.iter().find_map(read))
}

// === impl HostPlace ===

impl HostPlace {
    /// For errors and logs.
    fn name(&self) -> String {
        match (&self.host, self.address) {
            (Some(Host::Tcp(name)), _) => format!("{name}:{}", self.port),
            (Some(Host::Unix(path)), _) => format!("{}:{}", path.display(), self.port),
            (None, Some(address)) => format!("{address}:{}", self.port),
            (None, None) => String::new(),
        }
    }

    /// `None` where there is nothing to resolve.
    async fn resolve(&self) -> Result<Vec<Option<IpAddr>>, String> {
        let (None, Some(Host::Tcp(name))) = (self.address, &self.host) else {
            return Ok(vec![self.address]);
        };
        let found = tokio::net::lookup_host((name.as_str(), self.port)).await;
        let mut addresses: Vec<Option<IpAddr>> = found
            .map_err(|error| format!("its name is not resolved: {error}"))?
            .map(|address| Some(address.ip()))
            .collect();
        addresses.dedup();
        if addresses.is_empty() {
            Err("its name has no address".to_owned())
        } else {
            Ok(addresses)
        }
    }
}

// === impl DatabaseServer ===

impl DatabaseServer {
    fn after(self, before: Self) -> ServerStanding {
        if self.system != before.system {
            // Made anew, or upgraded: its timelines say nothing about those before.
            return ServerStanding::Successor;
        }
        match self.timeline.cmp(&before.timeline) {
            std::cmp::Ordering::Less => ServerStanding::Former,
            std::cmp::Ordering::Greater => ServerStanding::Successor,
            std::cmp::Ordering::Equal if self.started > before.started => ServerStanding::Successor,
            std::cmp::Ordering::Equal => ServerStanding::Same,
        }
    }
}

// === impl Tie ===

impl Tie {
    /// Resolves when another server is the database.
    pub async fn cut(&mut self) {
        let mine = self.generation;
        let is_cut = {
            let cut = self.now.wait_for(|now| now.generation != mine).await;
            cut.is_ok()
        };
        if !is_cut {
            // No new connection can be made, so nothing else is found.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests;
