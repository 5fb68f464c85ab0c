//! Times as commands take them, and which messages by when they were accepted and when they ended.
//!
//! Where nothing else is said, a time of the day is one of this machine; a day alone begins at midnight UTC, as
//! everywhere in the admin API.

use clap::ArgMatches;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::clock;
use crate::config::parse_duration;
use crate::domain::moment as api_moment;

/// `--since`, `--until` and `--before`.
#[derive(Debug, Default, clap::Args)]
pub struct TimeRangeArgs {
    /// Only messages accepted then or later: 2h (ago), 15:12, yesterday, 2026-11-24 (UTC), "2026-11-24 15:12
    /// Europe/Berlin", RFC 3339 or Unix milliseconds.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<String>,
    /// Only messages accepted before then.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<String>,
    /// Only messages older than this one: the next page.
    #[arg(long, value_name = "ID")]
    before: Option<String>,
}

/// `--ended-since`, `--ended-until` and `--order`.
#[derive(Debug, Default, clap::Args)]
pub struct EndRangeArgs {
    /// Only messages that ended then or later.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    ended_since: Option<String>,
    /// Only messages that ended before then.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    ended_until: Option<String>,
    /// What comes first: the latest accepted or ended.
    #[arg(long, value_name = "ORDER")]
    order: Option<String>,
}

// === impl EndRangeArgs ===

impl EndRangeArgs {
    /// What was given, by the names of the API.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("ended_since", &self.ended_since),
            ("ended_until", &self.ended_until),
            ("order", &self.order),
        ];
        all.into_iter()
            .filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }
}

/// What was given of these conditions and the times, by the names of the API.
pub fn given<'a>(
    own: impl IntoIterator<Item = (&'static str, &'a Option<String>)>,
    times: &'a TimeRangeArgs,
) -> Vec<(&'static str, &'a str)> {
    let times = [
        ("since", &times.since),
        ("until", &times.until),
        ("before", &times.before),
    ];
    own.into_iter()
        .chain(times)
        .filter_map(|(name, value)| Some((name, value.as_deref()?)))
        .collect()
}

/// A time as the admin API takes it.
///
/// # Errors
/// It is none.
pub fn moment(text: &str) -> Result<String, String> {
    moment_in(text, TimeZone::system())
}

/// As [`moment`]; a time of the day is one of this zone where nothing else is said.
fn moment_in(text: &str, zone: TimeZone) -> Result<String, String> {
    let now = Timestamp::from_millisecond(clock::now_ms()).map_err(|error| error.to_string())?;
    read(text, &now.to_zoned(zone)).ok_or_else(|| {
        "expected a time such as 10m, 2h, 15:12, today, yesterday, 2026-11-24, \"2026-11-24 15:12\", or RFC 3339"
            .to_owned()
    })
}

/// A time in Unix milliseconds.
///
/// # Errors
/// It is none.
pub fn moment_ms(text: &str) -> Result<i64, String> {
    ms_of(&moment(text)?)
}

/// A time as [`moment`] gives it, in Unix milliseconds.
fn ms_of(moment: &str) -> Result<i64, String> {
    api_moment::parse(moment).ok_or_else(|| "this is before 1970".to_owned())
}

/// The day (UTC) of a time, as 2026-11-24.
///
/// # Errors
/// It is none.
pub fn day(text: &str) -> Result<String, String> {
    // Yesterday here may have begun the day before that in UTC.
    let ms = ms_of(&moment_in(text, TimeZone::UTC)?)?;
    let at = Timestamp::from_millisecond(ms).map_err(|error| error.to_string())?;
    Ok(at.strftime("%Y-%m-%d").to_string())
}

/// Checks that no range of time of a line ends before it begins: nothing would fit, and nobody would say why.
///
/// # Errors
/// One does; the text names its options.
pub fn check_ranges(line: &ArgMatches) -> Result<(), String> {
    let mut matches = line;
    while let Some((_, below)) = matches.subcommand() {
        matches = below;
    }
    let at = |id: &str| {
        let text = matches.try_get_one::<String>(id).ok().flatten()?;
        api_moment::parse(text)
    };
    for (since, until) in [("since", "until"), ("ended_since", "ended_until")] {
        if let (Some(begin), Some(end)) = (at(since), at(until))
            && begin > end
        {
            let [since, until] = [since, until].map(|id| id.replace('_', "-"));
            return Err(format!("--{until} is before --{since}: nothing fits"));
        }
    }
    Ok(())
}

/// What the admin API takes already stays as it is.
fn read(text: &str, now: &Zoned) -> Option<String> {
    let text = text.trim();
    if api_moment::parse(text).is_some() {
        return Some(text.to_owned());
    }
    if let Some((front, name)) = text.rsplit_once(' ') {
        // 2026-11-24 15:12 +01:00
        if name == "Z" || name.starts_with(['+', '-']) {
            let at: Timestamp = format!("{front}{name}").parse().ok()?;
            return Some(at.to_string());
        }
        if let Some(zone) = zone(name) {
            let now = now.with_time_zone(zone);
            return match front.parse::<Date>() {
                // A day of that zone, which is not one of UTC.
                Ok(day) if front.len() == 10 => {
                    let begin = day.to_zoned(now.time_zone().clone()).ok()?;
                    Some(begin.timestamp().to_string())
                }
                _ => read(front, &now),
            };
        }
    }
    Some(instant(text, now)?.timestamp().to_string())
}

