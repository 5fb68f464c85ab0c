//! HTTP client connectors, to which MO routes lead, as accounts whose messages go to a URL by callback, in Jasmin's own
//! form.

use std::collections::BTreeMap;

use super::read::Captured;
use crate::draft::{ConfigDraft, DraftTable, NO_PASSWORD};
use crate::{ConversionNotes, callbacks};

/// The account of each connector.
pub(super) type HttpAccounts = BTreeMap<String, String>;

/// Adds an account for each connector. Call it before operators are added, which may not be named like accounts.
pub(super) fn accounts(
    captured: &Captured,
    draft: &mut ConfigDraft,
    notes: &mut ConversionNotes,
) -> HttpAccounts {
    let mut known = HttpAccounts::new();
    for record in &captured.http {
        if known.contains_key(&record.name) {
            continue;
        }
        let url = record.given("url").unwrap_or_default();
        let is_get = record
            .given("method")
            .is_some_and(|method| method.eq_ignore_ascii_case("get"));
        let format = if is_get { "jasmin_get" } else { "jasmin" };
        let mut table = DraftTable::of(&record.place, "httpccm");
        if !callbacks::set(&mut table, url, format) {
            let what = format!("httpccm {}: {url:?}", record.name);
            let instead =
                "left out: that is no URL without a user; write `callback_url` of an account";
            notes.must(&record.place, what, instead);
            continue;
        }
        let name = draft.account_id(&record.name);
        if draft.account(&name, NO_PASSWORD, table, &record.place, notes) {
            let what = format!("httpccm {} is the account {name:?}", record.name);
            let instead =
                "its messages go to the URL; nobody can bind as it before it has a password";
            notes.nothing(&record.place, what, instead);
            known.insert(record.name.clone(), name);
        }
    }
    known
}
