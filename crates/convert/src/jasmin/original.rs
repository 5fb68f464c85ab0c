//! Jasmin's own routing of messages to operators: `RoutingTable.getRouteFor`, which takes the first route, from the highest
//! order down, all of whose filters match, and `Filter.match`. Regular expressions are matched as such.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use super::capture;
use super::read::{Captured, JasminRow, Record};
use crate::original::{AskedWay, OriginalRouter, OriginalTarget, OriginalWay};
use crate::{ConversionRefused, SourcePlace, SourceText};

/// The MT router with the users that its filters name.
#[derive(Debug)]
pub struct JasminRouter {
    users: Vec<TableUser>,
    targets: Vec<OriginalTarget>,
    /// By order: of two with the same one the later replaces the earlier.
    routes: BTreeMap<u64, TableRoute>,
}

#[derive(Debug)]
struct TableUser {
    uid: String,
    gid: String,
    username: String,
}

#[derive(Debug)]
struct TableRoute {
    kind: String,
    /// Places of targets.
    connectors: Vec<usize>,
    filters: Vec<TableFilter>,
    place: SourcePlace,
}

#[derive(Debug)]
enum TableFilter {
    Transparent,
    User(String),
    Group(String),
    To(Regex),
    /// As it was written, and so that it matches as Python does.
    From(String, Regex),
    /// One that looks at something else, in words.
    Unseen(String),
}

/// Reads the MT router of these captures.
///
/// # Errors
/// As of [`super::convert`]; also captures without a route.
pub fn router(sources: &[SourceText]) -> Result<JasminRouter, ConversionRefused> {
    let captured = capture(sources)?;
    let mut router = JasminRouter {
        users: users(&captured),
        targets: captured.connectors.iter().map(target).collect(),
        routes: BTreeMap::new(),
    };
    // What is listed is how it is now; what was added may have been changed since.
    for record in &captured.mt_routes {
        router.add_record(record, &captured);
    }
    for row in &captured.mt_rows {
        router.add_row(row);
    }
    if router.routes.is_empty() {
        return Err(ConversionRefused {
            file: sources
                .first()
                .map_or(String::new(), |source| source.name.clone()),
            why: "there is no route in it to compare with; capture `mtrouter -l` too".to_owned(),
        });
    }
    Ok(router)
}

fn users(captured: &Captured) -> Vec<TableUser> {
    let shown = captured.users.iter().map(|record| TableUser {
        uid: record.name.clone(),
        gid: record.get("gid").unwrap_or_default().to_owned(),
        username: record.get("username").unwrap_or(&record.name).to_owned(),
    });
    let mut users: Vec<TableUser> = shown.collect();
    for row in &captured.user_rows {
        let words: Vec<&str> = row.text.split_whitespace().collect();
        let [uid, gid, username, ..] = words.as_slice() else {
            continue;
        };
        // Marks of what is disabled.
        let (uid, gid) = (uid.trim_start_matches('!'), gid.trim_start_matches('!'));
        if !users.iter().any(|user| user.uid == uid) {
            users.push(TableUser {
                uid: uid.to_owned(),
                gid: gid.to_owned(),
                username: (*username).to_owned(),
            });
        }
    }
    users
}

/// A connector, with Jasmin's own defaults.
fn target(record: &Record) -> OriginalTarget {
    let or = |key: &str, default: &'static str| record.get(key).unwrap_or(default).to_owned();
    OriginalTarget::at(
        &record.name,
        &or("host", "127.0.0.1"),
        &or("port", "2775"),
        &or("username", "smppclient"),
    )
}

/// `<DA (dst_addr=^44)>, <U (uid=foo)>`: name and value of each.
fn filters_of_row(text: &str) -> Vec<TableFilter> {
    let inner = text.trim().strip_prefix('<');
    let inner = inner.and_then(|text| text.strip_suffix('>'));
    let parts = inner.into_iter().flat_map(|inner| inner.split(">, <"));
    let read = parts.map(|part| {
        let (name, rest) = part.split_once(" (").unwrap_or((part, ""));
        let rest = rest.strip_suffix(')').unwrap_or(rest);
        let value = rest.split_once('=').map_or(rest, |(_, value)| value);
        filter(name, value)
    });
    read.collect()
}

fn filter(name: &str, value: &str) -> TableFilter {
    let unseen = || TableFilter::Unseen(format!("{name} {value}").trim().to_owned());
    // Python's match begins at the start of the text, and need not reach its end.
    let matching = || Regex::new(&format!(r"\A(?:{value})")).ok();
    match name.to_lowercase().as_str() {
        "t" | "transparentfilter" => TableFilter::Transparent,
        "u" | "userfilter" => TableFilter::User(value.to_owned()),
        "g" | "groupfilter" => TableFilter::Group(value.to_owned()),
        "da" | "destinationaddrfilter" => matching().map_or_else(unseen, TableFilter::To),
        "sa" | "sourceaddrfilter" => matching().map_or_else(unseen, |expression| {
            TableFilter::From(value.to_owned(), expression)
        }),
        _ => unseen(),
    }
}