fn zone(name: &str) -> Option<TimeZone> {
    if name == "UTC" {
        return Some(TimeZone::UTC);
    }
    let is_name = name.starts_with(|first: char| first.is_ascii_uppercase());
    is_name.then(|| TimeZone::get(name).ok()).flatten()
}

fn instant(text: &str, now: &Zoned) -> Option<Zoned> {
    if let Some(length) = parse_duration(text.trim_end_matches(" ago")) {
        return now.checked_sub(length).ok();
    }
    let here = |at: DateTime| at.to_zoned(now.time_zone().clone()).ok();
    let (day, time) = text.split_once(' ').unwrap_or((text, ""));
    let day = match day {
        "now" => return time.is_empty().then(|| now.clone()),
        "today" => Some(now.date()),
        "yesterday" => now.date().yesterday().ok(),
        _ => None,
    };
    if let Some(day) = day {
        let time = match time {
            "" => Time::midnight(),
            time => time.parse().ok()?,
        };
        return here(day.to_datetime(time));
    }
    if let Ok(at) = text.parse::<Zoned>() {
        return Some(at);
    }
    if let Ok(at) = text.parse::<DateTime>() {
        return here(at);
    }
    // A time of the day with an offset would be read without it.
    let time: Time = (!text.contains(['-', '+'])).then_some(text)?.parse().ok()?;
    let today = here(now.date().to_datetime(time))?;
    if today <= *now {
        return Some(today);
    }
    here(now.date().yesterday().ok()?.to_datetime(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_say_them() {
        // 13:30 in Berlin, whose clock is an hour ahead of UTC in winter.
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let now: Timestamp = "2026-11-24T12:30:00Z".parse().unwrap();
        let now = now.to_zoned(berlin);
        for (given, at) in [
            ("10m", Some("2026-11-24T12:20:00Z")),
            ("2h", Some("2026-11-24T10:30:00Z")),
            ("1d12h ago", Some("2026-11-23T00:30:00Z")),
            ("now", Some("2026-11-24T12:30:00Z")),
            ("today", Some("2026-11-23T23:00:00Z")),
            ("yesterday", Some("2026-11-22T23:00:00Z")),
            ("yesterday 15:12", Some("2026-11-23T14:12:00Z")),
            ("09:05", Some("2026-11-24T08:05:00Z")),
            // Later than now: it was yesterday.
            ("15:12", Some("2026-11-23T14:12:00Z")),
            ("15:12:30 UTC", Some("2026-11-23T15:12:30Z")),
            ("2026-11-24 15:12", Some("2026-11-24T14:12:00Z")),
            ("2026-07-01T15:12:00", Some("2026-07-01T13:12:00Z")),
            ("2026-11-21 09:00:51 UTC", Some("2026-11-21T09:00:51Z")),
            ("2026-11-24 15:12 +03:00", Some("2026-11-24T12:12:00Z")),
            ("2026-11-24 15:12 Z", Some("2026-11-24T15:12:00Z")),
            ("today UTC", Some("2026-11-24T00:00:00Z")),
            ("2026-11-24 UTC", Some("2026-11-24T00:00:00Z")),
            // The clock was put forward from 02:00 to 03:00, and back from 03:00 to 02:00.
            ("2026-03-29 02:30", Some("2026-03-29T01:30:00Z")),
            ("2026-10-25 02:30", Some("2026-10-25T00:30:00Z")),
            // As they were given.
            ("2026-11-24", Some("2026-11-24")),
            ("1700000000000", Some("1700000000000")),
            (
                "2026-11-24T15:12:00+01:00",
                Some("2026-11-24T15:12:00+01:00"),
            ),
            ("soon", None),
            ("", None),
            ("25:00", None),
            ("15:12+03:00", None),
            ("now 15:12", None),
            ("2026-13-01 15:12", None),
        ] {
            assert_eq!(read(given, &now).as_deref(), at, "{given}");
        }
    }

    #[test]
    fn a_range_does_not_end_before_it_begins() {
        for (line, wrong) in [
            ("smsc message list --since 2h --until 1h", None),
            ("smsc message list --since 2h", None),
            ("smsc usage --since 2026-11-24 --until 2026-11-24", None),
            ("smsc config show 7 --since 3", None),
            ("smsc queue list", None),
            (
                "smsc message list --since 1h --until 2h",
                Some("--until is before --since"),
            ),
            (
                "smsc dead-letter list --ended-since 2026-11-24 --ended-until 2026-11-23",
                Some("--ended-until is before --ended-since"),
            ),
            (
                "smsc usage --since 2026-11-24 --until 2026-11-23",
                Some("--until is before --since"),
            ),
        ] {
            let matches = crate::cli::command().try_get_matches_from(line.split(' '));
            let said = check_ranges(&matches.unwrap()).err().unwrap_or_default();
            match wrong {
                Some(wrong) => assert!(said.starts_with(wrong), "{line}: {said}"),
                None => assert_eq!(said, "", "{line}"),
            }
        }
    }

    #[test]
    fn a_day_is_one_of_utc() {
        assert_eq!(day("2026-11-24").unwrap(), "2026-11-24");
        assert_eq!(day("2026-11-24T23:30:00-02:00").unwrap(), "2026-11-25");
        let yesterday = Timestamp::from_millisecond(clock::now_ms() - 86_400_000).unwrap();
        let yesterday = yesterday.strftime("%Y-%m-%d").to_string();
        assert_eq!(day("yesterday").unwrap(), yesterday);
        assert!(day("soon").is_err() && moment("soon").is_err());
        assert_eq!(moment_ms("2023-11-14T22:13:20Z"), Ok(1_700_000_000_000));
    }
}
