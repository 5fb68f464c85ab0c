//! Where receipts of single messages may be sent instead of the way of their account: URLs at the hosts that it
//! allows, and its callbacks by name.
//!
//! Each host has a queue of its own, so that one that fails holds no other. Built with the plan; asked when a message
//! is accepted, when it ends, and when its callback is sent.

use std::collections::{HashMap, HashSet};

use secrecy::ExposeSecret;

use super::names::callback_name;
use crate::config::{Account, CallbackFormat};
use crate::domain::callback::kannel;
use crate::domain::callback::reach::Reach;
use crate::domain::callback::states;
use crate::domain::callback::target::{CallbackTarget, NotATarget};
use crate::pb::CallbackForm;
use crate::store::StoreError;

/// Most octets of a URL that a message names.
const LONGEST: usize = 2048;

/// The callbacks that messages of an account may name.
#[derive(Debug, Default)]
pub struct Callbacks {
    /// The queue of each host.
    queues: HashMap<String, u32>,
    /// Hosts whose URLs messages may name.
    hosts: HashSet<String>,
    named: HashMap<String, String>,
    reach: Reach,
    signs: bool,
}

// === impl Callbacks ===

impl Callbacks {
    /// Those of an account; `intern` gives each queue its number.
    pub(super) fn of(
        account: &Account,
        mut intern: impl FnMut(&str) -> Result<u32, StoreError>,
    ) -> Result<Self, StoreError> {
        if account.callback_hosts.is_empty() && account.callbacks.is_empty() {
            return Ok(Self::default());
        }
        let mut callbacks = Self {
            reach: Reach::parse(&account.callback_allow_private).unwrap_or_default(),
            signs: !account.callback_secrets.expose_secret().is_empty(),
            ..Self::default()
        };
        for host in &account.callback_hosts {
            let host = host.to_ascii_lowercase();
            callbacks.hosts.insert(host);
        }
        let mut all = callbacks.hosts.clone();
        for (name, url) in account.callbacks.iter() {
            if let Ok(target) = CallbackTarget::parse(url) {
                callbacks.named.insert(name.to_owned(), url.to_owned());
                all.insert(target.host().to_owned());
            }
        }
        for host in all {
            let queue = intern(&callback_name(&account.system_id, &host))?;
            callbacks.queues.insert(host, queue);
        }
        Ok(callbacks)
    }

    /// The hosts with their queues.
    pub fn queues(&self) -> impl Iterator<Item = (&str, u32)> {
        let queues = self.queues.iter();
        queues.map(|(host, queue)| (host.as_str(), *queue))
    }

    /// The URL that a message means.
    pub fn url<'a>(&'a self, callback: &'a str) -> Option<&'a str> {
        if is_url(callback) {
            Some(callback)
        } else {
            self.named.get(callback).map(String::as_str)
        }
    }

    /// The queue of the host that a message means; `None` when the account does not allow it (any more).
    pub fn queue(&self, callback: &str, form: CallbackForm) -> Option<u32> {
        let target = target(self.url(callback)?, form).ok()?;
        let is_known = !is_url(callback) || self.hosts.contains(target.host());
        is_known.then(|| self.queues.get(target.host()).copied())?
    }

    /// Whether a message may name this callback.
    ///
    /// # Errors
    /// Why not, and the cure.
    pub fn check(&self, callback: &str, form: CallbackForm) -> Result<(), String> {
        if form == CallbackForm::Standard && !self.signs && !self.queues.is_empty() {
            let cure = "the account has no callback_secrets to sign callbacks with";
            return Err(cure.to_owned());
        }
        if !is_url(callback) {
            return if self.named.contains_key(callback) {
                Ok(())
            } else {
                Err(format!(
                    "is neither a URL nor the name of one of the account's `callbacks`: {callback:?}"
                ))
            };
        }
        if callback.len() > LONGEST {
            return Err(format!("has more than {LONGEST} octets"));
        }
        let target = target(callback, form).map_err(|error| error.to_string())?;
        let host = target.host();
        if !self.hosts.contains(host) {
            return Err(format!(
                "is at {host:?}, which is not among the account's `callback_hosts`"
            ));
        }
        if !target.is_https() && !self.reach.lists(host) {
            return Err(NotATarget::Scheme.to_string());
        }
        Ok(())
    }
}

