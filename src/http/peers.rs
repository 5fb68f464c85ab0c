//! Connections: the address of a client, and which connections are closed if there are too many.
//!
//! A connection that has not shown a valid token is unauthenticated (a *stranger*). One address (of IPv6
//! its /64) may have `http.strangers` of those, all addresses together [`STRANGERS`]; one more closes
//! the one that was idle for longest, which is told so (503). Those that have shown one are never closed for strangers. So a client that opens many connections only closes its own and
//! its neighbours' idle ones, and a probe that sends its request at once is answered, even from the same
//! address. Addresses from which a valid token came lately are *familiar*: of others' crowds they lose nothing. Called by
//! the server for each connection and each request.

mod farewell;

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use actix_tls::accept::rustls_0_23::TlsStream;
use actix_web::body::MessageBody;
use actix_web::dev::{Extensions, ServiceRequest, ServiceResponse};
use actix_web::middleware::Next;
use actix_web::rt::net::TcpStream;
use actix_web::{Error, HttpRequest, web};
use socket2::SockRef;

use self::farewell::{ClientSocket, closed};
use crate::actors::runtime::locks::lock;
use crate::domain::allow::{AllowList, NotANetwork};
use crate::domain::penalty::Origin;

/// Unauthenticated connections over all addresses.
const STRANGERS: usize = 512;
/// Connections with a good token.
const KNOWN: usize = 2_048;
/// Addresses that are remembered as familiar: two generations, of which the older is forgotten as a whole.
const GENERATION: usize = 8_192;
/// A generation lasts no longer.
const LATELY: Duration = Duration::from_secs(12 * 3600);
/// The header with the client's address behind a load balancer.
const FORWARDED: &str = "x-forwarded-for";

/// Every open connection.
pub(super) struct Peers {
    /// Whose X-Forwarded-For is believed, if anybody's.
    balancers: Option<AllowList>,
    strangers: usize,
    open: Mutex<Open>,
    familiar: Mutex<FamiliarOrigins>,
}

/// From where valid tokens came lately.
struct FamiliarOrigins {
    young: HashSet<Origin, ahash::RandomState>,
    old: HashSet<Origin, ahash::RandomState>,
    since: Instant,
}

#[derive(Default)]
struct Open {
    last: u64,
    connections: HashMap<u64, PeerConnection>,
}

struct PeerConnection {
    origin: Origin,
    /// To close it from here.
    socket: Option<ClientSocket>,
    /// The end of its last request, or its beginning.
    since: Instant,
    /// Requests under way.
    busy: usize,
    is_known: bool,
}

/// A connection in the list; leaves it when it is closed.
pub(super) struct Seat {
    peers: Arc<Peers>,
    number: u64,
}

/// A request under way on a connection.
struct BusyConnection {
    peers: Arc<Peers>,
    number: u64,
}

// === impl Peers ===

impl Peers {
    /// No connections yet.
    ///
    /// # Errors
    /// `from` names what is no network.
    pub(super) fn new(from: &[String], strangers: usize) -> Result<Arc<Self>, NotANetwork> {
        Ok(Arc::new(Self {
            balancers: (!from.is_empty())
                .then(|| AllowList::parse(from))
                .transpose()?,
            strangers,
            open: Mutex::default(),
            familiar: Mutex::default(),
        }))
    }

    /// A new table with the rules of this one, for another address to listen on.
    pub(super) fn empty(&self) -> Arc<Self> {
        Arc::new(Self {
            balancers: self.balancers.clone(),
            strangers: self.strangers,
            open: Mutex::default(),
            familiar: Mutex::default(),
        })
    }

    /// A new connection is registered.
    pub(super) fn arrived(self: &Arc<Self>, connection: &dyn Any, kept: &mut Extensions) {
        let plain = connection.downcast_ref::<TcpStream>();
        let over_tls = || {
            Some(
                connection
                    .downcast_ref::<TlsStream<TcpStream>>()?
                    .get_ref()
                    .0,
            )
        };
        let is_plain = plain.is_some();
        let Some(stream) = plain.or_else(over_tls) else {
            return;
        };
        if let Ok(peer) = stream.peer_addr() {
            let socket = SockRef::from(stream).try_clone().ok();
            let socket = socket.map(|socket| ClientSocket { socket, is_plain });
            kept.insert(self.sit(peer.ip(), socket, Instant::now()));
        }
    }

