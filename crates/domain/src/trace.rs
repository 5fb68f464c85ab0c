//! The trace context of a message: W3C Trace Context on the way in, 25 octets in its record, and the
//! ids of every step derived from it.
//!
//! Pure. Ingest decides whether a message is traced ([`Ratio`]) and keeps its context with it; every
//! actor, on whatever node and after whatever restart, derives the same span ids ([`span_id`]), so
//! that a step knows its parent although no span was kept open for it.

use std::hash::Hasher as _;

use siphasher::sip::SipHasher24;
use siphasher::sip128::{Hasher128 as _, SipHasher24 as SipHasher128};

/// Octets of a context in the message record.
pub const OCTETS: usize = 16 + 8 + 1;
/// The sampled flag of W3C Trace Context.
const SAMPLED: u8 = 0x01;
/// Any constant key does: span ids need to differ, not to be secret.
const KEY: [u8; 16] = *b"smsc trace steps";

/// 16 octets, never all zero.
pub type TraceId = [u8; 16];
/// 8 octets; all zero for none.
pub type SpanId = [u8; 8];

/// Which trace something belongs to, and below which span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    pub trace_id: TraceId,
    /// The span that caused this; all zero when this is the root.
    pub parent: SpanId,
    /// As in W3C Trace Context.
    pub flags: u8,
}

/// The steps of a message whose spans have children or links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceStep {
    /// Accepted from an account or an operator.
    Submit = 1,
    /// Sent to an operator or an account and answered with ESME_ROK.
    Attempt = 2,
    /// Its final state.
    End = 3,
    /// The receipt was taken by the account.
    Forward = 4,
}

/// A share of all messages, as a limit on a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ratio(u64);

/// A trace that goes on: in the same one, or in a new one that is linked with the old.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Continued {
    pub context: TraceContext,
    /// The trace that it continues, when `context` is a new one.
    pub link: Option<TraceContext>,
}

// === impl TraceContext ===

impl TraceContext {
    /// The root of a new trace.
    pub fn root(trace_id: TraceId) -> Self {
        Self {
            trace_id,
            parent: SpanId::default(),
            flags: SAMPLED,
        }
    }

    /// Reads a `traceparent` header (W3C Trace Context, section 3.2). `None` when it is malformed:
    /// the standard requires that it is ignored then.
    pub fn parse(traceparent: &str) -> Option<Self> {
        let octets = traceparent.as_bytes();
        let [version] = hex(octets.get(..2)?)?;
        // Later versions may append fields; this one has none.
        let well_formed = match (version, octets.get(55)) {
            (0xFF, _) => false,
            (_, None) => true,
            (0, Some(_)) => false,
            (_, Some(next)) => *next == b'-',
        };
        let dashes = [2, 35, 52].iter().all(|at| octets.get(*at) == Some(&b'-'));
        if !well_formed || !dashes {
            return None;
        }
        let context = Self {
            trace_id: hex(octets.get(3..35)?)?,
            parent: hex(octets.get(36..52)?)?,
            flags: hex::<1>(octets.get(53..55)?)?[0],
        };
        let valid = context.trace_id != TraceId::default() && context.parent != SpanId::default();
        valid.then_some(context)
    }

    /// The `traceparent` that a step of this trace hands on.
    pub fn traceparent(&self, step: SpanId) -> String {
        let (trace, step) = (to_hex(&self.trace_id), to_hex(&step));
        format!("00-{trace}-{step}-{:02x}", self.flags)
    }

    /// As it stands in a message record; `None` when there is none.
    pub fn from_octets(octets: &[u8]) -> Option<Self> {
        let octets: &[u8; OCTETS] = octets.try_into().ok()?;
        let mut context = Self {
            trace_id: TraceId::default(),
            parent: SpanId::default(),
            flags: octets[OCTETS - 1],
        };
        context.trace_id.copy_from_slice(&octets[..16]);
        context.parent.copy_from_slice(&octets[16..24]);
        (context.trace_id != TraceId::default()).then_some(context)
    }

