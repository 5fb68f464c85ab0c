//! Point codes: the addresses of signalling points (ITU-T Q.704 §2.2, Q.708).
//!
//! A point code of the ITU has 14 bits. People write it as three numbers of 3, 8 and 3 bits, or as one number.

use std::fmt;
use std::str::FromStr;

/// A point code, in the lowest 14 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PointCode(pub u32);

/// What is no point code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a point code is a number up to 16383, or three numbers up to 7, 255 and 7, as in 2.33.4")]
pub struct NoPointCode;

// === impl PointCode ===

impl PointCode {
    /// The largest one.
    pub const MAX: u32 = 0x3FFF;

    /// Whether it fits the 14 bits of the ITU.
    #[must_use]
    pub fn is_itu(self) -> bool {
        self.0 <= Self::MAX
    }

    /// Its three numbers: zone, area, signalling point.
    fn parts(self) -> (u32, u32, u32) {
        (self.0 >> 11, self.0 >> 3 & 0xFF, self.0 & 0x7)
    }
}

impl fmt::Display for PointCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_itu() {
            return write!(f, "{}", self.0);
        }
        let (zone, area, point) = self.parts();
        write!(f, "{zone}.{area}.{point}")
    }
}

impl fmt::Debug for PointCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PointCode {
    type Err = NoPointCode;

    /// Reads `2.33.4`, `2-33-4` and `4364`.
    fn from_str(text: &str) -> Result<Self, NoPointCode> {
        let number = |text: &str, most: u32| {
            let is_plain = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
            let value = is_plain.then(|| text.parse::<u32>().ok()).flatten();
            value.filter(|value| *value <= most).ok_or(NoPointCode)
        };
        let separator = if text.contains('-') { '-' } else { '.' };
        let parts: Vec<&str> = text.split(separator).collect();
        match parts[..] {
            [whole] => number(whole, Self::MAX).map(Self),
            [zone, area, point] => {
                let (zone, area, point) = (number(zone, 7)?, number(area, 255)?, number(point, 7)?);
                Ok(Self(zone << 11 | area << 3 | point))
            }
            _ => Err(NoPointCode),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn point_codes_are_read_in_both_forms() {
        for (text, value) in [
            ("0", 0),
            ("16383", 16_383),
            ("0.23.1", 185),
            ("0-23-3", 187),
            ("2.33.4", 4_364),
            ("7.255.7", 16_383),
        ] {
            assert_eq!(text.parse(), Ok(PointCode(value)), "{text}");
        }
        assert_eq!(PointCode(187).to_string(), "0.23.3");
        assert_eq!(PointCode(70_000).to_string(), "70000");
    }

    #[test]
    fn what_is_no_point_code_is_refused() {
        for text in [
            "",
            "16384",
            "8.0.0",
            "0.256.0",
            "0.0.8",
            "1.2",
            "1.2.3.4",
            "+1",
            "1.-2.3",
            "1.2-3",
            "a",
            "99999999999",
            " 1",
            "1..2",
        ] {
            assert_eq!(text.parse::<PointCode>(), Err(NoPointCode), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(value in 0..=PointCode::MAX) {
            prop_assert_eq!(PointCode(value).to_string().parse(), Ok(PointCode(value)));
            prop_assert_eq!(value.to_string().parse(), Ok(PointCode(value)));
        }
    }
}
