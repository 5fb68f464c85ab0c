//! How many connections of ESMEs there are, and where those come from that have not bound.

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::actors::runtime::locks::lock;
use crate::domain::penalty::Origin;
use crate::domain::share::FairShares;

/// The connections of ESMEs that there are, over all listeners, and where those come from that have not
/// bound.
#[derive(Clone, Default)]
pub struct Connections(Arc<Counts>);

#[derive(Default)]
struct Counts {
    /// Those of which a load balancer has not said yet where they come from.
    entering: AtomicUsize,
    open: AtomicUsize,
    unbound: Mutex<FairShares<Origin>>,
}

/// Counts one connection for as long as its session lives.
pub struct Admitted {
    counts: Connections,
    /// Whether it is known where it comes from.
    is_open: bool,
    /// Until it has bound.
    unbound: Option<Origin>,
}

// === impl Connections ===

impl Connections {
    /// Lets one more show where it comes from, unless `most` do.
    pub(super) fn admit(&self, most: usize) -> Option<Admitted> {
        more(&self.0.entering, most).then(|| Admitted {
            counts: self.clone(),
            is_open: false,
            unbound: None,
        })
    }
}

/// Counts one more, unless there are `most`.
fn more(counter: &AtomicUsize, most: usize) -> bool {
    let one_more = |count: usize| (count < most).then_some(count + 1);
    counter
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
        .is_ok()
}

// === impl Admitted ===

impl Admitted {
    /// Counts it among all connections, unless there are `most`.
    pub(super) fn open(&mut self, most: usize) -> bool {
        let counts = &self.counts.0;
        if !self.is_open && more(&counts.open, most) {
            counts.entering.fetch_sub(1, Ordering::Relaxed);
            self.is_open = true;
        }
        self.is_open
    }

    /// Counts it among those of its origin that have not bound, unless there are `most`, or its share of all `places`
    /// that are not bound: a few origins with many connections leave room for others.
    pub(super) fn come_from(&mut self, peer: IpAddr, most: usize, places: usize) -> bool {
        let origin = Origin::from(peer);
        let mut unbound = lock(&self.counts.0.unbound);
        let open = self.counts.0.open.load(Ordering::Relaxed) as u64;
        let bound = open.saturating_sub(unbound.all());
        let places = (places as u64).saturating_sub(bound);
        if unbound.of(&origin) >= most as u64 || !unbound.try_take(&origin, 1, places) {
            return false;
        }
        self.unbound = Some(origin);
        true
    }

    /// It has bound: others of its origin may come.
    pub fn bound(&mut self) {
        let Some(origin) = self.unbound.take() else {
            return;
        };
        lock(&self.counts.0.unbound).give(&origin, 1);
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.bound();
        let counts = &self.counts.0;
        let counter = if self.is_open {
            &counts.open
        } else {
            &counts.entering
        };
        counter.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn an_origin_has_so_many_that_have_not_bound() {
        let connections = Connections::default();
        let come = |from: u8| {
            let mut admitted = connections.admit(10).unwrap();
            let is_in = admitted.come_from(address(from), 2, 8) && admitted.open(3);
            is_in.then_some(admitted)
        };
        let mut first = come(1).unwrap();
        let second = come(1).unwrap();
        assert!(come(1).is_none());
        assert!(come(2).is_some(), "another one");
        // Who has bound counts no more, nor does who has gone.
        first.bound();
        first.bound();
        let third = come(1).unwrap();
        assert!(come(1).is_none());
        drop(second);
        let fourth = come(1).unwrap();
        assert!(come(2).is_none(), "three are all");
        drop((first, third, fourth));
        assert_eq!(lock(&connections.0.unbound).all(), 0);
        assert!(come(2).is_some());
        // Those that have not shown where they come from are counted for themselves.
        let entering: Vec<Option<Admitted>> = (0..12).map(|_| connections.admit(10)).collect();
        assert_eq!(entering.iter().flatten().count(), 10);
        drop(entering);
        let counts = &connections.0;
        let left = [&counts.entering, &counts.open].map(|count| count.load(Ordering::Relaxed));
        assert_eq!(left, [0, 0]);
    }

    #[test]
    fn origins_with_many_leave_room_for_others() {
        let connections = Connections::default();
        let come = |from: u8| {
            let mut admitted = connections.admit(100).unwrap();
            let is_in = admitted.come_from(address(from), 25, 100) && admitted.open(100);
            is_in.then_some(admitted)
        };
        let fill = |from| std::iter::from_fn(|| come(from)).collect::<Vec<Admitted>>();
        let crowds: Vec<_> = (1..=6).map(fill).collect();
        let had: Vec<usize> = crowds.iter().map(Vec::len).collect();
        assert_eq!(had, [25, 25, 25, 13, 6, 3]);
        // Who is bound takes no place of those who are not, and leaves as much less.
        let mut bound = come(7).unwrap();
        bound.bound();
        assert_eq!(fill(8).len(), 1);
    }
}
