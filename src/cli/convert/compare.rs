//! `smsc convert … --compare`: where each number of a list went before, and where it goes now.
//!
//! Before is what [`OriginalRouter`] says, now what the route table says that messages are routed with. Compares targets and
//! their order of failover, not their shares, nor whether an account may send at all.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::config::{Config, RouteConfig, RouteStep};
use crate::convert::original::{AskedWay, OriginalRouter, OriginalTarget, OriginalWay};
use crate::domain::route::{Route, RouteQuestion, RouteTable};
use crate::domain::{address, csv};

/// The target of messages that nobody gets.
const NOBODY: &str = "test:failed";
/// Columns of a list without a head.
const COLUMNS: [&str; 4] = ["number", "account", "sender", "smsc"];
/// What stands between the fields of a line, unless it is between quotes.
const SEPARATORS: [char; 3] = [',', ';', '\t'];

/// What is compared.
#[derive(Debug, clap::Args)]
pub(super) struct CompareArgs {
    /// Route the numbers of this list by the old configuration and by the new one, and show those that go elsewhere. A line
    /// is `number,account,sender,smsc`; all but the number may be missing. `-` reads standard input.
    #[arg(long, value_name = "LIST")]
    pub(super) compare: Option<PathBuf>,
    /// The new configuration, if it was edited; without it, the converted one is compared.
    #[arg(long, value_name = "FILE", requires = "compare")]
    pub(super) with: Option<PathBuf>,
}

/// A line of the list; what is empty was not given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ListedNumber {
    number: String,
    account: String,
    sender: String,
    smsc: String,
}

/// Operators in order of failover; those of one step share. Nobody gets the message if empty.
type OperatorSteps = Vec<BTreeSet<String>>;

/// Both configurations.
struct RouteComparison<'c> {
    before: &'c dyn OriginalRouter,
    /// What each target of `before` is called now.
    names: Vec<String>,
    now: NewRoutes,
}

/// The new configuration, as messages are routed by it.
struct NewRoutes {
    table: RouteTable<String>,
    /// The name of each route of the table, and which of its targets are left out because they are not enabled.
    named: Vec<(String, Vec<String>)>,
    /// `id`, `address` and `system_id` of each operator.
    operators: Vec<[String; 3]>,
    accounts: BTreeSet<String>,
}

/// Compares, and prints what differs.
///
/// # Errors
/// The list cannot be read or a line of it is wrong; something goes elsewhere.
pub(super) fn run(list: &Path, before: &dyn OriginalRouter, now: &Config) -> anyhow::Result<()> {
    let (name, text) = if list == Path::new("-") {
        ("standard input".to_owned(), io::read_to_string(io::stdin()))
    } else {
        (list.display().to_string(), fs::read_to_string(list))
    };
    let numbers = numbers(&text.with_context(|| format!("{name} cannot be read"))?)?;
    if numbers.is_empty() {
        bail!("{name} has no number; write one on each line");
    }
    let comparison = RouteComparison::of(before, now);
    let accounts: BTreeSet<&str> = before.accounts().into_iter().collect();
    let mut out = io::stdout().lock();
    let (mut asked, mut differing) = (0_usize, 0_usize);
    for (line, listed) in &numbers {
        let given = listed.account.as_str();
        let is_known = accounts.contains(given) || comparison.now.accounts.contains(given);
        if !given.is_empty() && !is_known {
            bail!(
                "line {line} of {name}: there is no account {given:?}, before or now; correct its name or remove the line"
            );
        }
        // Without an account, everybody's message is compared; those with the same difference are shown as one.
        let senders: Vec<&str> = match given {
            "" if accounts.is_empty() => vec![""],
            "" => accounts.iter().copied().collect(),
            given => vec![given],
        };
        asked += senders.len();
        let mut found: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for sender in senders {
            if let Some(difference) = comparison.difference(listed, sender) {
                differing += 1;
                found.entry(difference).or_default().push(sender);
            }
        }
        for (difference, senders) in found {
            let of = senders.join(", ");
            let of = if of.is_empty() {
                of
            } else {
                format!(" of {of}")
            };
            writeln!(out, "{}{of}\n{difference}", listed.number)?;
        }
    }
    if differing > 0 {
        bail!("{differing} of {asked} messages go elsewhere");
    }
    writeln!(out, "all {asked} messages go where they went")?;
    Ok(())
}

