//! Time stamps and validity periods as Unix milliseconds, and back (3GPP TS 23.040 §9.2.3.11, §9.2.3.12).

use smsc_smpp::time::{format_absolute, parse_time};
use smsc_sms::tpdu::time::relative_seconds;
use smsc_sms::tpdu::{Period, TimeStamp, Validity};

const SECOND_MS: i64 = 1_000;
const QUARTER_MS: i64 = 15 * 60 * SECOND_MS;

/// A moment as the local time of a zone, in quarters of an hour ahead of UTC; its seconds are cut to whole ones.
#[must_use]
pub fn stamp(ms: i64, zone: i8) -> TimeStamp {
    let local = format_absolute(ms + i64::from(zone) * QUARTER_MS);
    let two = |at: usize| {
        let digits = local.as_bytes().get(at..at + 2).unwrap_or_default();
        digits
            .iter()
            .fold(0, |number, digit| number * 10 + (digit & 0x0F))
    };
    TimeStamp {
        year: two(0),
        month: two(2),
        day: two(4),
        hour: two(6),
        minute: two(8),
        second: two(10),
        zone,
    }
}

/// The moment of a time stamp; `None` for one that no calendar has.
#[must_use]
pub fn moment(stamp: &TimeStamp) -> Option<i64> {
    if !stamp.is_possible() {
        return None;
    }
    let digits = stamp.fields().map(|field| format!("{field:02}")).concat();
    let local = parse_time(format!("{digits}000+").as_bytes(), 0)
        .ok()
        .flatten()?;
    Some(local - i64::from(stamp.zone) * QUARTER_MS)
}

/// Until when a message is valid. `None` where the service centre decides: without a period, and with one that is none,
/// such as a date that no calendar has.
#[must_use]
pub fn valid_until(validity: &Validity, now: i64) -> Option<i64> {
    let seconds = match validity {
        Validity::Absent => return None,
        Validity::Absolute(stamp) => return moment(stamp),
        Validity::Relative(octet) => i64::from(relative_seconds(*octet)),
        Validity::Enhanced(enhanced) => match enhanced.period {
            Period::Absent | Period::Reserved(_) | Period::Seconds(0) => return None,
            Period::Relative(octet) => i64::from(relative_seconds(octet)),
            Period::Seconds(seconds) => i64::from(seconds),
            Period::Clock {
                hours: 0,
                minutes: 0,
                seconds: 0,
            } => return None,
            Period::Clock {
                hours,
                minutes,
                seconds,
            } => i64::from(hours) * 3_600 + i64::from(minutes) * 60 + i64::from(seconds),
        },
    };
    Some(now + seconds * SECOND_MS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use smsc_sms::tpdu::Enhanced;

    /// 2023-11-14 22:13:20 UTC.
    const NOW: i64 = 1_700_000_000_000;

    fn shown(stamp: &TimeStamp) -> String {
        let TimeStamp {
            year,
            month,
            day,
            hour,
            minute,
            second,
            zone,
        } = stamp;
        format!("{year:02}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} {zone}")
    }

    #[test]
    fn a_stamp_is_the_local_time_of_its_zone() {
        for (zone, expected) in [
            (0, "23-11-14 22:13:20 0"),
            (4, "23-11-14 23:13:20 4"),
            // Nepal, Newfoundland in summer, and the ends of the scale.
            (23, "23-11-15 03:58:20 23"),
            (-10, "23-11-14 19:43:20 -10"),
            (79, "23-11-15 17:58:20 79"),
            (-79, "23-11-14 02:28:20 -79"),
        ] {
            let stamp = stamp(NOW, zone);
            assert_eq!(shown(&stamp), expected);
            assert_eq!(moment(&stamp), Some(NOW));
        }
        let leap = stamp(1_709_164_800_000, 0);
        assert_eq!(shown(&leap), "24-02-29 00:00:00 0");
    }

    #[test]
    fn each_format_of_a_validity_period_has_its_end() {
        let enhanced = |period| {
            Validity::Enhanced(Enhanced {
                single_shot: false,
                period,
            })
        };
        let clock = |hours, minutes, seconds| {
            enhanced(Period::Clock {
                hours,
                minutes,
                seconds,
            })
        };
        let absolute = Validity::Absolute(stamp(NOW + 60_000, -22));
        let no_day = Validity::Absolute(TimeStamp {
            month: 2,
            day: 30,
            ..stamp(NOW, 0)
        });
        // §9.2.3.12.1: 5 minutes, 12 hours, a day, 2 days, 5 weeks, 63 weeks.
        for (validity, seconds) in [
            (Validity::Absent, None),
            (Validity::Relative(0), Some(300)),
            (Validity::Relative(143), Some(43_200)),
            (Validity::Relative(167), Some(86_400)),
            (Validity::Relative(168), Some(172_800)),
            (Validity::Relative(197), Some(3_024_000)),
            (Validity::Relative(255), Some(38_102_400)),
            (absolute, Some(60)),
            (no_day, None),
            (enhanced(Period::Absent), None),
            (enhanced(Period::Relative(0)), Some(300)),
            (enhanced(Period::Seconds(45)), Some(45)),
            (enhanced(Period::Seconds(0)), None),
            (enhanced(Period::Reserved(5)), None),
            (clock(1, 2, 3), Some(3_723)),
            (clock(0, 0, 0), None),
        ] {
            let until = valid_until(&validity, NOW);
            let expected = seconds.map(|seconds: i64| NOW + seconds * 1_000);
            assert_eq!(until, expected, "{validity:?}");
        }
    }

    proptest! {
        #[test]
        fn a_moment_comes_back(seconds in 0_i64..2_000_000_000, zone in -79_i8..=79) {
            let ms = seconds * 1_000;
            prop_assume!(ms > 86_400_000);
            prop_assert_eq!(moment(&stamp(ms, zone)), Some(ms));
        }
    }
}
