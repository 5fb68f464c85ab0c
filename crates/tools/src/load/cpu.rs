//! CPU seconds used by this process.
//!
//! Read from `/proc/self/stat`, so Linux only: elsewhere the answer is `None` and reports leave the
//! figure out. Exact to a hundredth of a second, which a run of some seconds does not notice.

/// Units of the times in `/proc/self/stat`: USER_HZ, which is 100 on every Linux port in use.
const TICKS_PER_SECOND: f64 = 100.0;
/// utime and stime, counted behind the process name (proc(5): fields 14 and 15).
const TIMES: std::ops::Range<usize> = 11..13;

/// User and system time of all threads since the process started.
pub fn seconds() -> Option<f64> {
    parse(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

fn parse(stat: &str) -> Option<f64> {
    // The name may contain spaces and parentheses: what follows it starts behind the last one.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = fields.get(TIMES)?.iter().map(|field| field.parse::<f64>());
    let ticks: f64 = ticks.sum::<Result<f64, _>>().ok()?;
    Some(ticks / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_user_and_system_time_behind_any_name() {
        let stat = "42 (a) b) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20";
        assert_eq!(parse(stat), Some(3.0));
        assert_eq!(parse("42 (short) S 1"), None);
        assert!(cfg!(not(target_os = "linux")) || seconds().is_some());
    }
}