    /// The octets that [`Self::from_octets`] reads.
    pub fn to_octets(self) -> [u8; OCTETS] {
        let mut octets = [0; OCTETS];
        octets[..16].copy_from_slice(&self.trace_id);
        octets[16..24].copy_from_slice(&self.parent);
        octets[24] = self.flags;
        octets
    }

    /// Whether its spans are recorded.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// This trace, recorded from now on.
    pub fn sampled(self) -> Self {
        Self {
            flags: self.flags | SAMPLED,
            ..self
        }
    }

    /// This trace below another span.
    pub fn below(self, parent: SpanId) -> Self {
        Self { parent, ..self }
    }

    /// Continues with a step of a message: in this trace, or, if that is `old`, in a new one.
    /// Backends look for the spans of a trace near its start and drop those that come days later.
    pub fn go_on(self, message: u64, step: TraceStep, old: bool) -> Continued {
        if !old {
            return Continued {
                context: self,
                link: None,
            };
        }
        let mut hasher = SipHasher128::new_with_key(&KEY);
        hasher.write(&self.trace_id);
        hasher.write_u64(message);
        hasher.write_u8(step as u8);
        let mut context = Self::root(hasher.finish128().as_bytes());
        context.flags = self.flags;
        Continued {
            context,
            link: Some(self),
        }
    }
}

// === impl Ratio ===

impl Ratio {
    /// No message.
    pub const NONE: Self = Self(0);

    /// From 0 (none) to 1 (all).
    pub fn new(share: f64) -> Self {
        // Saturates at both ends.
        Self((share * u64::MAX as f64) as u64)
    }