fn given(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// Where a route of the new configuration leads to.
fn steps_now(route: &Route<String>) -> OperatorSteps {
    let named = |step: &RouteStep| -> BTreeSet<String> {
        let targets = step.shares.iter().map(|share| share.target.clone());
        targets.filter(|target| target != NOBODY).collect()
    };
    distinct(route.steps.iter().map(named).collect())
}

/// Each target once, where it comes first.
fn distinct(steps: OperatorSteps) -> OperatorSteps {
    let mut known = BTreeSet::new();
    let fresh = steps.into_iter().map(|step| {
        let fresh: BTreeSet<String> = step.difference(&known).cloned().collect();
        known.extend(step);
        fresh
    });
    fresh.filter(|step| !step.is_empty()).collect()
}

fn shown(steps: &[BTreeSet<String>]) -> String {
    if steps.is_empty() {
        return "nobody".to_owned();
    }
    let together = |step: &BTreeSet<String>| {
        let names: Vec<&str> = step.iter().map(String::as_str).collect();
        names.join(" + ")
    };
    let steps: Vec<String> = steps.iter().map(together).collect();
    steps.join(", then ")
}

/// The lines of a list with their numbers. A first line of names says what the columns are.
fn numbers(text: &str) -> anyhow::Result<Vec<(usize, ListedNumber)>> {
    let mut columns: Vec<String> = COLUMNS.map(str::to_owned).into();
    let mut numbers = Vec::new();
    let mut is_first = true;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim().trim_start_matches('\u{FEFF}');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fields = csv::fields(line, &SEPARATORS);
        let fields: Vec<&str> = fields.iter().map(|field| field.trim()).collect();
        let is_head = std::mem::take(&mut is_first) && fields.contains(&COLUMNS[0]);
        if is_head {
            columns = fields.into_iter().map(str::to_owned).collect();
            continue;
        }
        let mut listed = ListedNumber::default();
        for (column, field) in columns.iter().zip(fields) {
            let place = match column.as_str() {
                "number" => &mut listed.number,
                "account" => &mut listed.account,
                "sender" => &mut listed.sender,
                "smsc" => &mut listed.smsc,
                _ => continue,
            };
            *place = field.to_owned();
        }
        let digits = address::normalise(listed.number.as_bytes());
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            bail!(
                "line {}: {:?} is no number; a line is {}",
                index + 1,
                listed.number,
                COLUMNS.join(",")
            );
        }
        numbers.push((index + 1, listed));
    }
    Ok(numbers)
}

// === impl RouteComparison ===

impl<'c> RouteComparison<'c> {
    fn of(before: &'c dyn OriginalRouter, now: &Config) -> Self {
        let now = NewRoutes::of(now);
        let targets = before.targets().iter();
        Self {
            before,
            names: targets.map(|target| now.name_of(target)).collect(),
            now,
        }
    }

    /// What differs for a message, in lines; `None` if nothing does.
    fn difference(&self, listed: &ListedNumber, account: &str) -> Option<String> {
        let asked = AskedWay {
            to: &listed.number,
            account,
            from: given(&listed.sender),
            smsc: given(&listed.smsc),
        };
        let ways = self.before.ways(&asked);
        let found = self.now.route(&asked);
        let now = match &found {
            Ok(route) => steps_now(route),
            Err(_) => OperatorSteps::new(),
        };
        if ways.iter().all(|way| self.steps_of(way) == now) {
            return None;
        }
        let mut lines = Vec::new();
        for way in &ways {
            let condition = if way.if_holds.is_empty() {
                String::new()
            } else {
                format!(" if {}", way.if_holds.join(" and "))
            };
            let steps = shown(&self.steps_of(way));
            lines.push(format!("  before{condition}: {steps}"));
            lines.extend(way.why.iter().map(|why| format!("    {why}")));
        }
        lines.push(format!("  now: {}", shown(&now)));
        let why_now = match found {
            Ok(route) => self.now.why(route),
            Err(why) => vec![why],
        };
        lines.extend(why_now.iter().map(|why| format!("    {why}")));
        Some(lines.join("\n"))
    }