/// A filter by its fid.
fn filter_called(fid: &str, captured: &Captured) -> TableFilter {
    // A filter that is added again under its fid replaces the one before.
    let mut added = captured.filters.iter().rev();
    if let Some(record) = added.find(|record| record.name == fid) {
        let keys = ["uid", "gid", "destination_addr", "source_addr"];
        let value = keys.into_iter().find_map(|key| record.get(key));
        return filter(
            record.get("type").unwrap_or_default(),
            value.unwrap_or_default(),
        );
    }
    let is_it = |row: &&JasminRow| row.text.split_whitespace().next() == Some(fid);
    let row = captured.filter_rows.iter().find(is_it);
    let listed = row.and_then(|row| filters_of_row(&row.text[row.text.find('<')?..]).pop());
    listed.unwrap_or_else(|| TableFilter::Unseen(format!("{fid}, which was not captured")))
}

// === impl JasminRouter ===

impl JasminRouter {
    /// `20 FailoverMTRoute 0 (!) smppc(a), smppc(b) <DA (dst_addr=^44)>`
    fn add_row(&mut self, row: &JasminRow) {
        let at = row.text.find('<').unwrap_or(row.text.len());
        let (front, filters) = row.text.split_at(at);
        let mut words = front.split_whitespace();
        let order = words.next().and_then(|order| order.parse().ok());
        let (Some(order), Some(kind)) = (order, words.next()) else {
            return;
        };
        let route = TableRoute {
            kind: kind.to_owned(),
            connectors: self.connectors(front),
            filters: filters_of_row(filters),
            place: row.place.clone(),
        };
        self.routes.insert(order, route);
    }

    fn add_record(&mut self, record: &Record, captured: &Captured) {
        let order = record.get("order").and_then(|order| order.parse().ok());
        let to = record.get("connectors").or(record.get("connector"));
        let fids = record.get("filters").unwrap_or_default().split(';');
        let fids = fids.map(str::trim).filter(|fid| !fid.is_empty());
        let route = TableRoute {
            kind: record.get("type").unwrap_or_default().to_owned(),
            connectors: self.connectors(to.unwrap_or_default()),
            filters: fids.map(|fid| filter_called(fid, captured)).collect(),
            place: record.place.clone(),
        };
        self.routes.insert(order.unwrap_or(0), route);
    }

    /// The places of every `smppc(name)`; those that were not captured get one.
    fn connectors(&mut self, text: &str) -> Vec<usize> {
        let named = text.split("smppc(").skip(1);
        let names = named.filter_map(|rest| Some(rest.split_once(')')?.0.trim()));
        let mut places = Vec::new();
        for name in names {
            let known = self.targets.iter().position(|target| target.name == name);
            places.push(known.unwrap_or(self.targets.len()));
            if known.is_none() {
                self.targets.push(OriginalTarget::at(name, "", "", ""));
            }
        }
        places
    }
}

impl OriginalRouter for JasminRouter {
    fn accounts(&self) -> Vec<&str> {
        let names = self.users.iter().map(|user| user.username.as_str());
        names.collect()
    }

    fn targets(&self) -> &[OriginalTarget] {
        &self.targets
    }

    fn ways(&self, asked: &AskedWay<'_>) -> Vec<OriginalWay> {
        let is_user = |user: &&TableUser| user.username == asked.account;
        let user = self.users.iter().find(is_user);
        let mut ways = Vec::new();
        for (order, route) in self.routes.iter().rev() {
            let Some(if_holds) = route.fits(asked, user) else {
                continue;
            };
            let decides = if_holds.is_empty();
            let TableRoute { kind, place, .. } = route;
            ways.push(OriginalWay {
                if_holds,
                steps: route.steps(),
                why: vec![format!("{place}: {kind} of order {order}")],
            });
            if decides {
                return ways;
            }
        }
        ways.push(OriginalWay {
            if_holds: Vec::new(),
            steps: Vec::new(),
            why: vec!["no route matches".to_owned()],
        });
        ways
    }
}

// === impl TableRoute ===

impl TableRoute {
    /// What else must hold for it to match; `None` if it does not match.
    fn fits(&self, asked: &AskedWay<'_>, user: Option<&TableUser>) -> Option<Vec<String>> {
        let mut if_holds = Vec::new();
        for filter in &self.filters {
            let matches = match filter {
                TableFilter::Transparent => true,
                TableFilter::User(uid) => user.is_some_and(|user| user.uid == *uid),
                TableFilter::Group(gid) => user.is_some_and(|user| user.gid == *gid),
                TableFilter::To(expression) => expression.is_match(asked.to),
                TableFilter::From(written, expression) => match asked.from {
                    Some(from) => expression.is_match(from),
                    None => {
                        if_holds.push(format!("the sender matches {written}"));
                        true
                    }
                },
                TableFilter::Unseen(what) => {
                    if_holds.push(format!("the filter {what} matches"));
                    true
                }
            };
            // DefaultRoute matches whatever filters it has.
            if !matches && self.kind != "DefaultRoute" {
                return None;
            }
        }
        Some(if_holds)
    }

