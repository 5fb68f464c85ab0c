//! The MT router as routes, the MO router as addresses of accounts.

use std::collections::{BTreeMap, BTreeSet};

use super::filters::{self, JasminFilter};
use super::http::HttpAccounts;
use super::peers::{Connectors, JasminUser};
use super::prices::{RoutePrice, rate, rate_of_row};
use super::read::{Captured, JasminRow, Record};
use crate::draft::{ConfigDraft, list};
use crate::routes::{ConvertedRule, FailoverSteps, settle};
use crate::{ConversionNotes, SourcePlace};

/// A route of either router, from a row or from an addition.
struct JasminRoute {
    order: u64,
    kind: String,
    /// `smppc(up)` as its two words.
    connectors: Vec<(String, String)>,
    filters: Vec<JasminFilter>,
    /// What a message costs, of an MT route.
    rate: f64,
    place: SourcePlace,
}

/// Sender and destination by filters; `None` is any.
#[derive(Default)]
struct Conditions {
    accounts: Option<BTreeSet<String>>,
    numbers: Option<filters::NumberPrefixes>,
}

/// Routes for messages to operators, and what they cost.
pub(super) fn mobile_terminated(
    captured: &Captured,
    users: &[JasminUser],
    connectors: &Connectors,
    notes: &mut ConversionNotes,
) -> (Vec<ConvertedRule>, Vec<RoutePrice>) {
    let mut rules = Vec::new();
    let mut prices = Vec::new();
    for route in routes(&captured.mt_rows, &captured.mt_routes, captured, notes) {
        let Some(conditions) = conditions(&route, users, notes) else {
            continue;
        };
        let known = senders(&route, connectors, notes);
        if known.is_empty() {
            continue;
        }
        let to: FailoverSteps = if route.kind.starts_with("RandomRoundrobin") {
            vec![known]
        } else {
            // One connector, or those of a FailoverMTRoute in their order.
            known.into_iter().map(|id| vec![id]).collect()
        };
        let everybody = BTreeSet::from([None]);
        let accounts = conditions.accounts.map_or(everybody, |accounts| {
            accounts.into_iter().map(Some).collect()
        });
        let everywhere = BTreeSet::from([String::new()]);
        let prefixes = conditions.numbers.map_or(everywhere, |numbers| {
            if numbers.whole || numbers.counted {
                let what = format!("route {}: its filter counts digits", route.order);
                let instead = "it is a prefix here, so longer numbers follow it too";
                notes.should(&route.place, what, instead);
            }
            numbers.starts
        });
        for account in &accounts {
            for prefix in &prefixes {
                prices.push(RoutePrice {
                    prefix: prefix.clone(),
                    account: account.clone(),
                    rate: route.rate,
                    place: route.place.clone(),
                });
                rules.push(ConvertedRule {
                    prefix: prefix.clone(),
                    account: account.clone(),
                    to: to.clone(),
                    place: route.place.clone(),
                });
            }
        }
    }
    let (kept, unreached) = settle(&rules);
    for index in unreached {
        let rule = &rules[index];
        let what = format!("no message reaches the route for {:?}", rule.prefix);
        let instead = "a route of higher order takes them all, in Jasmin too; left out";
        notes.nothing(&rule.place, what, instead);
    }
    (kept, prices)
}

/// The operators of a route's connectors; those that only receive send nothing in Jasmin either.
fn senders(
    route: &JasminRoute,
    connectors: &Connectors,
    notes: &mut ConversionNotes,
) -> Vec<String> {
    let mut senders = Vec::new();
    for (kind, name) in &route.connectors {
        let found = connectors.get(name).filter(|_| kind == "smppc");
        let (what, instead) = match found {
            Some(connector) if connector.sends => {
                senders.push(connector.id.clone());
                continue;
            }
            Some(_) => (
                format!("route {}: smppc({name}) binds as receiver", route.order),
                "left out of it: nothing can be sent there; set its `bind` to \"transceiver\" and \
                 name it in `to`, if messages shall go there"
                    .to_owned(),
            ),
            None => (
                format!(
                    "route {}: there is no connector {kind}({name})",
                    route.order
                ),
                format!("capture `smppccm -s {name}` too"),
            ),
        };
        notes.must(&route.place, what, instead);
    }
    senders
}

