//! Times of SMPP in words (SMPP 3.4 §7.1.1).

use smsc_smpp::time::parse_time;

/// Names of the pairs of digits in a relative time.
const PARTS: [&str; 6] = ["year", "month", "day", "hour", "minute", "second"];

/// Octets of a time without seconds: YYMMDDhhmm.
const MINUTES: usize = 10;

/// What `schedule_delivery_time`, `validity_period` or `final_date` says; nothing for an empty one.
///
/// # Errors
/// What is wrong with it.
pub fn explain(text: &[u8]) -> Result<String, String> {
    let wrong = |error: &dyn std::fmt::Display| {
        format!("{error}; a time is YYMMDDhhmmsstnn and then + or -, or YYMMDDhhmmss000R")
    };
    let at = parse_time(text, 0).map_err(|error| wrong(&error))?;
    let Some(ms) = at else {
        return Ok(String::new());
    };
    if let [digits @ .., b'R' | b'r'] = text.trim_ascii() {
        return Ok(relative(digits));
    }
    let at = match text.trim_ascii().len() {
        MINUTES => of_receipt(ms),
        _ => absolute(ms),
    };
    Ok(format!("{at}{}", offset(text.trim_ascii())))
}

/// An instant as receipts have it: most have whole minutes, and their seconds would be invented.
pub fn of_receipt(ms: i64) -> String {
    match ms.rem_euclid(60_000) {
        0 => {
            let at = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
            at.strftime("%Y-%m-%d %H:%M UTC").to_string()
        }
        _ => absolute(ms),
    }
}

/// An instant in UTC.
pub fn absolute(ms: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
    match ms.rem_euclid(1_000) {
        0 => at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        rest => format!("{}.{} UTC", at.strftime("%Y-%m-%d %H:%M:%S"), rest / 100),
    }
}

fn relative(digits: &[u8]) -> String {
    let parts: Vec<String> = digits
        .chunks_exact(2)
        .zip(PARTS)
        .filter_map(|(digits, part)| {
            let number = std::str::from_utf8(digits).ok()?.parse::<u8>().ok()?;
            match number {
                0 => None,
                1 => Some(format!("1 {part}")),
                more => Some(format!("{more} {part}s")),
            }
        })
        .collect();
    if parts.is_empty() {
        "at once".to_owned()
    } else {
        format!("{} from when the SMSC has it", parts.join(" "))
    }
}

/// The offset of the time from UTC, if it has one.
fn offset(text: &[u8]) -> String {
    let [.., tens, ones, sign @ (b'+' | b'-')] = text else {
        return String::new();
    };
    let quarters = u32::from(tens.wrapping_sub(b'0')) * 10 + u32::from(ones.wrapping_sub(b'0'));
    match quarters {
        0 => String::new(),
        _ => format!(
            ", written at UTC{}{:02}:{:02}",
            char::from(*sign),
            quarters / 4,
            quarters % 4 * 15
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_relative_and_broken_times() {
        for (text, said) in [
            ("", ""),
            ("261122021703000+", "2026-11-22 02:17:03 UTC"),
            (
                "261122041703508+",
                "2026-11-22 02:17:03.5 UTC, written at UTC+02:00",
            ),
            (
                "261121194703026-",
                "2026-11-22 02:17:03 UTC, written at UTC-06:30",
            ),
            (
                "000002010000000R",
                "2 days 1 hour from when the SMSC has it",
            ),
            ("000000000000000R", "at once"),
            ("2611220217", "2026-11-22 02:17 UTC"),
            ("261122021700000+", "2026-11-22 02:17:00 UTC"),
        ] {
            assert_eq!(explain(text.as_bytes()).as_deref(), Ok(said), "{text}");
        }
        for text in [
            "261322021703000+",
            "tomorrow",
            "26112202170300",
            "261122021703000*",
        ] {
            let error = explain(text.as_bytes()).unwrap_err();
            assert!(error.contains("YYMMDD"), "{text}: {error}");
        }
    }
}