    fn sit(self: &Arc<Self>, address: IpAddr, socket: Option<ClientSocket>, now: Instant) -> Seat {
        let mut open = lock(&self.open);
        open.last += 1;
        let number = open.last;
        let origin = Origin::from(address);
        let connection = PeerConnection {
            origin,
            socket,
            since: now,
            busy: 0,
            is_known: false,
        };
        open.connections.insert(number, connection);
        let of_origin = |one: &PeerConnection| !one.is_known && one.origin == origin;
        // Many clients come from a load balancer; limiting them is left to it.
        if !self.is_balancer(address) && open.count(of_origin) > self.strangers {
            open.close_idle(number, of_origin);
        }
        if open.count(|one| !one.is_known) > STRANGERS {
            let familiar = lock(&self.familiar);
            let crowd = open.largest_crowd(number, &familiar);
            open.close_idle(number, |one| !one.is_known && Some(one.origin) == crowd);
        }
        Seat {
            peers: Arc::clone(self),
            number,
        }
    }

    fn is_balancer(&self, address: IpAddr) -> bool {
        self.balancers
            .as_ref()
            .is_some_and(|balancers| balancers.allows(address))
    }

    /// Where a request comes from: the last address in X-Forwarded-For that is no balancer's, when a
    /// balancer brings it.
    fn client(&self, peer: IpAddr, forwarded: &[&str]) -> IpAddr {
        if !self.is_balancer(peer) {
            return peer;
        }
        let mut client = peer;
        let entries = forwarded.iter().rev().flat_map(|line| line.rsplit(','));
        for entry in entries {
            // An unreadable entry makes all entries before it unusable.
            let Some(address) = address_of(entry.trim()) else {
                return client;
            };
            client = address;
            if !self.is_balancer(address) {
                break;
            }
        }
        client
    }
}

/// `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]:4711`.
fn address_of(text: &str) -> Option<IpAddr> {
    let whole = || text.parse().ok();
    let with_port = || Some(text.parse::<std::net::SocketAddr>().ok()?.ip());
    let in_brackets = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    whole().or_else(with_port).or_else(in_brackets)
}

// === impl Open ===

impl Open {
    fn count(&self, which: impl Fn(&PeerConnection) -> bool) -> usize {
        self.connections.values().filter(|one| which(one)).count()
    }

    /// The address with the most unauthenticated connections beside the one with this number, which is not to be closed; a
    /// familiar one only if there is no other.
    fn largest_crowd(&self, except: u64, familiar: &FamiliarOrigins) -> Option<Origin> {
        let mut crowds: HashMap<Origin, usize> = HashMap::new();
        let strangers = self.connections.iter();
        for (_, one) in strangers.filter(|(number, one)| **number != except && !one.is_known) {
            *crowds.entry(one.origin).or_default() += 1;
        }
        let largest = crowds
            .into_iter()
            .max_by_key(|(origin, count)| (!familiar.has(origin), *count));
        largest.map(|(origin, _)| origin)
    }

    /// Closes the one that has done nothing for longest, or the oldest if all of them work; never the
    /// one with this number.
    fn close_idle(&mut self, except: u64, which: impl Fn(&PeerConnection) -> bool) {
        let all = self.connections.iter();
        let candidates = all.filter(|(number, one)| **number != except && which(one));
        let first = candidates.min_by_key(|(number, one)| (one.busy > 0, one.since, **number));
        let Some(number) = first.map(|(number, _)| *number) else {
            return;
        };
        if let Some(PeerConnection {
            socket: Some(socket),
            busy,
            ..
        }) = self.connections.remove(&number)
        {
            socket.close(busy > 0);
        }
    }
}

// === impl Seat ===

