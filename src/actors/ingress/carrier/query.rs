//! CMPP_QUERY (CMPP §8.4.4): the numbers of a day, which are those of `[usage]`, by days of UTC. Without `usage.enabled`
//! nothing is counted, and all numbers are 0.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use jiff::civil::Date;

use crate::actors::billing::usage::{self, AskedUsage};
use crate::actors::context::NodeContext;
use crate::api::UsageSum;
use crate::cmpp::bodies::{self, QueryResp};

/// A day as the client writes it.
const DAY: &str = "%Y%m%d";

/// The numbers of a day that are being read.
pub(super) struct DayQuery {
    sequence: u32,
    query: bodies::Query,
    numbers: Pin<Box<dyn Future<Output = Vec<UsageSum>>>>,
}

/// The response with its sequence, when the numbers are there; never if nothing is asked for.
pub(super) async fn answer_of(query: &mut Option<DayQuery>) -> (u32, QueryResp) {
    let Some(asked) = query else {
        return std::future::pending().await;
    };
    let views = asked.numbers.as_mut().await;
    (asked.sequence, response(&asked.query, &views))
}

/// What the numbers are in the terms of CMPP; each message has one recipient.
fn response(query: &bodies::Query, views: &[UsageSum]) -> QueryResp {
    let sum = |kind: &str, fits: fn(&str) -> bool| {
        let some = views
            .iter()
            .filter(|sum| sum.kind.as_deref() == Some(kind))
            .filter(|sum| sum.state.as_deref().is_some_and(fits));
        some.fold(0_u32, |sum, view| {
            sum.saturating_add(u32::try_from(view.messages).unwrap_or(u32::MAX))
        })
    };
    let is_delivered = |state: &str| state == "DELIVERED";
    let has_failed = |state: &str| state != "DELIVERED";
    QueryResp {
        time: query.time.clone(),
        query_type: query.query_type,
        query_code: query.query_code.clone(),
        mt_tlmsg: sum("MT", |_| true),
        mt_tlusr: sum("MT", |_| true),
        mt_scs: sum("MT", is_delivered),
        mt_fl: sum("MT", has_failed),
        mo_scs: sum("MO", is_delivered),
        mo_fl: sum("MO", has_failed),
        ..QueryResp::default()
    }
}

// === impl DayQuery ===

impl DayQuery {
    /// Begins to read what this account is asked for.
    pub(super) fn begin(
        node: &Arc<NodeContext>,
        account: &str,
        sequence: u32,
        query: bodies::Query,
    ) -> Self {
        let text = String::from_utf8_lossy(&query.time.0);
        let day = Date::strptime(DAY, text.as_ref()).ok();
        let day = day.map(|day| {
            let since = day.duration_since(jiff::civil::date(1970, 1, 1));
            (since.as_hours() / 24) as i32
        });
        let node = Arc::clone(node);
        let ask = AskedUsage {
            account: account.to_owned(),
            first_day: day.unwrap_or_default(),
            last_day: day.unwrap_or_default(),
            by: vec!["state".to_owned(), "kind".to_owned()],
            ..AskedUsage::default()
        };
        let numbers = Box::pin(async move {
            match day {
                Some(_) => usage::read(node, ask)
                    .await
                    .map_or(Vec::new(), |report| report.usage),
                None => Vec::new(),
            }
        });
        Self {
            sequence,
            query,
            numbers,
        }
    }
}
