//! CMPP_QUERY (CMPP §8.4.4): the numbers of a day, which are those of `[usage]`, by days of UTC. Without `usage.enabled`
//! nothing is counted, and all numbers are 0.

use std::sync::Arc;

use jiff::civil::Date;

use crate::actors::billing::usage::{self, AskedUsage};
use crate::actors::context::NodeContext;
use crate::api::UsageSum;
use crate::cmpp::bodies::{Query, QueryResp};

/// A day as the client writes it.
const DAY: &str = "%Y%m%d";

/// What the numbers are in the terms of CMPP; each message has one recipient.
fn response(query: &Query, views: &[UsageSum]) -> QueryResp {
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

/// Reads what this account is asked for.
pub(in crate::actors::ingress) async fn day_of(
    node: Arc<NodeContext>,
    account: String,
    query: Query,
) -> QueryResp {
    let text = String::from_utf8_lossy(&query.time.0);
    let Ok(day) = Date::strptime(DAY, text.as_ref()) else {
        return response(&query, &[]);
    };
    let since = day.duration_since(jiff::civil::date(1970, 1, 1));
    let day = (since.as_hours() / 24) as i32;
    let ask = AskedUsage {
        account,
        first_day: day,
        last_day: day,
        by: vec!["state".to_owned(), "kind".to_owned()],
        ..AskedUsage::default()
    };
    let report = usage::read(node, ask).await;
    response(&query, &report.map_or(Vec::new(), |report| report.usage))
}
