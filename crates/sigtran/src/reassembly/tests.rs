//! Segments that are put together, and those that never get whole.

use proptest::prelude::*;

use super::*;

const TIMEOUT: Duration = Duration::from_secs(10);

fn key(reference: u32) -> ReassemblyKey {
    ReassemblyKey {
        originating: PointCode(185),
        calling: SccpAddress::of_point(PointCode(185), 8),
        reference,
    }
}

fn segment(is_first: bool, remaining: u8) -> Segmentation {
    Segmentation {
        is_first,
        in_order: false,
        remaining,
        reference: 0,
    }
}

struct Bench {
    reassemblies: Reassemblies,
    now: Instant,
}

impl Bench {
    fn new(most: usize) -> Self {
        Self {
            reassemblies: Reassemblies::new(most, TIMEOUT),
            now: Instant::now(),
        }
    }

    fn take(
        &mut self,
        reference: u32,
        is_first: bool,
        remaining: u8,
        data: &'static [u8],
    ) -> Result<Option<Bytes>, ReassemblyFault> {
        let segmentation = segment(is_first, remaining);
        let data = Bytes::from_static(data);
        let taken = self
            .reassemblies
            .take(key(reference), segmentation, &data, self.now);
        self.assert_tables();
        taken
    }

    fn assert_tables(&self) {
        let Reassemblies {
            begun,
            order,
            of_peers,
            ..
        } = &self.reassemblies;
        assert_eq!(begun.len(), order.len(), "all tables hold the same");
        let of_peers: usize = of_peers.values().map(BTreeSet::len).sum();
        assert_eq!(begun.len(), of_peers, "all tables hold the same");
    }
}

#[test]
fn segments_in_order_are_data() {
    let mut bench = Bench::new(64);
    assert_eq!(bench.take(1, true, 2, b"abc"), Ok(None));
    assert_eq!(bench.take(2, true, 1, b"AB"), Ok(None));
    assert_eq!(bench.take(1, false, 1, b"def"), Ok(None));
    assert_eq!(bench.take(2, false, 0, b"C"), Ok(Some("ABC".into())));
    assert_eq!(bench.take(1, false, 0, b"g"), Ok(Some("abcdefg".into())));
    assert_eq!(bench.reassemblies.len(), 0);
}

#[test]
fn a_message_of_one_segment_is_there_at_once() {
    // Of LUDT on its way through a network of XUDT (Q.714 §4.1.1.2.2).
    let mut bench = Bench::new(64);
    assert_eq!(bench.take(1, true, 0, b"abc"), Ok(Some("abc".into())));
    assert_eq!(bench.reassemblies.len(), 0);
}

#[test]
fn lies_about_what_remains_end_the_message() {
    for remaining in [0, 2, 3, 15] {
        let mut bench = Bench::new(64);
        bench.take(1, true, 2, b"abc").unwrap();
        let next = bench.take(1, false, remaining, b"def");
        assert_eq!(next, Err(ReassemblyFault::OutOfOrder), "{remaining}");
        // What still comes of it is of no use.
        let last = bench.take(1, false, 1, b"def");
        assert_eq!(last, Err(ReassemblyFault::NotBegun));
        assert_eq!(bench.reassemblies.len(), 0);
    }
}

#[test]
fn a_second_first_segment_begins_anew() {
    let mut bench = Bench::new(64);
    bench.take(1, true, 2, b"abc").unwrap();
    bench.take(1, true, 1, b"ABC").unwrap();
    assert_eq!(bench.reassemblies.len(), 1);
    assert_eq!(bench.take(1, false, 0, b"D"), Ok(Some("ABCD".into())));
}

#[test]
fn a_duplicate_ends_the_message() {
    let mut bench = Bench::new(64);
    bench.take(1, true, 2, b"abc").unwrap();
    bench.take(1, false, 1, b"def").unwrap();
    assert_eq!(
        bench.take(1, false, 1, b"def"),
        Err(ReassemblyFault::OutOfOrder)
    );
    assert_eq!(
        bench.take(1, false, 0, b"g"),
        Err(ReassemblyFault::NotBegun)
    );
}

#[test]
fn later_segments_are_not_larger_than_the_first_allows() {
    let mut bench = Bench::new(64);
    bench.take(1, true, 1, b"abc").unwrap();
    assert_eq!(
        bench.take(1, false, 0, b"defg"),
        Err(ReassemblyFault::TooLong)
    );
    // Nothing at all would make the rest nothing too.
    assert_eq!(bench.take(2, true, 1, b""), Err(ReassemblyFault::TooLong));
    static LONG: [u8; DATA_MAX + 1] = [0; DATA_MAX + 1];
    assert_eq!(bench.take(3, true, 1, &LONG), Err(ReassemblyFault::TooLong));
    assert_eq!(bench.take(3, true, 1, &LONG[1..]), Ok(None));
    assert_eq!(bench.take(3, false, 0, b"x"), Err(ReassemblyFault::TooLong));
    assert_eq!(bench.reassemblies.len(), 0);
}

