//! Sums of usage.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time;
use smsc_domain::csv;
use smsc_proto as pb;

const DAY_MS: i64 = 86_400_000;

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

impl From<pb::UsageList> for UsageReport {
    fn from(from: pb::UsageList) -> Self {
        let by = from.by;
        let asked = |name: &str, text: String| by.iter().any(|one| one == name).then_some(text);
        let sum = |view: pb::UsageView| {
            let day = time(i64::from(view.day) * DAY_MS).unwrap_or_default();
            UsageSum {
                day: asked("day", day.chars().take(10).collect()),
                account: asked("account", view.account),
                operator: asked("operator", view.operator),
                country: asked("country", view.country),
                state: asked("state", view.state),
                kind: asked("kind", view.kind),
                currency: view.currency,
                messages: view.messages,
                parts: view.parts,
                price: view.price,
            }
        };
        Self {
            usage: from.usage.into_iter().map(sum).collect(),
        }
    }
}

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
    fn what_was_not_asked_for_is_null() {
        let view = pb::UsageView {
            day: 20_781,
            account: "=acme,1".to_owned(),
            currency: "EUR".to_owned(),
            messages: 3,
            parts: 4,
            price: 5,
            ..pb::UsageView::default()
        };
        let usage = UsageReport::from(pb::UsageList {
            usage: vec![view],
            by: vec![
                "day".to_owned(),
                "account".to_owned(),
                "operator".to_owned(),
            ],
        });
        let sum = &usage.usage[0];
        assert_eq!(sum.day.as_deref(), Some("2026-11-24"));
        assert_eq!(sum.operator.as_deref(), Some(""));
        assert_eq!(sum.country, None);
        let csv = usage.csv();
        assert_eq!(
            csv.lines().nth(1),
            Some("2026-11-24,\"'=acme,1\",,,,,EUR,3,4,5")
        );
    }
}
