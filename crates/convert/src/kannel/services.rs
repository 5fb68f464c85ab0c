//! `group = sms-service`: keywords that are answered with a text, or that a URL gets, as rules for messages of mobiles. The
//! URL is that of an account. What fetches its answer from a program or a file is named in the report.

use std::collections::BTreeMap;

use super::groups::KannelGroup;
use super::note_rest;
use super::smsc::KannelConnection;
use super::users::KannelSender;
use crate::draft::{ConfigDraft, DraftTable, NO_PASSWORD, list};
use crate::{Advice, ConversionNotes, callbacks, must, nothing, should};

/// The account of each `get-url`.
pub(super) type ServiceAccounts = BTreeMap<String, String>;

/// The keyword of what no other one takes.
const DEFAULT: &str = "default";
/// Rules are tried by their order: that without a keyword last.
const LAST: u32 = 1_000;

/// Keys that are taken over.
const USED: &[&str] = &[
    "keyword",
    "aliases",
    "text",
    "get-url",
    "faked-sender",
    "max-messages",
    "accepted-smsc",
];
/// Where an answer may come from instead.
const ELSEWHERE: [&str; 5] = ["post-url", "post-xml", "exec", "file", "send-sms"];

fn service_instead(key: &str) -> Option<Advice> {
    Some(match key {
        "keyword-regex" => must("write the words out in `keywords` of the rule"),
        "allowed-receiver-prefix" | "denied-receiver-prefix" => {
            must("set `to` of the rule: 4477* is a prefix")
        }
        "allowed-prefix" | "denied-prefix" | "white-list" | "black-list" => {
            must("set `from` of the rule: 4477* is a prefix")
        }
        "catch-all" => nothing("a keyword is the first word of a text, whatever follows it"),
        "omit-empty" => nothing("an answer is always sent"),
        "concatenation" | "split-chars" | "split-suffix" | "header" | "footer" => {
            should("long answers are divided as the operator's `long_messages` says")
        }
        _ => return None,
    })
}

/// Adds an account for each URL that a service gets. Call it before operators are added, which may not be named like accounts.
pub(super) fn accounts(
    groups: &[KannelGroup],
    draft: &mut ConfigDraft,
    notes: &mut ConversionNotes,
) -> ServiceAccounts {
    let mut known = ServiceAccounts::new();
    for group in groups.iter().filter(|group| group.kind == "sms-service") {
        let url = group.text("get-url");
        if url.is_empty() || known.contains_key(url) || unusable(group, groups).is_some() {
            continue;
        }
        let mut table = DraftTable::of(&group.place, "get-url of an sms-service");
        // The escapes are those that callbacks of this format fill in.
        if !callbacks::set(&mut table, url, "kannel") {
            continue;
        }
        // As sms-combine-concatenated-mo, which is on without the key.
        table.text("long_messages", "payload");
        let name = draft.account_id(group.text("keyword"));
        if draft.account(&name, NO_PASSWORD, table, &group.place, notes) {
            known.insert(url.to_owned(), name);
        }
    }
    known
}

/// Why a service can be no rule, whatever it does.
fn unusable(group: &KannelGroup, groups: &[KannelGroup]) -> Option<&'static str> {
    let others_have_addresses = || groups.iter().any(|group| group.kind == "smsbox-route");
    if is_default(group) {
        let said = "left out: as a [[mo_rule]] it would also take what goes to the addresses of accounts; write one with `to`";
        others_have_addresses().then_some(said)
    } else {
        let said = "left out: a keyword is one word that ends with a letter or a digit";
        keywords(group).is_empty().then_some(said)
    }
}

fn is_default(group: &KannelGroup) -> bool {
    group.text("keyword").eq_ignore_ascii_case(DEFAULT)
}

/// Adds a rule for each keyword with a text or a URL.
pub(super) fn rules(
    groups: &[KannelGroup],
    draft: &mut ConfigDraft,
    senders: &[KannelSender],
    urls: &ServiceAccounts,
    connections: &[KannelConnection],
    notes: &mut ConversionNotes,
) {
    for group in groups.iter().filter(|group| group.kind == "sms-service") {
        let keyword = group.text("keyword");
        let mut leave_out = |instead: &str| {
            notes.must(&group.place, format!("sms-service {keyword:?}"), instead);
        };
        if let Some(from) = ELSEWHERE.iter().find(|key| group.get(key).is_some()) {
            leave_out(&format!(
                "left out: {from} has no counterpart; let the program take a GET, write it as get-url and convert again, or write a \
                 [[mo_rule]] with `deliver_to` an account with callbacks (docs/callbacks.md)"
            ));
            continue;
        }
        let (url, text) = (group.text("get-url"), group.get("text"));
        if url.is_empty() && text.is_none() {
            leave_out("left out: it has no text; write a [[mo_rule]] with what is to be done");
            continue;
        }
        if let Some(why) = unusable(group, groups) {
            leave_out(why);
            continue;
        }
        let mut table = DraftTable::of(&group.place, "group = sms-service");
        if is_default(group) {
            table.set("order", LAST);
        } else {
            table.set("keywords", list(&keywords(group)));
        }
        only_from(group, connections, &mut table, notes);
        let done = match text {
            // Kannel asks for the text only where nothing else answers.
            Some(text) if url.is_empty() => reply(group, &text.value, senders, &mut table, notes),
            _ => deliver(group, urls.get(url), &mut table, notes),
        };
        if let Err(instead) = done {
            notes.must(&group.place, format!("sms-service {keyword:?}"), instead);
            continue;
        }
        draft.mo_rule(keyword, table);
        note_rest(group, USED, service_instead, notes);
    }
}

