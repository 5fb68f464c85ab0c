//! `smsc message`: messages found, the history of one, and commands to one or many.

mod cancel;
mod find;

use super::client::{self, CommandOutput, Listing, OutputPage, TableCell, table_of};
use super::replay::{self, ReplayArgs};
use crate::api::{Address, Done, Message};

/// What to do with messages.
#[derive(Debug, clap::Subcommand)]
pub enum MessageCommand {
    /// Find messages by number, account, time and state, newest first.
    List(find::FindMessagesArgs),
    /// Show one message with its attempts.
    Show {
        /// The message id, as in submit_sm_resp.
        id: String,
        /// Show the text too.
        #[arg(long)]
        text: bool,
        #[command(flatten)]
        listing: Listing,
    },
    /// Cancel a waiting message (DELETED), or all that match a filter.
    Cancel(cancel::CancelMessagesArgs),
    /// Send a message now instead of at its due time.
    Retry {
        /// The message id, as in submit_sm_resp.
        id: String,
        #[command(flatten)]
        telling: CommandOutput,
    },
    /// Move a message to another queue.
    Move {
        /// The message id, as in submit_sm_resp.
        id: String,
        /// The queue to move it to, as smsc queue list names it: operator:up.
        #[arg(long, value_name = "QUEUE")]
        queue: String,
        #[command(flatten)]
        telling: CommandOutput,
    },
    /// Send a failed message, or all that match a filter, as new ones.
    Replay(ReplayArgs),
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, does not know the message, or refuses.
pub fn run(order: MessageCommand) -> anyhow::Result<()> {
    match order {
        MessageCommand::List(args) => find::run(&args),
        MessageCommand::Show { id, text, listing } => {
            let query = if text { "?text=true" } else { "" };
            let path = format!("{}{query}", path(&id));
            listing.show(&path, |found: Message| page(&found))
        }
        MessageCommand::Cancel(args) => cancel::run(&args),
        MessageCommand::Retry { id, telling } => {
            let json = telling.open()?.post(&format!("{}/retry", path(&id)))?;
            telling.done(json, |_: Done| format!("message {id} is due now"))
        }
        MessageCommand::Move { id, queue, telling } => {
            let order = serde_json::json!({ "to": queue });
            let path = format!("{}/move", path(&id));
            let json = telling.open()?.post_json(&path, &order)?;
            telling.done(json, |_: Done| format!("message {id} is moved to {queue}"))
        }
        MessageCommand::Replay(args) => replay::run(&args),
    }
}

fn path(id: &str) -> String {
    format!("/v1/messages/{}", client::segment(id))
}

/// The facts, the attempts and the orders; for `smsc why` too.
pub(super) fn page(message: &Message) -> OutputPage {
    let mut page = OutputPage::default().facts(facts(message));
    if !message.history.is_empty() {
        let table = table_of!(&message.history, |attempt| {
            let words = attempt.in_words.as_ref();
            "attempt" => TableCell::number(attempt.attempt),
            "at" [5] => TableCell::time(attempt.at.as_deref()),
            "to" => attempt.queue.clone(),
            "bind" [3] => attempt.bind.clone(),
            "answer" => attempt.status.clone(),
            "their id" [4] => attempt.operator_message_id.clone(),
            "after" [2] => TableCell::right(format!("{} ms", attempt.latency_ms)),
            "meaning" [1] => words.map(|words| words.meaning.clone()),
        });
        page = page.aside(table);
    }
    if !message.changes.is_empty() {
        let table = table_of!(&message.changes, |change| {
            "change" => change.kind.clone(),
            "at" [1] => TableCell::time(change.at.as_deref()),
            "to" => change.queue.clone(),
            "by" => change.by.clone(),
        });
        page = page.aside(table);
    }
    page
}

/// What there is once per message.
fn facts(message: &Message) -> Vec<(&'static str, TableCell)> {
    let mut facts = Vec::new();
    let mut fact = |name: &'static str, value: String| facts.push((name, TableCell::from(value)));
    let state = match message.stage.as_deref() {
        Some("final") | None => message.state.clone(),
        Some(stage) => format!("{} ({stage})", message.state),
    };
    fact("message", message.id.clone());
    fact("state", state);
    let waits = message.waits.as_ref();
    fact(
        "waits",
        waits.map_or_else(String::new, |one| one.text.clone()),
    );
    fact("from", format!("{} ({})", message.from, message.sender));
    fact("to", format!("{} ({})", message.to, message.queue));
    if let Some(original) = &message.original {
        let as_it_came = |address: &Option<Address>| {
            address.as_ref().map_or_else(String::new, |one| {
                format!("{} (TON {}, NPI {})", one.address, one.ton, one.npi)
            })
        };
        fact("came from", as_it_came(&original.from));
        fact("came to", as_it_came(&original.to));
    }
    fact("network", message.network.clone().unwrap_or_default());
    fact("imsi", message.imsi.clone().unwrap_or_default());
    fact("kind", message.kind.clone());
    fact("came as", message.came_as.clone().unwrap_or_default());
    if let Some(parts) = &message.parts {
        if let (Some(part), Some(of)) = (parts.part, parts.of) {
            fact("part", format!("{part} of {of}"));
        }
        fact("part of", parts.message.clone().unwrap_or_default());
        fact("sent as", parts.sent_as.join(" "));
        fact("made of", parts.made_of.join(" "));
    }
    if let Some(copy) = &message.copy_of {
        let what = match &copy.state {
            Some(state) => format!("{state} of "),
            None if copy.receipt => "receipt of ".to_owned(),
            None => String::new(),
        };
        fact("copy of", format!("{what}{}", copy.id));
    }
    fact("mo rule", message.mo_rule.clone().unwrap_or_default());
    fact("answer to", message.answer_to.clone().unwrap_or_default());
    fact("replay of", message.replay_of.clone().unwrap_or_default());
    fact(
        "replayed as",
        message.replayed_as.clone().unwrap_or_default(),
    );
    fact("accepted", client::time(message.accepted_at.as_deref()));
    fact("due", client::time(message.due_at.as_deref()));
    fact("expires", client::time(message.expires_at.as_deref()));
    fact("attempts", message.attempts.to_string());
    fact("priority", message.priority.to_string());
    if let Some(fin) = &message.fin {
        fact("ended", client::time(fin.at.as_deref()));
        fact("done date", client::said_time(fin.done_at.as_deref()));
        fact("error", fin.error.clone());
        if let Some(words) = &fin.in_words {
            fact("means", format!("{}: {}", words.name, words.meaning));
            fact("usually helps", client::by_commands(&words.cure));
        }
        fact("reported by", fin.reported_by.clone());
        let receipt = match (fin.receipt_to.as_str(), fin.receipt_acknowledged) {
            ("", _) => "not asked for".to_owned(),
            (account, true) => format!("acknowledged by {account}"),
            (account, false) if fin.receipt_given_up => {
                format!("given up, {account} did not take it")
            }
            (account, false) => format!("waits for {account}"),
        };
        fact("receipt", receipt);
    }
    if let Some(trace) = &message.trace {
        fact("trace", trace.trace_id.clone());
        fact("", trace.url.clone().unwrap_or_default());
    }
    fact("note", message.note.clone().unwrap_or_default());
    if let Some(content) = &message.content {
        let text = content.text.clone();
        fact(
            "text",
            text.unwrap_or_else(|| format!("(octets) {}", content.octets)),
        );
        fact("tpdu", content.tpdu.clone().unwrap_or_default());
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{Attempt, Final, Text, Trace, Wait};
    use crate::cli::client::Screen;

    fn message() -> Message {
        Message {
            id: "17".to_owned(),
            state: "DELIVERED".to_owned(),
            stage: Some("final".to_owned()),
            kind: "MT".to_owned(),
            from: "ACME".to_owned(),
            to: "447700900123".to_owned(),
            sender: "account:test".to_owned(),
            queue: "operator:up".to_owned(),
            original: None,
            network: None,
            imsi: None,
            came_as: None,
            accepted_at: Some("2023-11-14T22:13:20.000Z".to_owned()),
            expires_at: None,
            due_at: None,
            waits: None,
            attempts: 1,
            priority: 0,
            data_coding: 0,
            esm_class: 0,
            registered_delivery: 1,
            note: None,
            mo_rule: None,
            answer_to: None,
            replay_of: None,
            copy_of: None,
            replayed_as: None,
            parts: None,
            trace: Some(Trace {
                trace_id: "4bf92f3577b34da6a3ce929d0e0e4736".to_owned(),
                traceparent: String::new(),
                url: Some("http://grafana/4bf9".to_owned()),
            }),
            fin: Some(Final {
                at: Some("2023-11-14T22:13:21.000Z".to_owned()),
                error: String::new(),
                in_words: None,
                reported_by: "operator:up".to_owned(),
                receipt_to: "account:test".to_owned(),
                receipt_acknowledged: true,
                receipt_given_up: false,
                done_at: None,
            }),
            history: vec![Attempt {
                attempt: 1,
                at: None,
                queue: "operator:up".to_owned(),
                status: "ESME_ROK".to_owned(),
                in_words: None,
                operator_message_id: "abc".to_owned(),
                latency_ms: 12,
                bind: "1/17".to_owned(),
            }],
            changes: Vec::new(),
            content: None,
        }
    }

    #[test]
    fn tells_the_story() {
        let page = page(&message()).render(Screen::default());
        for part in [
            "DELIVERED",
            "ACME (account:test)",
            "2023-11-14 22:13:20 UTC",
            "acknowledged by account:test",
            "ESME_ROK",
            "12 ms",
            "4bf92f3577b34da6a3ce929d0e0e4736",
            "http://grafana/4bf9",
        ] {
            assert!(page.contains(part), "{part} is not in\n{page}");
        }
        assert!(!page.contains("change"), "{page}");
    }

    #[test]
    fn says_why_it_waits() {
        let mut message = message();
        message.waits = Some(Wait {
            reason: "suspended".to_owned(),
            text: "operator:up is suspended by anna".to_owned(),
            until: None,
            since: None,
        });
        let page = page(&message).render(Screen::default());
        assert!(page.contains("operator:up is suspended by anna"), "{page}");
    }

    #[test]
    fn shows_what_a_message_of_a_phone_came_as() {
        let mut message = message();
        message.imsi = Some("001010000000001".to_owned());
        message.came_as = Some("SMS-SUBMIT".to_owned());
        message.content = Some(Text {
            text: Some("hello".to_owned()),
            octets: "68656C6C6F".to_owned(),
            tpdu: Some("0100028121000005E8329BFD06".to_owned()),
        });
        let page = page(&message).render(Screen::default());
        for part in [
            "001010000000001",
            "SMS-SUBMIT",
            "0100028121000005E8329BFD06",
        ] {
            assert!(page.contains(part), "{part} is not in\n{page}");
        }
    }

    #[test]
    fn a_text_cannot_command_the_terminal() {
        let mut message = message();
        message.content = Some(Text {
            text: Some("hi\u{1b}[2J".to_owned()),
            octets: String::new(),
            tpdu: None,
        });
        let page = page(&message).render(Screen::default());
        assert!(
            page.contains("hi\u{FFFD}[2J") && !page.contains('\u{1b}'),
            "{page}"
        );
    }
}