impl Seat {
    /// A request begins; `None` if the connection was closed.
    fn work(&self) -> Option<BusyConnection> {
        let mut open = lock(&self.peers.open);
        open.connections.get_mut(&self.number)?.busy += 1;
        Some(BusyConnection {
            peers: Arc::clone(&self.peers),
            number: self.number,
        })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        lock(&self.peers.open).connections.remove(&self.number);
    }
}

impl Drop for BusyConnection {
    fn drop(&mut self) {
        let mut open = lock(&self.peers.open);
        if let Some(one) = open.connections.get_mut(&self.number) {
            one.busy -= 1;
            one.since = Instant::now();
        }
    }
}

// === impl FamiliarOrigins ===

impl Default for FamiliarOrigins {
    fn default() -> Self {
        Self {
            young: HashSet::default(),
            old: HashSet::default(),
            since: Instant::now(),
        }
    }
}

impl FamiliarOrigins {
    fn has(&self, origin: &Origin) -> bool {
        self.young.contains(origin) || self.old.contains(origin)
    }

    fn add(&mut self, origin: Origin, now: Instant) {
        if self.young.contains(&origin) {
            return;
        }
        if self.young.len() >= GENERATION || now.duration_since(self.since) >= LATELY {
            self.old = std::mem::take(&mut self.young);
            self.since = now;
        }
        self.young.insert(origin);
    }
}

/// Middleware: a connection with a request under way is not idle.
pub(super) async fn at_work(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let busy = match request.request().conn_data::<Seat>() {
        // Its client reads that it was closed: nothing may be carried out any more.
        Some(seat) => Some(seat.work().ok_or_else(closed)?),
        None => None,
    };
    let answer = next.call(request).await;
    drop(busy);
    answer
}

/// The connection of a request has shown a good token.
pub(super) fn is_known(request: &HttpRequest) {
    let Some(seat) = request.conn_data::<Seat>() else {
        return;
    };
    if let Some(address) = client(request) {
        lock(&seat.peers.familiar).add(address.into(), Instant::now());
    }
    let mut open = lock(&seat.peers.open);
    let Some(one) = open.connections.get_mut(&seat.number) else {
        return;
    };
    if !std::mem::replace(&mut one.is_known, true) && open.count(|one| one.is_known) > KNOWN {
        open.close_idle(seat.number, |one| one.is_known);
    }
}

/// Whether a valid token came lately from where a request comes from.
pub(super) fn is_familiar(request: &HttpRequest, address: IpAddr) -> bool {
    let seat = request.conn_data::<Seat>();
    seat.is_some_and(|seat| lock(&seat.peers.familiar).has(&address.into()))
}

