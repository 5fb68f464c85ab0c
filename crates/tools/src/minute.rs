//! The time that reports of a network have: YYMMDDhhmm.

/// The YYMMDDhhmm of one minute, in UTC.
#[derive(Debug, Default)]
pub(crate) struct Minute {
    /// Counted from 1970.
    minute: i64,
    text: String,
}

// === impl Minute ===

impl Minute {
    /// The minute of a Unix time in milliseconds. Calendar arithmetic only when it has changed since the last call.
    pub(crate) fn text(&mut self, unix_ms: i64) -> &str {
        let minute = unix_ms.div_euclid(60_000);
        if minute != self.minute || self.text.is_empty() {
            self.minute = minute;
            let time = jiff::Timestamp::from_millisecond(unix_ms).unwrap_or_default();
            self.text = time.strftime("%y%m%d%H%M").to_string();
        }
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_that_of_its_minute() {
        let mut minute = Minute::default();
        assert_eq!(minute.text(0), "7001010000");
        assert_eq!(minute.text(1_795_251_540_000), "2611210859");
        assert_eq!(minute.text(1_795_251_599_999), "2611210859");
        assert_eq!(minute.text(1_795_251_600_000), "2611210900");
    }
}
