//! Times as people write them: a day, RFC 3339, or Unix milliseconds.
//!
//! Used where a time is given by hand: the admin API and the command line. Days begin at midnight
//! UTC, so that a range means the same on every machine.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// Unix milliseconds; `None` when it is none of the three forms, or before 1970.
pub fn parse(text: &str) -> Option<i64> {
    let ms = if let Ok(ms) = text.parse::<i64>() {
        ms
    } else if let Ok(moment) = text.parse::<Timestamp>() {
        moment.as_millisecond()
    } else {
        // A date with a time but no offset must not be read as a date.
        let day: Date = (text.len() == 10).then_some(text)?.parse().ok()?;
        day.to_zoned(TimeZone::UTC)
            .ok()?
            .timestamp()
            .as_millisecond()
    };
    (ms >= 0).then_some(ms)
}

/// A time for people: one that has no such form is given as it is.
pub fn text(ms: i64) -> String {
    show(ms).unwrap_or_else(|| format!("{ms} ms"))
}

/// RFC 3339 with milliseconds, in UTC; `None` for times beyond the calendar.
pub fn show(ms: i64) -> Option<String> {
    Some(format!("{:.3}", Timestamp::from_millisecond(ms).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_forms_are_read() {
        for text in [
            "1700000000000",
            "2023-11-14T22:13:20Z",
            "2023-11-14T23:13:20.000+01:00",
        ] {
            assert_eq!(parse(text), Some(1_700_000_000_000), "{text}");
        }
        assert_eq!(parse("2023-11-14"), Some(1_699_920_000_000));
        for wrong in [
            "",
            "yesterday",
            "2023-11-14T22:13:20",
            "2023-13-14",
            "-5",
            "2023-11",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        assert_eq!(
            show(1_700_000_000_000).as_deref(),
            Some("2023-11-14T22:13:20.000Z")
        );
    }
}
