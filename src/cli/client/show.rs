//! Times and numbers of the API, for people.

/// `1,234,567`
pub use crate::load::summary::grouped as number;

/// `2026-11-21 09:00:51 UTC` for a time of the API, empty for none.
pub fn time(text: Option<&str>) -> String {
    parse(text).map_or_else(String::new, |time| {
        time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
    })
}

/// A time that a receipt says, as [`time`], without the seconds that a receipt of whole minutes does not have.
pub fn said_time(text: Option<&str>) -> String {
    match parse(text) {
        Some(at) if at.as_millisecond() % 60_000 == 0 => {
            at.strftime("%Y-%m-%d %H:%M UTC").to_string()
        }
        _ => time(text),
    }
}

/// `2 h 5 min`: how long ago a time of the API was, empty for none.
pub fn ago(text: Option<&str>) -> String {
    parse(text).map_or_else(String::new, |time| {
        age(crate::clock::now_ms() - time.as_millisecond())
    })
}

/// `in 2 h 5 min`: how far ahead a time of the API is, empty for none.
pub fn ahead(text: Option<&str>) -> String {
    parse(text).map_or_else(String::new, |time| {
        let left = age(time.as_millisecond() - crate::clock::now_ms());
        format!("in {left}")
    })
}

fn parse(text: Option<&str>) -> Option<jiff::Timestamp> {
    text?.parse().ok()
}

/// The two largest units of a span of milliseconds.
fn age(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => two(minutes, "min", seconds % 60, "s"),
        (0, _, _) => two(hours, "h", minutes, "min"),
        _ => two(days, "d", hours, "h"),
    }
}

fn two(large: i64, unit: &str, small: i64, small_unit: &str) -> String {
    match small {
        0 => format!("{large} {unit}"),
        _ => format!("{large} {unit} {small} {small_unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_two_units() {
        for (ms, expected) in [
            (-5, "0 s"),
            (59_000, "59 s"),
            (60_000, "1 min"),
            (61_000, "1 min 1 s"),
            (7_500_000, "2 h 5 min"),
            (86_400_000, "1 d"),
            (270_000_000, "3 d 3 h"),
        ] {
            assert_eq!(age(ms), expected);
        }
    }

    #[test]
    fn numbers_and_times_are_for_people() {
        assert_eq!(number(7), "7");
        assert_eq!(number(1_234), "1,234");
        assert_eq!(number(20_000_000), "20,000,000");
        assert_eq!(
            time(Some("2023-11-14T22:13:20.123Z")),
            "2023-11-14 22:13:20 UTC"
        );
        assert_eq!(time(None), "");
        assert_eq!(time(Some("soon")), "");
        assert_eq!(
            said_time(Some("2023-11-14T22:13:20Z")),
            "2023-11-14 22:13:20 UTC"
        );
        assert_eq!(
            said_time(Some("2023-11-14T22:13:00Z")),
            "2023-11-14 22:13 UTC"
        );
        assert_eq!(said_time(None), "");
    }
}
