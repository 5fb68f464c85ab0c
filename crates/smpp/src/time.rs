//! Times as SMPP writes them (SMPP 3.4 §7.1.1) and as delivery receipts do (Appendix B).
//!
//! Used where a message is accepted (schedule, validity), queried (final_date) and receipted. All
//! instants are milliseconds since 1970-01-01 UTC; the caller hands in "now". Two-digit years mean
//! 1970 to 2069. Invariant: `parse_time(format_absolute(ms))` is `ms` cut to tenths of a second.

/// What is wrong with a time; answer ESME_RINVSCHED or ESME_RINVEXPIRY.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// Not one of the accepted lengths.
    #[error("time has a wrong length")]
    Length,
    /// Something else than digits and one of `+`, `-`, `R` at the end.
    #[error("time has an unexpected character")]
    Character,
    /// The named part is out of its range.
    #[error("time has an impossible {0}")]
    Range(&'static str),
}

const MS_PER_SECOND: i64 = 1_000;
const MS_PER_MINUTE: i64 = 60 * MS_PER_SECOND;
const MS_PER_HOUR: i64 = 60 * MS_PER_MINUTE;
const MS_PER_DAY: i64 = 24 * MS_PER_HOUR;
const MS_PER_QUARTER: i64 = 15 * MS_PER_MINUTE;

/// The standard stops at 48 quarter hours (UTC+12); Kiribati does not (UTC+14).
const QUARTERS_MAX: i64 = 56;

/// Characters of a time (§7.1.1).
const STANDARD: usize = 16;

/// Years from here belong to the 20th century.
const CENTURY_PIVOT: i64 = 70;

/// The longest time that a relative one says, in seconds: a second less than 100 days.
const LONGEST_RELATIVE: i64 = 100 * 86_400 - 1;

/// A civil date and time, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Civil {
    year: i64,
    month: i64,
    day: i64,
    ms_of_day: i64,
}

/// Reads `schedule_delivery_time` or `validity_period` (without its NUL) to unix milliseconds.
///
/// Absolute `YYMMDDhhmmsstnnp` with `p` `+` or `-`: local time, `nn` quarter hours ahead of or behind
/// UTC. Relative `YYMMDDhhmmss000R`: years and months are calendar ones, counted from `now_ms`; a day
/// the target month does not have becomes its last.
///
/// Accepted beyond the standard, because peers send it: parts missing at the end (`YYMMDDhhmm`,
/// `YYMMDDhhmmss`, then `t`, then `nn`), a missing `p`, two digits for `t`, relative times cut after
/// any part (`000001R`: one day), second 60, offsets to 14 hours. Nothing, and an absolute time of
/// zeros only, is `None`: the SMSC decides.
///
/// # Errors
/// [`TimeError`] says which part makes no sense.
pub fn parse_time(text: &[u8], now_ms: i64) -> Result<Option<i64>, TimeError> {
    let text = text.trim_ascii();
    let Some(last) = text.last() else {
        return Ok(None);
    };
    let (digits, sign) = match last {
        b'0'..=b'9' => (text, b'+'),
        b'+' | b'-' | b'R' | b'r' => (&text[..text.len() - 1], *last),
        _ => return Err(TimeError::Character),
    };
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(TimeError::Character);
    }
    if matches!(sign, b'R' | b'r') {
        return parse_relative(digits, now_ms).map(Some);
    }
    if !digits.is_empty() && digits.iter().all(|digit| *digit == b'0') {
        return Ok(None);
    }
    parse_absolute(digits, sign == b'-').map(Some)
}

/// Whether it is a time exactly as §7.1.1 has it: 16 characters, parts within their ranges. Nothing is none.
pub fn is_standard(text: &[u8]) -> bool {
    let Some((last, digits)) = text.split_last().filter(|_| text.len() == STANDARD) else {
        return false;
    };
    if !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let is_below = |at: usize, limit: i64| number(&digits[at..at + 2]) < limit;
    match last {
        b'R' => is_below(6, 24) && is_below(8, 60) && is_below(10, 60) && digits.ends_with(b"000"),
        b'+' | b'-' => {
            parse_absolute(digits, false).is_ok() && is_below(10, 60) && is_below(13, 49)
        }
        _ => false,
    }
}

/// Writes `YYMMDDhhmmsst00+`, UTC (§7.1.1.1).
pub fn format_absolute(ms: i64) -> String {
    let mut text = format_date(ms, true);
    let tenth = ms.rem_euclid(MS_PER_SECOND) / 100;
    text.push(char::from(b'0' + tenth as u8));
    text.push_str("00+");
    text
}