    fn steps_of(&self, way: &OriginalWay) -> OperatorSteps {
        let named = |step: &BTreeSet<usize>| -> BTreeSet<String> {
            let names = step.iter().filter_map(|place| self.names.get(*place));
            names.cloned().collect()
        };
        distinct(way.steps.iter().map(named).collect())
    }
}

// === impl NewRoutes ===

impl NewRoutes {
    fn of(config: &Config) -> Self {
        let operators = config.operator.iter().filter(|one| !one.enabled);
        let accounts = config.account.iter().filter(|one| !one.enabled);
        let disabled: BTreeSet<&String> = operators
            .map(|one| &one.id)
            .chain(accounts.map(|one| &one.system_id))
            .collect();
        let mut routes = config.all_routes();
        routes.retain(|route| !route.mobile_originated);
        let left_out = |route: &RouteConfig| -> Vec<String> {
            let shares = route.to.iter().flat_map(|step| &step.shares);
            let targets = shares.map(|share| &share.target);
            let targets = targets.filter(|target| disabled.contains(target));
            targets.cloned().collect()
        };
        // As where messages are routed: a target that is not enabled is none.
        let enabled = |name: &String| (!disabled.contains(name)).then(|| name.clone());
        let resolved = routes.iter().map(|route| route.to_domain().map(enabled));
        Self {
            table: RouteTable::build(resolved),
            named: routes
                .iter()
                .map(|route| (route.key(), left_out(route)))
                .collect(),
            operators: config
                .operator
                .iter()
                .map(|one| [one.id.clone(), one.address.clone(), one.system_id.clone()])
                .collect(),
            accounts: config
                .account
                .iter()
                .map(|account| account.system_id.clone())
                .collect(),
        }
    }

    /// The route that takes a message; or why none does.
    fn route(&self, asked: &AskedWay<'_>) -> Result<&Route<String>, String> {
        if !asked.account.is_empty() && !self.accounts.contains(asked.account) {
            return Err(format!("there is no account {:?}", asked.account));
        }
        let question = RouteQuestion {
            destination: address::normalise(asked.to.as_bytes()),
            source: address::normalise(asked.from.unwrap_or_default().as_bytes()),
            account: asked.account,
            network: "",
        };
        let found = self.table.lookup(&question);
        found.ok_or_else(|| "no route fits".to_owned())
    }

    /// A route of the table in words, and which of its targets are left out.
    fn why(&self, route: &Route<String>) -> Vec<String> {
        let mut why = Vec::new();
        let mut all = self.table.routes().iter().zip(&self.named);
        if let Some((_, (key, left_out))) = all.find(|(one, _)| std::ptr::eq(*one, route)) {
            why.push(format!("route {key}: {route}"));
            why.extend(left_out.iter().map(|name| format!("{name} is not enabled")));
        }
        why
    }