/// Answers with a text; or why it cannot.
fn reply(
    group: &KannelGroup,
    text: &str,
    senders: &[KannelSender],
    table: &mut DraftTable,
    notes: &mut ConversionNotes,
) -> Result<(), &'static str> {
    let Some(sender) = senders.first() else {
        return Err(
            "left out: there is no account that could send its answers; write a [[mo_rule]]",
        );
    };
    let Some(reply) = template(text) else {
        return Err(
            "left out: of the escapes in its text only %k, %p, %P, %r, %a and %% have a counterpart",
        );
    };
    if group.text("max-messages") == "0" || reply.trim().is_empty() {
        table.set("drop", "true");
        return Ok(());
    }
    table.text("reply", &reply);
    table.text("reply_account", &sender.system_id);
    let from = group.text("faked-sender");
    if !from.is_empty() {
        table.text("reply_from", from);
    }
    let keyword = group.text("keyword");
    notes.should(
        &group.place,
        format!("sms-service {keyword:?} is answered by the account {:?}", sender.system_id),
        "its routes and limits count; set `to` of the rule where the keyword is of some short codes only",
    );
    Ok(())
}

/// Lets the account of its URL have the message; or why it cannot.
fn deliver(
    group: &KannelGroup,
    account: Option<&String>,
    table: &mut DraftTable,
    notes: &mut ConversionNotes,
) -> Result<(), &'static str> {
    let Some(account) = account else {
        return Err(
            "left out: its get-url is no URL without a user; write a [[mo_rule]] with `deliver_to`, and `callback_url` of that \
             account",
        );
    };
    table.text("deliver_to", account);
    let keyword = group.text("keyword");
    let what = format!("sms-service {keyword:?} goes to the get-url of the account {account:?}");
    if group.text("max-messages") == "0" {
        let instead = "nobody can bind as it before it has a password";
        notes.nothing(&group.place, what, instead);
    } else {
        let instead = "what the URL says is not sent to the sender: let the program answer by /cgi-bin/sendsms (api.kannel), \
                       or set max-messages = 0 if nobody needs the answer";
        notes.must(&group.place, what, instead);
    }
    Ok(())
}

/// The words of a service, each once.
fn keywords(group: &KannelGroup) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let aliases = group.list("aliases");
    for word in [group.text("keyword").to_owned()]
        .into_iter()
        .chain(aliases)
    {
        let ends_well = word.chars().next_back().is_some_and(char::is_alphanumeric);
        let is_known = words.iter().any(|known| known.eq_ignore_ascii_case(&word));
        if ends_well && !word.contains(char::is_whitespace) && !is_known {
            words.push(word);
        }
    }
    words
}

/// Only what these connections bring, if it is one.
fn only_from(
    group: &KannelGroup,
    connections: &[KannelConnection],
    table: &mut DraftTable,
    notes: &mut ConversionNotes,
) {
    let accepted = group.list("accepted-smsc");
    match accepted.as_slice() {
        [] => {}
        [one] if connections.iter().any(|connection| connection.id == *one) => {
            table.text("operator", one);
        }
        _ => notes.must(
            group.place_of("accepted-smsc"),
            format!("accepted-smsc {}", accepted.join(";")),
            "a rule names one operator; write one for each, with `operator`",
        ),
    }
}

/// A text with Kannel's escapes as the text of an answer; `None` if one of them has no counterpart.
fn template(text: &str) -> Option<String> {
    if text.contains("{{") {
        return None;
    }
    let mut out = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            out.push(character);
            continue;
        }
        out.push_str(match characters.next()? {
            'k' => "{{keyword}}",
            'p' => "{{from}}",
            'P' => "{{to}}",
            'r' => "{{text}}",
            'a' => "{{keyword}} {{text}}",
            '%' => "%",
            _ => return None,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_gaps_or_are_refused() {
        for (text, said) in [
            ("thanks", Some("thanks")),
            (
                "%k: 100%% of %r from %p",
                Some("{{keyword}}: 100% of {{text}} from {{from}}"),
            ),
            ("%a to %P", Some("{{keyword}} {{text}} to {{to}}")),
            ("%S", None),
            ("100%", None),
            ("{{from}}", None),
        ] {
            assert_eq!(template(text).as_deref(), said, "{text}");
        }
    }
}
