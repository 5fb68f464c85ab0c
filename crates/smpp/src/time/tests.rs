//! Times of §7.1.1 against the calendar of another crate, and what peers really send.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan};
use proptest::prelude::*;

use super::*;

/// 2026-11-21 08:30:00 UTC.
const NOW: i64 = 1_795_249_800_000;

fn parse(text: &str) -> Result<Option<i64>, TimeError> {
    parse_time(text.as_bytes(), NOW)
}

fn ms(civil: DateTime) -> i64 {
    civil
        .to_zoned(TimeZone::UTC)
        .unwrap()
        .timestamp()
        .as_millisecond()
}

fn utc(ms: i64) -> DateTime {
    Timestamp::from_millisecond(ms)
        .unwrap()
        .to_zoned(TimeZone::UTC)
        .datetime()
}

#[test]
fn absolute_times() {
    let base = ms(jiff::civil::date(2026, 11, 21).at(8, 30, 0, 0));
    assert_eq!(base, NOW);
    for (text, expected) in [
        ("261121083000000+", base),
        ("261121083000900+", base + 900),
        ("261121093000004+", base),
        ("261121083000004-", base + 3_600_000),
        ("261121202959048+", base - 1_000),
        ("261121223000056+", base),
        ("240229000000000+", 1_709_164_800_000),
        // Beyond the standard: parts missing, two digits of tenths, a leap second.
        ("2611210830", base),
        ("261121083000", base),
        ("261121083000+", base),
        ("2611210830005+", base + 500),
        ("261121083000000", base),
        ("2611210830000900+", base + 90),
        ("261121082960000+", base),
        (" 261121083000000+ ", base),
    ] {
        assert_eq!(parse(text), Ok(Some(expected)), "{text}");
    }
}

#[test]
fn relative_times() {
    for (text, expected) in [
        ("000001000000000R", NOW + MS_PER_DAY),
        ("000000010000000R", NOW + MS_PER_HOUR),
        ("000000000030000r", NOW + 30_000),
        ("000000000000000R", NOW),
        (
            "020610233429000R",
            ms(utc(NOW) + span(2, 6, 10, 23, 34, 29)),
        ),
        ("000001R", NOW + MS_PER_DAY),
        ("00000100R", NOW + MS_PER_DAY),
        ("000001000000R", NOW + MS_PER_DAY),
        ("000099000000000R", NOW + 99 * MS_PER_DAY),
    ] {
        assert_eq!(parse(text), Ok(Some(expected)), "{text}");
    }
    // 31 January and a month: the last day of February.
    let january = ms(jiff::civil::date(2027, 1, 31).at(12, 0, 0, 0));
    let february = ms(jiff::civil::date(2027, 2, 28).at(12, 0, 0, 0));
    assert_eq!(parse_time(b"000100000000000R", january), Ok(Some(february)));
}

#[test]
fn nothing_means_nothing() {
    for text in ["", " ", "000000000000000+", "0000000000"] {
        assert_eq!(parse(text), Ok(None), "{text}");
    }
}

#[test]
fn nonsense_is_named() {
    for (text, error) in [
        ("2611210830000X0+", TimeError::Character),
        ("tomorrow", TimeError::Character),
        ("261121+", TimeError::Length),
        ("+", TimeError::Length),
        ("R", TimeError::Length),
        ("00001R", TimeError::Length),
        ("261321083000000+", TimeError::Range("month")),
        ("260229083000000+", TimeError::Range("day of the month")),
        ("261121243000000+", TimeError::Range("hour")),
        ("261121236000000+", TimeError::Range("minute")),
        ("261121235961000+", TimeError::Range("second")),
        ("261121083000057-", TimeError::Range("offset from UTC")),
    ] {
        assert_eq!(parse(text), Err(error), "{text}");
    }
}

#[test]
fn receipt_dates_as_operators_write_them() {
    for text in [
        "2611210830",
        "261121083000",
        "20261121083000",
        "202611210830",
        "2026-11-21 08:30:00",
        "26/11/21 08:30",
    ] {
        assert_eq!(parse_receipt_date(text.as_bytes()), Some(NOW), "{text}");
    }
    for text in ["", "0000000000", "26112108", "99999999999999999", "never"] {
        assert_eq!(parse_receipt_date(text.as_bytes()), None, "{text}");
    }
    assert_eq!(format_receipt_date(NOW, false), "2611210830");
    assert_eq!(format_receipt_date(NOW, true), "261121083000");
}

fn span(years: i64, months: i64, days: i64, hours: i64, minutes: i64, seconds: i64) -> Span {
    years
        .years()
        .months(months)
        .days(days)
        .hours(hours)
        .minutes(minutes)
        .seconds(seconds)
}

/// 1970-01-01 to 2069-12-31.
const REPRESENTABLE: std::ops::Range<i64> = 0..3_155_760_000_000;

proptest! {
    #[test]
    fn what_is_written_is_read(ms in REPRESENTABLE) {
        let text = format_absolute(ms);
        prop_assert_eq!(text.len(), 16);
        prop_assert_eq!(parse_time(text.as_bytes(), 0), Ok(Some(ms - ms % 100)));
        let date = format_receipt_date(ms, true);
        prop_assert_eq!(parse_receipt_date(date.as_bytes()), Some(ms - ms % 1_000));
    }

    #[test]
    fn the_calendar_is_that_of_jiff(ms in -62_135_596_800_000_i64..4_102_444_800_000) {
        let civil = Civil::from_ms(ms);
        let theirs = utc(ms);
        prop_assert_eq!(
            (civil.year, civil.month, civil.day),
            (i64::from(theirs.year()), i64::from(theirs.month()), i64::from(theirs.day()))
        );
        prop_assert_eq!(civil.to_ms(), ms);
    }

    #[test]
    fn offsets_are_quarter_hours(ms in REPRESENTABLE, quarters in 0_i64..=48, behind: bool) {
        let ms = ms - ms % 100;
        let sign = if behind { -1 } else { 1 };
        let local = ms + sign * quarters * MS_PER_QUARTER;
        prop_assume!(REPRESENTABLE.contains(&local));
        let text = format!(
            "{}{quarters:02}{}",
            &format_absolute(local)[..13],
            if behind { '-' } else { '+' }
        );
        prop_assume!(!text.bytes().take(15).all(|digit| digit == b'0'));
        prop_assert_eq!(parse_time(text.as_bytes(), 0), Ok(Some(ms)));
    }

    #[test]
    fn relative_is_calendar_arithmetic(
        now in REPRESENTABLE,
        years in 0_i64..100, months in 0_i64..100, days in 0_i64..100,
        hours in 0_i64..100, minutes in 0_i64..100, seconds in 0_i64..100,
    ) {
        let text = format!("{years:02}{months:02}{days:02}{hours:02}{minutes:02}{seconds:02}000R");
        let theirs = utc(now) + span(years, months, days, hours, minutes, seconds);
        prop_assert_eq!(parse_time(text.as_bytes(), now), Ok(Some(ms(theirs))));
    }

    #[test]
    fn no_input_panics(text in proptest::collection::vec(any::<u8>(), 0..20), now: i32) {
        let _ = parse_time(&text, i64::from(now));
        let _ = parse_receipt_date(&text);
    }

    #[test]
    fn no_digits_panic(text in "[0-9]{0,20}[-+Rr]?", now in REPRESENTABLE) {
        let _ = parse_time(text.as_bytes(), now);
    }
}