    /// What a connection is called now: the operator at its address with its system_id, or the one with its name.
    fn name_of(&self, target: &OriginalTarget) -> String {
        let is_same = |operator: &&[String; 3]| {
            let [_, address, system_id] = operator;
            !target.address.is_empty()
                && *address == target.address
                && *system_id == target.system_id
        };
        let same: Vec<&[String; 3]> = self.operators.iter().filter(is_same).collect();
        let own = same.iter().find(|[id, ..]| *id == target.name);
        let found = own.or(same.first());
        found.map_or_else(|| target.name.clone(), |[id, ..]| id.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers by number: targets by place, each a step of its own.
    struct FixedRouter {
        targets: Vec<OriginalTarget>,
        answers: BTreeMap<&'static str, Vec<usize>>,
    }

    impl OriginalRouter for FixedRouter {
        fn accounts(&self) -> Vec<&str> {
            vec!["alice"]
        }

        fn targets(&self) -> &[OriginalTarget] {
            &self.targets
        }

        fn ways(&self, asked: &AskedWay<'_>) -> Vec<OriginalWay> {
            let places = self.answers.get(asked.to).cloned().unwrap_or_default();
            vec![OriginalWay {
                if_holds: Vec::new(),
                steps: places.into_iter().map(|place| [place].into()).collect(),
                why: vec!["old:1: a rule".to_owned()],
            }]
        }
    }

    const NEW: &str = r#"
[[account]]
system_id = "alice"
password = "secret"

[[operator]]
id = "renamed"
address = "192.0.2.1:2775"
system_id = "us"
password = "x"

[[operator]]
id = "off"
address = "192.0.2.2:2775"
system_id = "us"
password = "x"
enabled = false

[[route]]
prefix = "44"
to = ["renamed", "off"]

[[route]]
prefix = "33"
to = ["test:failed"]
"#;

    fn difference(number: &str, places: &[usize]) -> Option<String> {
        let target = |name: &str, address: &str| OriginalTarget {
            name: name.to_owned(),
            address: address.to_owned(),
            system_id: "us".to_owned(),
        };
        let old = FixedRouter {
            targets: vec![
                target("first", "192.0.2.1:2775"),
                target("off", "192.0.2.2:2775"),
                target("gone", ""),
            ],
            answers: BTreeMap::from([
                ("447700900123", places.to_vec()),
                ("33612", places.to_vec()),
            ]),
        };
        let config = Config::of_text(NEW).unwrap();
        let listed = ListedNumber {
            number: number.to_owned(),
            ..ListedNumber::default()
        };
        RouteComparison::of(&old, &config).difference(&listed, "alice")
    }

    #[test]
    fn a_connection_is_known_by_its_address() {
        assert_eq!(difference("447700900123", &[0]), None);
        let said = difference("447700900123", &[0, 1]).unwrap();
        assert_eq!(
            said,
            "  before: renamed, then off\n    old:1: a rule\n  now: renamed\n    \
             route 44: to \"44*\": renamed\n    off is not enabled"
        );
        let said = difference("447700900123", &[2]).unwrap();
        assert!(said.starts_with("  before: gone\n"), "{said}");
    }

    #[test]
    fn nobody_is_who_has_no_route_or_a_failing_one() {
        assert_eq!(difference("33612", &[]), None);
        assert_eq!(difference("1", &[]), None);
        let said = difference("33612", &[0]).unwrap();
        assert!(said.contains("  now: nobody\n    route 33: "), "{said}");
    }

    #[test]
    fn lists_have_columns() {
        let text = "\u{FEFF}account;number\n\n# a comment\nalice;+447700900123\n";
        let read = numbers(text).unwrap();
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].0, 4);
        assert_eq!(read[0].1.number, "+447700900123");
        assert_eq!(read[0].1.account, "alice");
        let read = numbers("447700900123\n33612, bob, ACME Ltd, best").unwrap();
        let expected = ListedNumber {
            number: "33612".to_owned(),
            account: "bob".to_owned(),
            sender: "ACME Ltd".to_owned(),
            smsc: "best".to_owned(),
        };
        assert_eq!(read[1], (2, expected));
        let read = numbers("33612,bob,\"ACME, Ltd\",\"best\"").unwrap();
        assert_eq!(
            (&*read[0].1.sender, &*read[0].1.smsc),
            ("ACME, Ltd", "best")
        );
        let refused = numbers("447700900123\n447700900124 bob").unwrap_err();
        assert!(refused.to_string().starts_with("line 2: "), "{refused}");
    }
}
