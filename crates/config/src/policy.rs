//! `[policy]`, `[[list]]` and `[[limit]]`: who may send what to whom, and how fast.
//!
//! [`CompiledPolicies::read`] compiles what they and the accounts say; the validation calls it to report
//! every error, the plan to use the result. Files of lists are read there, so both block.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::mark::MAX_DIGITS;
use super::price::{NO_CURRENCY, is_currency};
use super::problem::{ConfigProblem, did_you_mean};
use super::section::settings;
use super::value::Status;
use super::{Account, Config, PriceList};
use smsc_domain::command_status;
use smsc_domain::policy::{self, AddressEntry, AddressSet};
use smsc_host::files;

/// Lines of one file that are complained about; further ones are only counted.
const COMPLAINTS: usize = 5;

settings! {
    /// `[policy]`: rules for every account. Addresses are compared after rewriting.
    pub struct PolicyConfig {
        /// Forbidden source addresses, notation as `senders` of an account; they get ESME_RINVSRCADR.
        blocked_senders: Vec<String> = Vec::new(),
        /// Forbidden destinations, notation as `senders` of an account; they get ESME_RINVDSTADR.
        blocked_destinations: Vec<String> = Vec::new(),
        /// Answer to a message for a number that has opted out.
        @refusal("the message would be lost; write \"ESME_RINVDSTADR\"")
        opt_out_status: u32 as Status = command_status::ESME_RINVDSTADR,
        /// An MO text that is one of these words, in any case, opts its sender out from the account: `["STOP"]`. It is still delivered.
        @must(|word| !word.trim().is_empty(), "is empty; write a word")
        opt_out_keywords: Vec<String> = Vec::new(),
        /// Words that end the opt-out: `["START"]`.
        @must(|word| !word.trim().is_empty(), "is empty; write a word")
        opt_in_keywords: Vec<String> = Vec::new(),
        /// Credits per segment for prepaid accounts, by prefix of the destination: `"4477" = 3`. The longest one wins, then `default`, then 1. Accounts may override it.
        prices: PriceList = PriceList::default(),
        /// Currency of a credit in CDRs and usage, letters and digits: `EUR`. Accounts may override it.
        @must(|currency| is_currency(currency), NO_CURRENCY)
        currency: String = "credits".to_owned(),
        /// Equal messages within a minute at one node after which a route with `mobile_originated` refuses them as a loop (ESME_RX_R_APPN); 0 never.
        mobile_originated_repeats: u32 = 3,
        /// Most addresses that each node tracks for `[[limit]]`; beyond, the least used regain their burst.
        @at_least(1) limit_addresses: usize = 100_000,
    }

    /// `[[list]]`: named addresses, for entries `list:NAME`. Read at start, on SIGHUP and with each change of the configuration.
    pub struct AddressList {
        /// Name in `list:NAME`.
        @required @name name: String = String::new(),
        /// Addresses, prefixes and regular expressions, notation as `senders` of an account.
        entries: Vec<String> = Vec::new(),
        /// File with more entries, one per line; empty lines and lines with `#` first are ignored.
        file: Option<PathBuf> = None,
    }

    /// Whose messages share a limit.
    pub enum LimitPer for policy::Per {
        /// All messages of the limit share it.
        Rule = "rule",
        /// One limit per source address.
        Sender = "sender",
        /// One limit per destination.
        Destination = "destination",
    }

    /// `[[limit]]`: rate limit by sender and destination, over all nodes with `[redis]`. All limits that match a message apply.
    pub struct LimitConfig {
        /// Name, also in Redis.
        @required @name name: String = String::new(),
        /// Only messages of this account.
        account: Option<String> = None,
        /// Only source addresses with this prefix.
        @text(MAX_DIGITS) sender_prefix: String = String::new(),
        /// Only destinations with this prefix.
        @text(MAX_DIGITS) destination_prefix: String = String::new(),
        /// Short messages (segments) per second; more get ESME_RTHROTTLED.
        @required @rate rate: f64 = 0.0,
        /// Most segments in one burst; without it, one second's worth.
        @at_least(1) burst: Option<u32> = None,
        /// Whose messages share the limit.
        per: LimitPer = LimitPer::Rule,
    }
}

/// Named lists and what is blocked for everybody, compiled.
#[derive(Debug, Default)]
pub struct CompiledPolicies {
    lists: HashMap<String, Arc<AddressSet>>,
    blocked_senders: Vec<Arc<AddressSet>>,
    blocked_destinations: Vec<Arc<AddressSet>>,
}

// === impl CompiledPolicies ===

impl CompiledPolicies {
    /// Compiles lists and `[policy]`; what is wrong with them goes to `problems`. Blocks.
    pub fn read(config: &Config, problems: &mut Vec<ConfigProblem>) -> Self {
        let mut policies = Self::default();
        for (index, list) in config.list.iter().enumerate() {
            let set = list.read(&format!("list[{index}]"), problems);
            policies.lists.insert(list.name.clone(), Arc::new(set));
        }
        let PolicyConfig {
            blocked_senders,
            blocked_destinations,
            ..
        } = &config.policy;
        let key = "policy.blocked_senders";
        policies.blocked_senders = policies.sets(key, blocked_senders, problems);
        let key = "policy.blocked_destinations";
        policies.blocked_destinations = policies.sets(key, blocked_destinations, problems);
        policies
    }

