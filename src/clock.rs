//! The clock of this crate's unit tests: wall time is a fixed base plus what tokio's clock, which a test
//! may pause, has advanced.

use std::sync::OnceLock;

use smsc_host::clock::{self, wall_us};
use tokio::time::Instant;

/// The moment of the first call: tokio's clock and the wall clock side by side.
static BASE: OnceLock<(Instant, i64)> = OnceLock::new();

/// Now, in Unix milliseconds.
pub fn now_ms() -> i64 {
    clock::ask(by_tokio);
    clock::now_ms()
}

/// Now, in Unix microseconds.
pub fn now_us() -> i64 {
    clock::ask(by_tokio);
    clock::now_us()
}

fn by_tokio() -> i64 {
    let now = Instant::now();
    let (base, base_us) = *BASE.get_or_init(|| (now, wall_us()));
    // A runtime paused before the first call stands earlier than the base.
    let ahead = now.saturating_duration_since(base).as_micros() as i64;
    let behind = base.saturating_duration_since(now).as_micros() as i64;
    base_us + ahead - behind
}

mod tests {
    use std::time::Duration;

    use super::now_ms;

    #[tokio::test(start_paused = true)]
    async fn follows_the_paused_clock() {
        let before = now_ms();
        assert!(before > 1_600_000_000_000, "Unix milliseconds: {before}");
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!(now_ms() - before, 3_600_000);
    }
}