    /// Everybody at once by chance, or one after the other.
    fn steps(&self) -> Vec<BTreeSet<usize>> {
        let all = self.connectors.iter().copied();
        if self.kind.starts_with("RandomRoundrobin") {
            return vec![all.collect()];
        }
        all.map(|place| [place].into()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r"
jcli : smppccm -s acme
cid acme
host smpp.acme.example
port 2776
username gateway
jcli : user -s foo
username foouser
uid foo
gid marketing
jcli : user -l
#User id          Group id         Username         Balance MT SMS Throughput
#foo              marketing        foouser          ND      ND     ND/5.0
#!bar             sales            bar              10.0    ND     ND/ND
jcli : mtrouter -l
#Order Type                    Rate       Connector ID(s)            Filter(s)
#50    StaticMTRoute           0 (!)      smppc(acme)                <TI (08:00:00,18:00:00)>, <DA (dst_addr=^33)>
#40    StaticMTRoute           0 (!)      smppc(night)               <SA (src_addr=^ACME$)>
#30    FailoverMTRoute         0 (!)      smppc(acme), smppc(spare)  <U (uid=foo)>, <DA (dst_addr=^(?:44|35)\d{10}$)>
#20    RandomRoundrobinMTRoute 0.00       smppc(acme), smppc(spare)  <GroupFilter (gid=sales)>
";

    fn router_of(text: &str) -> JasminRouter {
        let source = SourceText {
            name: "jcli.txt".to_owned(),
            text: text.to_owned(),
        };
        router(&[source]).unwrap()
    }

    /// Each way in words.
    fn ways(router: &JasminRouter, to: &str, account: &str, from: Option<&str>) -> Vec<String> {
        let asked = AskedWay {
            to,
            account,
            from,
            smsc: None,
        };
        let name = |place: &usize| router.targets()[*place].name.clone();
        let step = |step: &BTreeSet<usize>| step.iter().map(name).collect::<Vec<_>>().join("+");
        let shown = |way: OriginalWay| {
            let steps: Vec<String> = way.steps.iter().map(step).collect();
            let conditions = way.if_holds.join(" and ");
            format!("{}|{conditions}", steps.join(" then "))
        };
        router.ways(&asked).into_iter().map(shown).collect()
    }

    #[test]
    fn the_highest_route_whose_filters_match_decides() {
        let router = router_of(TABLE);
        assert_eq!(router.accounts(), ["foouser", "bar"]);
        assert_eq!(
            router.targets()[0],
            OriginalTarget::at("acme", "smpp.acme.example", "2776", "gateway")
        );
        for (to, account, from, expected) in [
            (
                "447700900123",
                "foouser",
                Some("x"),
                &["acme then spare|"][..],
            ),
            // One digit more does not match, nor does another user.
            ("4477009001234", "foouser", Some("x"), &["|"]),
            ("447700900123", "bar", Some("x"), &["acme+spare|"]),
            ("447700900123", "bar", Some("ACME"), &["night|"]),
            (
                "447700900123",
                "nobody",
                None,
                &["night|the sender matches ^ACME$", "|"],
            ),
            (
                "33612345678",
                "bar",
                Some("x"),
                &[
                    "acme|the filter TI 08:00:00,18:00:00 matches",
                    "acme+spare|",
                ],
            ),
        ] {
            assert_eq!(ways(&router, to, account, from), expected, "{to} {account}");
        }
    }

    #[test]
    fn a_route_added_under_the_same_order_replaces_the_one_before() {
        let added = |connector: &str| {
            format!(
                "jcli : mtrouter -a\n> type StaticMTRoute\n> order 10\n> filters all\n> connector smppc({connector})\n> ok\n"
            )
        };
        let text = format!(
            "jcli : filter -a\n> type TransparentFilter\n> fid all\n> ok\n{}{}",
            added("first"),
            added("second")
        );
        assert_eq!(ways(&router_of(&text), "1", "", None), ["second|"]);
    }

    #[test]
    fn captures_without_routes_are_refused() {
        let source = SourceText {
            name: "jcli.txt".to_owned(),
            text: "jcli : user -s foo\nusername foo\nuid foo\ngid all\n".to_owned(),
        };
        let refused = router(&[source]).unwrap_err();
        assert!(refused.why.contains("mtrouter -l"), "{refused}");
    }
}