/// Writes `0000DDhhmmss000R`, so long from now on (§7.1.1.2): whole seconds, rounded up, at least one. Beyond 99 days,
/// for which there is no room, it is cut.
pub fn format_relative(left_ms: i64) -> String {
    let seconds = left_ms
        .saturating_add(MS_PER_SECOND - 1)
        .div_euclid(MS_PER_SECOND)
        .clamp(1, LONGEST_RELATIVE);
    format!(
        "0000{:02}{:02}{:02}{:02}000R",
        seconds / 86_400,
        seconds / 3_600 % 24,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// Writes a receipt's `YYMMDDhhmm`, or `YYMMDDhhmmss`, UTC (Appendix B).
pub fn format_receipt_date(ms: i64, with_seconds: bool) -> String {
    format_date(ms, with_seconds)
}

/// Reads a receipt's date as UTC: `YYMMDDhhmm`, with or without seconds, with or without century,
/// with any punctuation between the digits (Appendix B), or with the tenths and the offset of §7.1.1.1.
/// `None` if it makes no sense.
pub fn parse_receipt_date(text: &[u8]) -> Option<i64> {
    let mut digits = [0u8; 15];
    let mut count = 0;
    for digit in text.iter().filter(|octet| octet.is_ascii_digit()) {
        *digits.get_mut(count)? = *digit;
        count += 1;
    }
    let digits = &digits[..count];
    let short = |digits: &[u8]| parse_absolute(digits, false).ok();
    let with_century = |digits: &[u8]| digits.starts_with(b"20").then(|| short(&digits[2..]))?;
    match count {
        10 => short(digits),
        12 => short(digits).or_else(|| with_century(digits)),
        14 => with_century(digits),
        15 => parse_absolute(digits, text.trim_ascii_end().ends_with(b"-")).ok(),
        _ => None,
    }
}

fn parse_absolute(digits: &[u8], behind_utc: bool) -> Result<i64, TimeError> {
    let (tenths, quarters) = match digits.len() {
        10 | 12 => (0, 0),
        13 => (number(&digits[12..13]) * 100, 0),
        15 => (number(&digits[12..13]) * 100, number(&digits[13..15])),
        16 => (number(&digits[12..14]) * 10, number(&digits[14..16])),
        _ => return Err(TimeError::Length),
    };
    let year = number(&digits[..2]);
    let year = year + if year < CENTURY_PIVOT { 2000 } else { 1900 };
    let month = within(number(&digits[2..4]), 1, 12, "month")?;
    let day = within(
        number(&digits[4..6]),
        1,
        days_in_month(year, month),
        "day of the month",
    )?;
    let hour = within(number(&digits[6..8]), 0, 23, "hour")?;
    let minute = within(number(&digits[8..10]), 0, 59, "minute")?;
    let second = match digits.get(10..12) {
        Some(second) => within(number(second), 0, 60, "second")?,
        None => 0,
    };
    let quarters = within(quarters, 0, QUARTERS_MAX, "offset from UTC")?;
    let local = Civil {
        year,
        month,
        day,
        ms_of_day: hour * MS_PER_HOUR + minute * MS_PER_MINUTE + second * MS_PER_SECOND + tenths,
    }
    .to_ms();
    let offset = quarters * MS_PER_QUARTER;
    Ok(if behind_utc {
        local + offset
    } else {
        local - offset
    })
}

fn parse_relative(digits: &[u8], now_ms: i64) -> Result<i64, TimeError> {
    let whole_parts = digits.len() >= 12 || digits.len().is_multiple_of(2);
    if digits.is_empty() || digits.len() > 16 || !whole_parts {
        return Err(TimeError::Length);
    }
    let part = |index: usize| digits.get(index * 2..index * 2 + 2).map_or(0, number);
    let months = part(0) * 12 + part(1);
    let later = if months == 0 {
        now_ms
    } else {
        Civil::from_ms(now_ms).plus_months(months).to_ms()
    };
    Ok(later
        + part(2) * MS_PER_DAY
        + part(3) * MS_PER_HOUR
        + part(4) * MS_PER_MINUTE
        + part(5) * MS_PER_SECOND)
}

fn format_date(ms: i64, with_seconds: bool) -> String {
    let civil = Civil::from_ms(ms);
    let parts = [
        civil.year.rem_euclid(100),
        civil.month,
        civil.day,
        civil.ms_of_day / MS_PER_HOUR,
        civil.ms_of_day / MS_PER_MINUTE % 60,
        civil.ms_of_day / MS_PER_SECOND % 60,
    ];
    let parts = if with_seconds {
        &parts[..]
    } else {
        &parts[..5]
    };
    let mut text = String::with_capacity(16);
    for part in parts {
        text.push(char::from(b'0' + (part / 10) as u8));
        text.push(char::from(b'0' + (part % 10) as u8));
    }
    text
}

/// Decimal digits to a number; the caller has checked that they are digits.
fn number(digits: &[u8]) -> i64 {
    digits
        .iter()
        .fold(0, |number, digit| number * 10 + i64::from(digit - b'0'))
}

fn within(value: i64, low: i64, high: i64, part: &'static str) -> Result<i64, TimeError> {
    if (low..=high).contains(&value) {
        Ok(value)
    } else {
        Err(TimeError::Range(part))
    }
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

// === impl Civil ===

/// Days from 0000-03-01, where the arithmetic starts, to 1970-01-01.
const DAYS_TO_EPOCH: i64 = 719_468;
const DAYS_PER_ERA: i64 = 146_097;

impl Civil {
    /// Years start in March here, so that the leap day is a year's last (proleptic Gregorian).
    fn from_ms(ms: i64) -> Civil {
        let days = ms.div_euclid(MS_PER_DAY) + DAYS_TO_EPOCH;
        let era = days.div_euclid(DAYS_PER_ERA);
        let day_of_era = days.rem_euclid(DAYS_PER_ERA);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let month = if march_month < 10 {
            march_month + 3
        } else {
            march_month - 9
        };
        Civil {
            year: era * 400 + year_of_era + i64::from(month <= 2),
            month,
            day: day_of_year - (153 * march_month + 2) / 5 + 1,
            ms_of_day: ms.rem_euclid(MS_PER_DAY),
        }
    }

    fn to_ms(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let march_month = (self.month + 9) % 12;
        let day_of_year = (153 * march_month + 2) / 5 + self.day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = era * DAYS_PER_ERA + day_of_era - DAYS_TO_EPOCH;
        days * MS_PER_DAY + self.ms_of_day
    }

    fn plus_months(self, months: i64) -> Civil {
        let month0 = self.month - 1 + months;
        let year = self.year + month0.div_euclid(12);
        let month = month0.rem_euclid(12) + 1;
        Civil {
            year,
            month,
            day: self.day.min(days_in_month(year, month)),
            ms_of_day: self.ms_of_day,
        }
    }
}

#[cfg(test)]
mod tests;