#[test]
fn what_never_ends_is_given_up() {
    let mut bench = Bench::new(64);
    bench.take(1, true, 1, b"abc").unwrap();
    bench.now += TIMEOUT / 2;
    bench.take(2, true, 1, b"abc").unwrap();
    bench.now += TIMEOUT / 2;
    assert_eq!(bench.reassemblies.expire(bench.now), 1);
    assert_eq!(
        bench.take(1, false, 0, b"d"),
        Err(ReassemblyFault::NotBegun)
    );
    assert_eq!(bench.take(2, false, 0, b"d"), Ok(Some("abcd".into())));
    assert_eq!(bench.reassemblies.expire(bench.now + TIMEOUT), 0);
}

#[test]
fn a_hundred_thousand_beginnings_stay_within_the_bound_and_stop_nobody() {
    let mut bench = Bench::new(256);
    for reference in 0..100_000 {
        bench.take(reference, true, 15, &[0; 254]).unwrap();
        assert!(bench.reassemblies.len() <= 256);
        if reference % 1_000 == 0 {
            // An honest peer between them.
            bench.take(1 << 23 | reference, true, 1, b"abc").unwrap();
            let whole = bench.take(1 << 23 | reference, false, 0, b"d");
            assert_eq!(whole, Ok(Some("abcd".into())));
        }
    }
    let octets: usize = bench
        .reassemblies
        .begun
        .values()
        .map(|begun| begun.data.capacity())
        .sum();
    assert!(octets <= 256 * DATA_MAX, "{octets} octets");
    bench.now += TIMEOUT;
    bench.reassemblies.expire(bench.now);
    assert_eq!(bench.reassemblies.len(), 0);
}

#[test]
fn references_of_different_peers_are_different_messages() {
    let mut bench = Bench::new(64);
    bench.take(1, true, 1, b"abc").unwrap();
    let other = ReassemblyKey {
        calling: SccpAddress::of_point(PointCode(185), 6),
        ..key(1)
    };
    let last = Bytes::from_static(b"d");
    let taken = bench
        .reassemblies
        .take(other, segment(false, 0), &last, bench.now);
    assert_eq!(taken, Err(ReassemblyFault::NotBegun));
    assert_eq!(bench.take(1, false, 0, b"d"), Ok(Some("abcd".into())));
}

#[test]
fn a_peer_that_never_ends_pushes_out_its_own_messages_only() {
    use crate::GlobalTitle;
    let of = |digits: &str, reference| ReassemblyKey {
        originating: PointCode(185),
        calling: SccpAddress::of_title(GlobalTitle::international(digits, 0), 8),
        reference,
    };
    let mut bench = Bench::new(64);
    let (now, data) = (bench.now, Bytes::from_static(b"abc"));
    let honest = segment(true, 1);
    let taken = bench.reassemblies.take(of("49170", 1), honest, &data, now);
    assert_eq!(taken, Ok(None));
    for reference in 0..1_000 {
        let endless = of("44770", reference);
        let taken = bench
            .reassemblies
            .take(endless, segment(true, 15), &data, now);
        assert_eq!(taken, Ok(None));
        bench.assert_tables();
        assert!(bench.reassemblies.len() <= 1 + 4);
    }
    let last = segment(false, 0);
    let taken = bench.reassemblies.take(of("49170", 1), last, &data, now);
    assert_eq!(taken, Ok(Some("abcabc".into())));
    // Of its own, the newest ones are there.
    let newest = segment(false, 14);
    let taken = bench
        .reassemblies
        .take(of("44770", 999), newest, &data, now);
    assert_eq!(taken, Ok(None));
    bench.reassemblies.expire(now + TIMEOUT);
    bench.assert_tables();
    assert!(bench.reassemblies.of_peers.is_empty());
}

proptest! {
    #[test]
    fn no_order_of_segments_breaks_the_tables(
        steps in prop::collection::vec(
            (0_u32..6, any::<bool>(), 0_u8..4, 0_usize..300, 0_u64..4),
            0..200,
        ),
    ) {
        static ZEROS: [u8; 300] = [0; 300];
        let mut bench = Bench::new(48);
        for (reference, is_first, remaining, octets, seconds) in steps {
            bench.now += Duration::from_secs(seconds);
            bench.reassemblies.expire(bench.now);
            if let Ok(Some(data)) = bench.take(reference, is_first, remaining, &ZEROS[..octets]) {
                prop_assert!(data.len() <= DATA_MAX);
            }
            prop_assert!(bench.reassemblies.len() <= 3);
        }
    }
}