    /// What an account may do; `None` for everything. Keys of problems begin with `base`.
    pub fn of(
        &self,
        base: &str,
        account: &Account,
        problems: &mut Vec<ConfigProblem>,
    ) -> Option<policy::Policy> {
        let mut own =
            |key: &str, entries: &[String]| self.sets(&format!("{base}.{key}"), entries, problems);
        let mut blocked_senders = own("blocked_senders", &account.blocked_senders);
        let mut blocked_destinations = own("blocked_destinations", &account.blocked_destinations);
        blocked_senders.extend(self.blocked_senders.iter().cloned());
        blocked_destinations.extend(self.blocked_destinations.iter().cloned());
        let policy = policy::Policy {
            senders: own("senders", &account.senders),
            destinations: own("destinations", &account.destinations),
            blocked_senders,
            blocked_destinations,
        };
        (!policy.is_empty()).then_some(policy)
    }

    /// The sets that entries name together: their own one, and those of lists.
    pub(super) fn sets(
        &self,
        key: &str,
        entries: &[String],
        problems: &mut Vec<ConfigProblem>,
    ) -> Vec<Arc<AddressSet>> {
        let (mut sets, mut own) = (Vec::new(), Vec::new());
        for (at, text) in entries.iter().enumerate() {
            let key = || format!("{key}[{at}]");
            match AddressEntry::parse(text) {
                Ok(AddressEntry::List(name)) => match self.lists.get(&name) {
                    Some(set) => sets.push(Arc::clone(set)),
                    None => {
                        let mut known: Vec<&str> = self.lists.keys().map(String::as_str).collect();
                        known.sort_unstable();
                        let hint = did_you_mean(&name, &known);
                        let message = format!("there is no [[list]] \"{name}\", {hint}");
                        problems.push(ConfigProblem::new(key(), message));
                    }
                },
                Ok(entry) => own.push(entry),
                Err(error) => problems.push(ConfigProblem::new(key(), error.to_string())),
            }
        }
        match AddressSet::build(own) {
            Ok(set) if set.is_empty() => {}
            Ok(set) => sets.push(Arc::new(set)),
            Err(error) => problems.push(ConfigProblem::new(key, error.to_string())),
        }
        sets
    }
}

// === impl AddressList ===

impl AddressList {
    fn read(&self, base: &str, problems: &mut Vec<ConfigProblem>) -> AddressSet {
        let mut entries = Vec::new();
        for (at, text) in self.entries.iter().enumerate() {
            let added = add(&mut entries, text);
            let key = || format!("{base}.entries[{at}]");
            problems.extend(
                added
                    .err()
                    .map(|message| ConfigProblem::new(key(), message)),
            );
        }
        if let Some(file) = &self.file
            && let Err(message) = read_file(file, &mut entries, ErrorDetail::Everything)
        {
            let message = format!("{}: {message}", file.display());
            problems.push(ConfigProblem::new(format!("{base}.file"), message));
        }
        AddressSet::build(entries).unwrap_or_else(|error| {
            problems.push(ConfigProblem::new(base, error.to_string()));
            AddressSet::default()
        })
    }

    /// Why its file cannot be used, without any of its content: the client that named the file may
    /// not be allowed to read it.
    pub(super) fn unusable_file(&self) -> Option<String> {
        let file = self.file.as_deref()?;
        let mut entries = Vec::new();
        let read = read_file(file, &mut entries, ErrorDetail::Places);
        entries.retain(|entry| matches!(entry, AddressEntry::Pattern(_)));
        let usable = read.and_then(|()| match AddressSet::build(entries) {
            Ok(_) => Ok(()),
            Err(_) => Err("a regular expression in it cannot be used".to_owned()),
        });
        let message = usable.err()?;
        Some(format!("{}: {message}", file.display()))
    }
}

/// Most errors reported for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ErrorDetail {
    /// With what stands there.
    Everything,
    /// Only where.
    Places,
}

fn read_file(
    file: &Path,
    entries: &mut Vec<AddressEntry>,
    telling: ErrorDetail,
) -> Result<(), String> {
    let text = files::read_text(file, files::LIST).map_err(|error| error.to_string())?;
    let mut wrong = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim().trim_start_matches('\u{feff}');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Err(message) = add(entries, line) {
            wrong.push((number + 1, message));
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let said = wrong.iter().take(COMPLAINTS);
    let mut said: Vec<String> = said
        .map(|(line, message)| match telling {
            ErrorDetail::Everything => format!("line {line} {message}"),
            ErrorDetail::Places => format!("line {line} is no address, prefix or expression"),
        })
        .collect();
    if wrong.len() > COMPLAINTS {
        said.push(format!("and {} more lines", wrong.len() - COMPLAINTS));
    }
    Err(said.join("; "))
}

fn add(entries: &mut Vec<AddressEntry>, text: &str) -> Result<(), String> {
    match AddressEntry::parse(text) {
        Ok(AddressEntry::List(_)) => {
            Err("names a list inside a list; name both where they are used".into())
        }
        Ok(entry) => {
            entries.push(entry);
            Ok(())
        }
        Err(error) => Err(error.to_string()),
    }
}
