//! `group = sms-service`: keywords that are answered with a text, as rules for messages of mobiles. What fetches its answer
//! from a URL, a program or a file is named in the report.

use super::groups::KannelGroup;
use super::note_rest;
use super::smsc::KannelConnection;
use super::users::KannelSender;
use crate::draft::{ConfigDraft, DraftTable, list};
use crate::{Advice, ConversionNotes, must, nothing, should};

/// The keyword of what no other one takes.
const DEFAULT: &str = "default";
/// Rules are tried by their order: that without a keyword last.
const LAST: u32 = 1_000;

/// Keys that are taken over.
const USED: &[&str] = &[
    "keyword",
    "aliases",
    "text",
    "faked-sender",
    "max-messages",
    "accepted-smsc",
];
/// Where an answer may come from instead.
const ELSEWHERE: [&str; 6] = [
    "get-url", "post-url", "post-xml", "exec", "file", "send-sms",
];

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

/// Adds a rule for each keyword with a text.
pub(super) fn rules(
    groups: &[KannelGroup],
    draft: &mut ConfigDraft,
    senders: &[KannelSender],
    connections: &[KannelConnection],
    notes: &mut ConversionNotes,
) {
    let others_have_addresses = groups.iter().any(|group| group.kind == "smsbox-route");
    for group in groups.iter().filter(|group| group.kind == "sms-service") {
        let keyword = group.text("keyword");
        let mut leave_out = |instead: &str| {
            notes.must(&group.place, format!("sms-service {keyword:?}"), instead);
        };
        if let Some(from) = ELSEWHERE.iter().find(|key| group.get(key).is_some()) {
            leave_out(&format!(
                "left out: its answer comes from {from}; a keyword becomes a [[mo_rule]] with `deliver_to`, and its URL the \
                 `callback_url` of that account, which answers by sending"
            ));
            continue;
        }
        let Some(text) = group.get("text") else {
            leave_out("left out: it has no text; write a [[mo_rule]] with what is to be done");
            continue;
        };
        let is_default = keyword.eq_ignore_ascii_case(DEFAULT);
        if is_default && others_have_addresses {
            leave_out(
                "left out: as a [[mo_rule]] it would also take what goes to the addresses of accounts; write one with `to`",
            );
            continue;
        }
        let keywords = keywords(group);
        if !is_default && keywords.is_empty() {
            leave_out("left out: a keyword is one word that ends with a letter or a digit");
            continue;
        }
        let Some(sender) = senders.first() else {
            leave_out(
                "left out: there is no account that could send its answers; write a [[mo_rule]]",
            );
            continue;
        };
        let Some(reply) = template(&text.value) else {
            leave_out(
                "left out: of the escapes in its text only %k, %p, %P, %r, %a and %% have a counterpart",
            );
            continue;
        };
        let mut table = DraftTable::of(&group.place, "group = sms-service");
        if is_default {
            table.set("order", LAST);
        } else {
            table.set("keywords", list(&keywords));
        }
        only_from(group, connections, &mut table, notes);
        if group.text("max-messages") == "0" || reply.trim().is_empty() {
            table.set("drop", "true");
        } else {
            table.text("reply", &reply);
            table.text("reply_account", &sender.system_id);
            let from = group.text("faked-sender");
            if !from.is_empty() {
                table.text("reply_from", from);
            }
            notes.should(
                &group.place,
                format!("sms-service {keyword:?} is answered by the account {:?}", sender.system_id),
                "its routes and limits count; set `to` of the rule where the keyword is of some short codes only",
            );
        }
        draft.mo_rule(keyword, table);
        note_rest(group, USED, service_instead, notes);
    }
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
