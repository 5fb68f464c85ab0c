//! Checks of the callbacks of an account.

use secrecy::ExposeSecret;

use super::Findings;
use crate::mark::is_name;
use crate::{Account, CallbackFormat, DeliverBy};
use smsc_domain::callback::kannel;
use smsc_domain::callback::reach::Reach;
use smsc_domain::callback::signature::SigningSecrets;
use smsc_domain::callback::states;
use smsc_domain::callback::target::{CallbackTarget, NotATarget};

pub(super) fn check_callback(base: &str, account: &Account, found: &mut Findings) {
    let key = |name: &str| format!("{base}.{name}");
    let is_used = account.deliver_by.by_callback();
    let secrets = SigningSecrets::parse(account.callback_secrets.expose_secret());
    if let Err(error) = &secrets {
        found.problem(key("callback_secrets"), error.to_string());
    }
    let has_none = secrets.is_ok_and(|secrets| secrets.is_empty());
    let is_standard = account.callback_format == CallbackFormat::Standard;
    if has_none && (is_used && is_standard || !account.callbacks.is_empty()) {
        let message = "is missing; a receiver could not tell callbacks from forgeries";
        found.problem(key("callback_secrets"), message);
    }
    let reach = Reach::parse(&account.callback_allow_private);
    if let Err(error) = &reach {
        found.problem(key("callback_allow_private"), error.to_string());
    }
    let reach = reach.unwrap_or_default();
    if account.callback_url.is_none() && is_used {
        found.problem(key("callback_url"), "is missing");
    }
    for (name, url) in [
        ("callback_url", &account.callback_url),
        ("callback_receipt_url", &account.callback_receipt_url),
    ] {
        if let Some(url) = url {
            let called = match account.callback_format {
                CallbackFormat::Kannel => kannel::example(url),
                _ => url.clone(),
            };
            check_url(&key(name), &called, &reach, found);
        }
    }
    for (name, url) in account.callbacks.iter() {
        let key = key(&format!("callbacks.{name}"));
        let message = "must have a name of up to 64 letters, digits, `-`, `_` and `.`";
        found.require(&key, is_name(name), message);
        check_url(&key, url, &reach, found);
    }
    check_states(&key("callback_states"), account, found);
    if account.deliver_by == DeliverBy::Callback && account.outbind.is_some() {
        let message = "means nothing with deliver_by = \"callback\"";
        found.warn(key("outbind"), message);
    }
}

/// States that its callbacks can report, where there are callbacks.
fn check_states(key: &str, account: &Account, found: &mut Findings) {
    let words = account.callback_states.iter().map(String::as_str);
    let set = match states::set(words) {
        Ok(set) => set,
        Err(error) => return found.problem(key.to_owned(), error),
    };
    let by_callback = account.deliver_by.by_callback();
    let has_own = !account.callback_hosts.is_empty() || !account.callbacks.is_empty();
    if states::any(set) && !by_callback && !has_own {
        let message = "needs callbacks: deliver_by = \"callback\" or \"both\", or callback_hosts or callbacks";
        found.problem(key.to_owned(), message);
    }
    if by_callback && set & !account.callback_format.states() != 0 {
        let message = "can only be [\"sent\"] with callback_format = \"jasmin\" or \"jasmin_get\": Jasmin's reports know no other";
        found.problem(key.to_owned(), message);
    }
}

fn check_url(key: &str, url: &str, reach: &Reach, found: &mut Findings) {
    match CallbackTarget::parse(url) {
        Err(error) => found.problem(key.to_owned(), error.to_string()),
        Ok(target) if !target.is_https() && !reach.lists(target.host()) => {
            found.problem(key.to_owned(), NotATarget::Scheme.to_string());
        }
        Ok(target) => {
            let refused =
                (target.address()).is_some_and(|address| !reach.may_dial(target.host(), address));
            if refused {
                let message = "is not a public address; see `callback_allow_private`";
                found.problem(key.to_owned(), message);
            }
        }
    }
}