    /// Whether it selects this message: deterministic by id.
    pub fn takes(self, message: u64) -> bool {
        // Ids follow one another; multiplied and folded they are spread evenly (SplitMix64).
        let mut hash = message.wrapping_add(0x9E37_79B9_7F4A_7C15);
        hash = (hash ^ hash >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        hash = (hash ^ hash >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        hash ^= hash >> 31;
        self.0 == u64::MAX || hash < self.0
    }
}

/// The trace id of a message that was not traced and failed: the same on every node. `deployment`
/// keeps the messages of two deployments apart.
pub fn trace_of_failure(deployment: &str, message: u64) -> TraceId {
    let mut hasher = SipHasher128::new_with_key(&KEY);
    hasher.write(deployment.as_bytes());
    hasher.write_u64(message);
    hasher.finish128().as_bytes()
}

/// The span id of a step. `number` is that of the attempt, 0 for other steps.
pub fn span_id(trace_id: TraceId, message: u64, step: TraceStep, number: u32) -> SpanId {
    let mut hasher = SipHasher24::new_with_key(&KEY);
    hasher.write(&trace_id);
    hasher.write_u64(message);
    hasher.write_u8(step as u8);
    hasher.write_u32(number);
    hasher.finish().max(1).to_be_bytes()
}

/// Lower-case hexadecimal digits.
pub fn to_hex(octets: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = octets.iter().flat_map(|octet| {
        [octet >> 4, octet & 15].map(|digit| char::from(DIGITS[usize::from(digit)]))
    });
    digits.collect()
}

/// Lower-case digits only, as the standard wants them.
fn hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut octets = [0; N];
    let (pairs, rest) = digits.as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    for (octet, [high, low]) in octets.iter_mut().zip(pairs) {
        *octet = value(*high)? << 4 | value(*low)?;
    }
    Some(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn reads_and_writes_traceparent() {
        let context = TraceContext::parse(EXAMPLE).expect("the example of the standard");
        assert!(context.is_sampled());
        assert_eq!(context.parent, 0x00f0_67aa_0ba9_02b7_u64.to_be_bytes());
        assert_eq!(context.traceparent(context.parent), EXAMPLE);
        let not = TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");
        assert!(!not.expect("valid").is_sampled());
        assert!(not.expect("valid").sampled().is_sampled());
    }

    #[test]
    fn a_later_version_may_say_more() {
        for later in [
            "cc-12345678901234567890123456789012-1234567890123456-01",
            "cc-12345678901234567890123456789012-1234567890123456-01-what-comes",
            "01-12345678901234567890123456789012-1234567890123456-ff-",
        ] {
            assert!(TraceContext::parse(later).is_some(), "{later}");
        }
    }

    /// The malformed headers of the standard's own test suite (w3c/trace-context, test/test.py).
    #[test]
    fn what_is_malformed_is_ignored() {
        for wrong in [
            "",
            "00",
            "00-",
            "ff-12345678901234567890123456789012-1234567890123456-01",
            "00-12345678901234567890123456789012-1234567890123456-01.",
            "00-12345678901234567890123456789012-1234567890123456-01-what",
            "cc-12345678901234567890123456789012-1234567890123456-01.what",
            ".0-12345678901234567890123456789012-1234567890123456-01",
            "0-12345678901234567890123456789012-1234567890123456-01",
            "00-00000000000000000000000000000000-1234567890123456-01",
            "00-.2345678901234567890123456789012-1234567890123456-01",
            "00-1234567890123456789012345678901-1234567890123456-01",
            "00-12345678901234567890123456789012-0000000000000000-01",
            "00-12345678901234567890123456789012-.234567890123456-01",
            "00-12345678901234567890123456789012-123456789012345-01",
            "00-12345678901234567890123456789012-1234567890123456-.0",
            "00-12345678901234567890123456789012-1234567890123456-0",
            "00-12345678901234567890123456789012-1234567890123456-",
            "00-ABCDEF78901234567890123456789012-1234567890123456-01",
            "00_12345678901234567890123456789012_1234567890123456_01",
            "00-1234567890123456789012345678901ü-1234567890123456-01",
        ] {
            assert_eq!(TraceContext::parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn octets_come_back() {
        let context = TraceContext::parse(EXAMPLE).expect("valid");
        let octets = context.to_octets();
        assert_eq!(TraceContext::from_octets(&octets), Some(context));
        for wrong in [&octets[1..], &[], &[0; OCTETS]] {
            assert_eq!(TraceContext::from_octets(wrong), None);
        }
    }

    #[test]
    fn steps_are_the_same_everywhere_and_differ_from_one_another() {
        let trace = trace_of_failure("smsc", 7);
        assert_eq!(trace, trace_of_failure("smsc", 7));
        assert_ne!(trace, trace_of_failure("smsc staging", 7));
        let mut ids = vec![
            span_id(trace, 7, TraceStep::Submit, 0),
            span_id(trace, 7, TraceStep::Attempt, 1),
            span_id(trace, 7, TraceStep::Attempt, 2),
            span_id(trace, 7, TraceStep::End, 0),
            span_id(trace, 8, TraceStep::Submit, 0),
        ];
        assert_eq!(ids[1], span_id(trace, 7, TraceStep::Attempt, 1));
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 5);
    }

    #[test]
    fn an_old_trace_is_linked() {
        let old = TraceContext::root(trace_of_failure("smsc", 7));
        assert_eq!(old.go_on(7, TraceStep::End, false).context, old);
        let new = old.go_on(7, TraceStep::End, true);
        assert_eq!(new, old.go_on(7, TraceStep::End, true));
        assert_ne!(new.context.trace_id, old.trace_id);
        assert_eq!(new.link, Some(old));
        assert!(new.context.is_sampled());
    }

    #[test]
    fn a_ratio_takes_its_share_of_ids_that_follow_one_another() {
        let share = |ratio: f64| {
            let ratio = Ratio::new(ratio);
            let first = 1_790_000_000_000_u64 << 20;
            (first..first + 100_000)
                .filter(|id| ratio.takes(*id))
                .count()
        };
        assert_eq!(share(0.0), 0);
        assert_eq!(share(1.0), 100_000);
        assert!((900..1_100).contains(&share(0.01)), "{}", share(0.01));
        assert!((49_000..51_000).contains(&share(0.5)), "{}", share(0.5));
        assert!(!Ratio::NONE.takes(1));
    }
}