/// Where a request comes from.
pub(super) fn client(request: &HttpRequest) -> Option<IpAddr> {
    let peer = request.peer_addr()?.ip();
    let Some(peers) = request.app_data::<web::Data<Peers>>() else {
        return Some(peer);
    };
    let lines = request.headers().get_all(FORWARDED);
    let lines: Vec<&str> = lines.map(|line| line.to_str().unwrap_or("?")).collect();
    Some(peers.client(peer, &lines))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn peers(from: &[&str], strangers: usize) -> Arc<Peers> {
        let from: Vec<String> = from.iter().map(|one| (*one).to_owned()).collect();
        Peers::new(&from, strangers).unwrap()
    }

    fn is_open(seat: &Seat) -> bool {
        lock(&seat.peers.open)
            .connections
            .contains_key(&seat.number)
    }

    #[test]
    fn the_longest_idle_of_an_address_makes_room() {
        let peers = peers(&[], 2);
        let (crowd, other) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let neighbour = peers.sit(other, None, start);
        let [first, second] = [1, 2].map(|ms| peers.sit(crowd, None, at(ms)));
        lock(&peers.open)
            .connections
            .get_mut(&first.number)
            .unwrap()
            .busy = 1;
        let third = peers.sit(crowd, None, at(3));
        let open = [&neighbour, &first, &second, &third].map(is_open);
        assert_eq!(open, [true, true, false, true], "who works stays");
        lock(&peers.open)
            .connections
            .get_mut(&third.number)
            .unwrap()
            .is_known = true;
        let fourth = peers.sit(crowd, None, at(4));
        assert!(
            is_open(&first) && is_open(&fourth),
            "a known one takes no room"
        );
        drop(first);
        assert_eq!(lock(&peers.open).connections.len(), 3);
    }

    #[test]
    fn a_crowd_makes_room_for_others() {
        let peers = peers(&[], STRANGERS);
        let few = peers.sit([192, 0, 2, 1].into(), None, Instant::now());
        let crowd: Vec<Seat> = (0..STRANGERS + 10)
            .map(|_| peers.sit([192, 0, 2, 2].into(), None, Instant::now()))
            .collect();
        assert!(is_open(&few));
        assert_eq!(
            crowd.iter().filter(|seat| is_open(seat)).count(),
            STRANGERS - 1
        );
    }

    #[test]
    fn strangers_in_crowds_close_nothing_of_familiar_addresses() {
        let peers = peers(&[], STRANGERS);
        let known: Origin = IpAddr::from([192, 0, 2, 1]).into();
        lock(&peers.familiar).add(known, Instant::now());
        let own: Vec<Seat> = (0..8)
            .map(|_| peers.sit([192, 0, 2, 1].into(), None, Instant::now()))
            .collect();
        let crowd: Vec<Seat> = (0..STRANGERS as u32 + 100)
            .map(|at| {
                peers.sit(
                    (0x0a00_0000 + at).to_be_bytes().into(),
                    None,
                    Instant::now(),
                )
            })
            .collect();
        assert!(own.iter().all(is_open));
        assert_eq!(
            crowd.iter().filter(|seat| is_open(seat)).count(),
            STRANGERS - 8
        );
    }

    #[test]
    fn familiar_addresses_are_forgotten_in_time_and_bounded() {
        let mut familiar = FamiliarOrigins::default();
        let start = familiar.since;
        let origin = |number: u32| Origin::from(IpAddr::from(number.to_be_bytes()));
        familiar.add(origin(1), start);
        familiar.add(origin(2), start + LATELY);
        assert!(familiar.has(&origin(1)) && familiar.has(&origin(2)));
        familiar.add(origin(3), start + 2 * LATELY);
        assert!(!familiar.has(&origin(1)) && familiar.has(&origin(2)));
        for number in 0..100_000 {
            familiar.add(origin(number), start + 2 * LATELY);
            assert!(familiar.young.len() + familiar.old.len() <= 2 * GENERATION);
        }
    }

    #[test]
    fn only_balancers_speak_for_others() {
        let peers = peers(&["10.0.0.0/8", "2001:db8::/32"], 1);
        let client =
            |peer: &str, lines: &[&str]| peers.client(peer.parse().unwrap(), lines).to_string();
        for (peer, lines, found) in [
            ("192.0.2.9", &["203.0.113.1"][..], "192.0.2.9"),
            ("10.0.0.1", &[], "10.0.0.1"),
            ("10.0.0.1", &["203.0.113.1"], "203.0.113.1"),
            ("10.0.0.1", &["198.51.100.1, 203.0.113.1"], "203.0.113.1"),
            ("10.0.0.1", &["203.0.113.1", "10.0.0.2"], "203.0.113.1"),
            ("10.0.0.1", &["203.0.113.1:4711, 10.0.0.2"], "203.0.113.1"),
            ("2001:db8::1", &["[2001:db9::7]:80"], "2001:db9::7"),
            ("10.0.0.1", &["203.0.113.1, nonsense, 10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1", &["10.0.0.3"], "10.0.0.3"),
        ] {
            assert_eq!(client(peer, lines), found, "{peer} {lines:?}");
        }
        // Clients of a balancer do not crowd each other out.
        let seats: Vec<Seat> = (0..5)
            .map(|_| peers.sit([10, 0, 0, 1].into(), None, Instant::now()))
            .collect();
        assert!(seats.iter().all(is_open));
    }
}
