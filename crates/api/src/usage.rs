//! Sums of usage.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use smsc_domain::csv;

/// `GET /v1/usage`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UsageReport {
    /// In the order of day, account, operator, country, state and kind.
    pub usage: Vec<UsageSum>,
}

/// Messages that have all of this in common. What sums are not divided by is null.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UsageSum {
    /// The UTC day on which the final states became known.
    #[schema(format = Date)]
    pub day: Option<String>,
    /// The account that sent the messages, or that mobile-originated ones were for.
    pub account: Option<String>,
    /// The operator that they went to, or came from; empty for messages that had none.
    pub operator: Option<String>,
    /// Of the subscriber's number: two letters (ISO 3166-1), `001` for satellites and the like, empty if the
    /// number does not say.
    pub country: Option<String>,
    /// Final state.
    pub state: Option<String>,
    /// `MT` or `MO`.
    pub kind: Option<String>,
    /// What a credit is.
    pub currency: String,
    pub messages: u64,
    /// Short messages: long texts count as their parts.
    pub parts: u64,
    /// Credits.
    pub price: i64,
}

// === impl UsageReport ===

impl UsageReport {
    /// As CSV (RFC 4180), with a header.
    pub fn csv(&self) -> String {
        let mut out =
            "day,account,operator,country,state,kind,currency,messages,parts,price\r\n".to_owned();
        for sum in &self.usage {
            let texts = [
                &sum.day,
                &sum.account,
                &sum.operator,
                &sum.country,
                &sum.state,
                &sum.kind,
            ];
            for text in texts {
                out.push_str(&csv::field(text.as_deref().unwrap_or_default()));
                out.push(',');
            }
            let UsageSum {
                currency,
                messages,
                parts,
                price,
                ..
            } = sum;
            let currency = csv::field(currency);
            out.push_str(&format!("{currency},{messages},{parts},{price}\r\n"));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_asked_for_is_empty_in_csv() {
        let sum = UsageSum {
            day: Some("2026-11-24".to_owned()),
            account: Some("=acme,1".to_owned()),
            operator: Some(String::new()),
            country: None,
            state: None,
            kind: None,
            currency: "EUR".to_owned(),
            messages: 3,
            parts: 4,
            price: 5,
        };
        let csv = UsageReport { usage: vec![sum] }.csv();
        assert_eq!(
            csv.lines().nth(1),
            Some("2026-11-24,\"'=acme,1\",,,,,EUR,3,4,5")
        );
    }
}