/// Addresses of accounts, from the routes of mobile-originated messages.
pub(super) fn mobile_originated(
    captured: &Captured,
    users: &[JasminUser],
    http: &HttpAccounts,
    draft: &mut ConfigDraft,
    notes: &mut ConversionNotes,
) {
    let mut addresses: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for route in routes(&captured.mo_rows, &captured.mo_routes, captured, notes) {
        let Some(conditions) = conditions(&route, users, notes) else {
            continue;
        };
        let wanted: Vec<String> = match conditions.numbers {
            None => vec!["*".to_owned()],
            Some(numbers) if numbers.whole => numbers.starts.into_iter().collect(),
            Some(numbers) => numbers
                .starts
                .iter()
                .map(|start| format!("{start}*"))
                .collect(),
        };
        let owners = owners(&route, users, http, notes);
        let Some(owner) = owners.first() else {
            continue;
        };
        if owners.len() > 1 {
            let what = format!("MO route {} leads to several users", route.order);
            let instead = "an address belongs to one account, which may bind many times: the first one has it";
            notes.should(&route.place, what, instead);
        }
        for address in wanted {
            if taken.insert(address.clone()) {
                addresses.entry(owner.clone()).or_default().push(address);
            } else {
                let what = format!(
                    "MO route {}: {address:?} belongs to another user",
                    route.order
                );
                notes.nothing(
                    &route.place,
                    what,
                    "the route of higher order has it, as in Jasmin",
                );
            }
        }
    }
    for (owner, addresses) in addresses {
        if let Some(table) = draft.account_mut(&owner) {
            table.set("addresses", list(&addresses));
        }
    }
}

/// The accounts to which a route of mobile-originated messages leads.
fn owners(
    route: &JasminRoute,
    users: &[JasminUser],
    http: &HttpAccounts,
    notes: &mut ConversionNotes,
) -> Vec<String> {
    let mut owners = Vec::new();
    for (kind, name) in &route.connectors {
        let (owner, what, capture) = match kind.as_str() {
            "http" => (
                http.get(name).cloned(),
                format!("there is no HTTP connector {name:?}"),
                "capture `httpccm -l` too".to_owned(),
            ),
            _ => {
                let is_user = kind == "smpps" && users.iter().any(|user| user.system_id == *name);
                (
                    is_user.then(|| name.clone()),
                    format!("there is no user {name:?}"),
                    format!("capture `user -s {name}` too"),
                )
            }
        };
        match owner {
            Some(owner) => owners.push(owner),
            None => notes.must(
                &route.place,
                format!("MO route {}: {what}", route.order),
                capture,
            ),
        }
    }
    owners
}

/// All routes, the highest order first, as Jasmin tries them.
fn routes(
    rows: &[JasminRow],
    added: &[Record],
    captured: &Captured,
    notes: &mut ConversionNotes,
) -> Vec<JasminRoute> {
    let mut routes: Vec<JasminRoute> = rows.iter().filter_map(of_row).collect();
    let listed: BTreeSet<u64> = routes.iter().map(|route| route.order).collect();
    // A route that is added under the order of another one replaces it.
    let is_replaced = |at: usize| {
        let mut later = added[at + 1..].iter();
        later.any(|later| order_of(later) == order_of(&added[at]))
    };
    let of_records = added
        .iter()
        .enumerate()
        .filter(|(at, _)| !is_replaced(*at))
        .map(|(_, record)| of_record(record, captured, notes));
    routes.extend(of_records.filter(|route| !listed.contains(&route.order)));
    routes.sort_by_key(|route| std::cmp::Reverse(route.order));
    routes
}

/// `20 RandomRoundrobinMTRoute 0 (!) smppc(a), smppc(b) <DA (dst_addr=^44)>`
fn of_row(row: &JasminRow) -> Option<JasminRoute> {
    let (front, filters) = match row.text.find('<') {
        Some(at) => row.text.split_at(at),
        None => (row.text.as_str(), ""),
    };
    let mut words = front.split_whitespace();
    Some(JasminRoute {
        order: words.next()?.parse().ok()?,
        kind: words.next()?.to_owned(),
        connectors: connectors(front),
        filters: filters::of_row(filters),
        rate: rate_of_row(&row.text),
        place: row.place.clone(),
    })
}