fn is_url(callback: &str) -> bool {
    callback.contains("://")
}

fn target(url: &str, form: CallbackForm) -> Result<CallbackTarget, NotATarget> {
    match form {
        CallbackForm::Kannel => CallbackTarget::parse(&kannel::example(url)),
        _ => CallbackTarget::parse(url),
    }
}

/// States before the final one that an account wants to be reported.
pub(super) fn states_of(account: &Account) -> u32 {
    // It was valid when it was checked.
    states::set(account.callback_states.iter().map(String::as_str)).unwrap_or_default()
}

/// The states before the final one that callbacks of a form can report.
pub fn states_in(form: CallbackForm) -> u32 {
    let format = match form {
        CallbackForm::Standard => CallbackFormat::Standard,
        CallbackForm::Kannel => CallbackFormat::Kannel,
        CallbackForm::Jasmin => CallbackFormat::Jasmin,
        CallbackForm::JasminGet => CallbackFormat::JasminGet,
    };
    format.states()
}

/// The form of an account's own callbacks.
pub fn form_of(account: &Account) -> CallbackForm {
    match account.callback_format {
        CallbackFormat::Standard => CallbackForm::Standard,
        CallbackFormat::Kannel => CallbackForm::Kannel,
        CallbackFormat::Jasmin => CallbackForm::Jasmin,
        CallbackFormat::JasminGet => CallbackForm::JasminGet,
    }
}

#[cfg(test)]
impl super::AccountPlan {
    /// An account whose messages may name URLs at these hosts.
    pub fn with_callback_hosts(hosts: &[&str]) -> Self {
        let config = Account {
            system_id: "acme".to_owned(),
            callback_hosts: hosts.iter().map(ToString::to_string).collect(),
            ..Account::default()
        };
        Self {
            id: 1,
            allow: crate::domain::allow::AllowList::default(),
            priority_max: 3,
            policy: None,
            peer_encoding: crate::content::peer::PeerEncoding::of_account(&config),
            rewrite_out: crate::domain::rewrite::CompiledRewriteRules::default(),
            callbacks: Callbacks::of(&config, |_| Ok(2)).unwrap_or_default(),
            states: 0,
            numbers: config.numbers(),
            config,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn callbacks() -> Callbacks {
        let mut account = Account {
            system_id: "acme".to_owned(),
            callback_hosts: vec!["Hooks.example".to_owned(), "10.0.0.1".to_owned()],
            callback_allow_private: vec!["10.0.0.1".to_owned()],
            ..Account::default()
        };
        account.callback_secrets = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into();
        let mut next = 0;
        Callbacks::of(&account, |_| {
            next += 1;
            Ok(next)
        })
        .unwrap()
    }

    #[test]
    fn urls_at_the_hosts_of_the_account_and_nowhere_else() {
        let callbacks = callbacks();
        let form = CallbackForm::Standard;
        for fine in ["https://hooks.example/a?b=c", "http://10.0.0.1:8080/x"] {
            assert_eq!(callbacks.check(fine, form), Ok(()), "{fine}");
            assert!(callbacks.queue(fine, form).is_some());
        }
        for (wrong, why) in [
            ("https://other.example/", "callback_hosts"),
            ("https://a.hooks.example/", "callback_hosts"),
            ("http://hooks.example/", "https://"),
            ("https://hooks.example@other.example/", "user"),
            ("billing", "neither a URL"),
        ] {
            let said = callbacks.check(wrong, form).unwrap_err();
            assert!(said.contains(why), "{wrong}: {said}");
        }
        assert_eq!(callbacks.queue("https://other.example/", form), None);
    }

    #[test]
    fn escapes_of_kannel_stand_for_something_first() {
        let callbacks = callbacks();
        let form = CallbackForm::Kannel;
        let url = "https://hooks.example/dlr?type=%d&text=%A";
        assert_eq!(callbacks.check(url, form), Ok(()));
        // What they stand for may come from a subscriber: it is looked at again when it is called.
        for wrong in ["https://%n.example/", "https://hooks.example.%n/"] {
            assert!(callbacks.check(wrong, form).is_err(), "{wrong}");
        }
    }
}