fn of_record(record: &Record, captured: &Captured, notes: &mut ConversionNotes) -> JasminRoute {
    let named = record.get("filters").unwrap_or_default().split(';');
    let filters = named
        .map(str::trim)
        .filter(|fid| !fid.is_empty())
        .map(|fid| {
            filter_called(fid, captured).unwrap_or_else(|| {
                let what = format!("the filter {fid:?} is not known");
                notes.must(record.place_of("filters"), what, "capture `filter -l` too");
                JasminFilter::Other(fid.to_owned())
            })
        })
        .collect();
    let to = record.get("connectors").or(record.get("connector"));
    JasminRoute {
        order: order_of(record),
        kind: record.get("type").unwrap_or_default().to_owned(),
        connectors: connectors(to.unwrap_or_default()),
        filters,
        rate: rate(record.get("rate").unwrap_or_default()),
        place: record.place.clone(),
    }
}

fn order_of(record: &Record) -> u64 {
    let order = record.get("order").and_then(|order| order.parse().ok());
    order.unwrap_or(0)
}

/// A filter by its id, from `filter -l` or as it was added.
fn filter_called(fid: &str, captured: &Captured) -> Option<JasminFilter> {
    // One that is added again under its name replaces the one before.
    let mut added = captured.filters.iter().rev();
    if let Some(record) = added.find(|record| record.name == fid) {
        let value = ["uid", "gid", "destination_addr"]
            .into_iter()
            .find_map(|key| record.get(key));
        return Some(filters::of_type(
            record.get("type")?,
            value.unwrap_or_default(),
        ));
    }
    let row = captured
        .filter_rows
        .iter()
        .find(|row| row.text.split_whitespace().next() == Some(fid))?;
    filters::of_row(&row.text[row.text.find('<')?..]).pop()
}

/// Every `word(name)` of a text.
fn connectors(text: &str) -> Vec<(String, String)> {
    text.split([' ', ',', ';'])
        .filter_map(|word| {
            let (kind, name) = word.split_once('(')?;
            let known = ["smppc", "smpps", "http"].contains(&kind);
            known.then(|| (kind.to_owned(), name.trim_end_matches(')').to_owned()))
        })
        .collect()
}

/// The combined filters; `None` when one of them has no counterpart here.
fn conditions(
    route: &JasminRoute,
    users: &[JasminUser],
    notes: &mut ConversionNotes,
) -> Option<Conditions> {
    let mut found = Conditions::default();
    let mut refuse = |what: String, instead: &str| {
        let what = format!("route {}: {what}", route.order);
        notes.must(
            &route.place,
            what,
            format!("the route is left out; {instead}"),
        );
    };
    for filter in &route.filters {
        match filter {
            JasminFilter::Everything => {}
            JasminFilter::User(uid) => {
                let account = users.iter().find(|user| user.uid == *uid);
                let Some(account) = account else {
                    refuse(
                        format!("there is no user {uid:?}"),
                        "capture `user -s` of it too",
                    );
                    return None;
                };
                narrow(
                    &mut found.accounts,
                    BTreeSet::from([account.system_id.clone()]),
                );
            }
            JasminFilter::Group(gid) => {
                let members: BTreeSet<String> = users
                    .iter()
                    .filter(|user| user.gid == *gid)
                    .map(|user| user.system_id.clone())
                    .collect();
                narrow(&mut found.accounts, members);
            }
            JasminFilter::Destination(expression) => {
                let Some(numbers) = filters::numbers(expression) else {
                    let what = format!("{expression:?} is more than the beginning of a number");
                    refuse(what, "write the prefixes that it stands for");
                    return None;
                };
                if found.numbers.is_some() {
                    refuse(
                        "two filters of the destination".to_owned(),
                        "write the prefixes that fit both",
                    );
                    return None;
                }
                found.numbers = Some(numbers);
            }
            JasminFilter::Other(what) => {
                refuse(
                    format!("the filter {what:?} has no counterpart"),
                    "routes know destination, source and account",
                );
                return None;
            }
        }
    }
    if found.accounts.as_ref().is_some_and(BTreeSet::is_empty) {
        refuse(
            "no user fits its filters".to_owned(),
            "capture `user -s` of its users too",
        );
        return None;
    }
    Some(found)
}

fn narrow(accounts: &mut Option<BTreeSet<String>>, to: BTreeSet<String>) {
    *accounts = Some(match accounts.take() {
        None => to,
        Some(before) => before.intersection(&to).cloned().collect(),
    });
}
