//! `smsc complete-names -- WORD…`: the names that fit where a shell completes a line, one a line. The scripts of
//! `smsc completions` call it with the words up to the cursor; no help names it.
//!
//! It asks the SMSC that the line would ask, for a second at most. Whatever goes wrong, it says nothing and ends well: a
//! shell would show it in the middle of the line.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::{Arg, ArgAction, Args as _, Command, FromArgMatches as _};

use super::client::{AdminClient, AdminConnection, segment};
use super::context;
use super::grammar::{option, options_of_most, takes_next};

/// The word in front of the words of a line.
pub const COMMAND: &str = "complete-names";

/// How long a shell waits.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Names at most.
const LIMIT: usize = 100;

/// What this machine has a list of; other lists are those of the admin API.
const CONTEXTS: &str = "contexts";

/// Prints the names for a line: its words without the program, the last one as far as it is written.
pub fn print(words: impl Iterator<Item = OsString>) {
    let words: Option<Vec<String>> = words.map(|word| word.into_string().ok()).collect();
    let Some(mut words) = words else { return };
    if words.first().is_some_and(|word| word == "--") {
        words.remove(0);
    }
    let (tell, told) = mpsc::sync_channel(1);
    // It ends with the process: looking up a host has no limit of its own.
    let asking = thread::Builder::new().spawn(move || {
        // Nobody listens after the limit.
        let _ = tell.send(found(&super::command(), &words));
    });
    let Ok(Some(names)) = asking.and_then(|_| told.recv_timeout(TIMEOUT).map_err(io::Error::other))
    else {
        return;
    };
    let mut out = io::stdout().lock();
    for name in names {
        if writeln!(out, "{name}").is_err() {
            return;
        }
    }
}

/// The names that fit; `None` where there are none to be known.
fn found(root: &Command, words: &[String]) -> Option<Vec<String>> {
    let (path, argument) = place(root, words)?;
    let (begin, before) = words.split_last()?;
    let mut names = Vec::new();
    for list in lists(&path, &argument) {
        if *list == CONTEXTS {
            names.extend(context::names());
        } else {
            let client = connection(before)?.open().ok()?;
            names.extend(known(&client, list, begin));
        }
    }
    names.retain(|name| name.starts_with(begin.as_str()) && is_plain(name));
    names.sort_unstable();
    names.dedup();
    names.truncate(LIMIT);
    Some(names)
}

/// The command and the id of the argument that the last word is a value of.
fn place(root: &Command, words: &[String]) -> Option<(String, String)> {
    // They may stand in front of the command.
    let most = options_of_most();
    let (last, before) = words.split_last()?;
    let (mut command, mut path, mut values) = (root, Vec::new(), 0);
    let (mut value_of, mut is_behind) = (None, false);
    for word in before.iter().filter(|word| !word.is_empty()) {
        if value_of.take().is_some() {
            continue;
        }
        let below = command.find_subcommand(word).filter(|_| values == 0);
        if is_behind {
            values += 1;
        } else if word == "--" {
            is_behind = true;
        } else if word.starts_with('-') {
            let known = option(command, word).or_else(|| option(&most, word));
            let known = known.filter(|arg| takes_next(arg, word));
            value_of = known.map(|arg| arg.get_id().to_string());
        } else if let Some(below) = below {
            command = below;
            path.push(below.get_name());
        } else {
            values += 1;
        }
    }
    let argument = match value_of {
        Some(option) => option,
        None if last.starts_with('-') && !is_behind => return None,
        None => positional(command, values)?.get_id().to_string(),
    };
    Some((path.join(" "), argument))
}

/// The argument that takes the value at this place; the last one may take all that follow.
fn positional(command: &Command, place: usize) -> Option<&Arg> {
    let takes_all = |arg: &&Arg| matches!(arg.get_action(), ArgAction::Append);
    let at_place = command.get_positionals().nth(place);
    at_place.or_else(|| command.get_positionals().last().filter(takes_all))
}

/// The lists of what an argument of a command names.
fn lists(path: &str, argument: &str) -> &'static [&'static str] {
    let (noun, verb) = path.split_once(' ').unwrap_or((path, ""));
    // Some commands take several.
    let argument = if argument == "names" {
        "name"
    } else {
        argument
    };
    match (noun, verb, argument) {
        // What is added has no name yet.
        (_, "add", "name") => &[],
        ("account", _, "name") => &["accounts"],
        ("operator", _, "name") => &["operators"],
        ("route", _, "name") => &["routes"],
        ("firewall", _, "name") => &["gsm"],
        ("queue", _, "name") => &["queues"],
        ("bind", "list", "name") => &["accounts", "operators"],
        ("bind", "disconnect", "number") => &["binds"],
        ("sink", _, "name") => &["sinks"],
        ("token", _, "name") | ("audit", _, "by") => &["tokens"],
        ("context", _, "name") => &[CONTEXTS],
        ("why", _, "what") => &["accounts"],
        // The sender: what an operator has brought is of the operator.
        ("message" | "dead-letter" | "failures" | "queue", _, "account") => {
            &["accounts", "operators"]
        }
        (_, _, "account") => &["accounts"],
        (_, _, "operator") => &["operators"],
        (_, _, "queue") => &["queues"],
        (_, _, "context") => &[CONTEXTS],
        _ => &[],
    }
}

/// Which SMSC the line asks.
fn connection(words: &[String]) -> Option<AdminConnection> {
    let command = AdminConnection::augment_args(Command::new(COMMAND));
    let (mut own, mut at) = (vec![COMMAND.to_owned()], 0);
    while let Some(word) = words.get(at).filter(|word| *word != "--") {
        let found = option(&command, word);
        let length = 1 + usize::from(found.is_some_and(|arg| takes_next(arg, word)));
        if found.is_some() {
            own.extend_from_slice(words.get(at..at + length)?);
        }
        at += length;
    }
    let matches = command.try_get_matches_from(own).ok()?;
    AdminConnection::from_arg_matches(&matches).ok()
}

/// Those that begin so, of an SMSC; more where it cannot search.
fn known(client: &AdminClient, list: &str, begin: &str) -> Vec<String> {
    let mut page = format!("limit={LIMIT}");
    // A star stands for any signs, and words are searched one by one.
    if !begin.is_empty() && !begin.contains(|one: char| one == '*' || one.is_whitespace()) {
        page.push_str(&format!("&find={}*", segment(begin)));
    }
    let path = match list {
        "binds" | "sinks" | "tokens" => format!("/v1/{list}"),
        _ => format!("/v1/{list}?{page}"),
    };
    let answer = client.get(&path).unwrap_or_default();
    let all = answer[list].as_array().into_iter().flatten();
    let names = all.filter_map(|one| match list {
        "operators" => one["id"].as_str().map(str::to_owned),
        // By its number: 0/17.
        "binds" => {
            let session = one["session"].as_u64().filter(|session| *session > 0)?;
            Some(format!("{}/{session}", one["node"]))
        }
        _ => one["name"].as_str().map(str::to_owned),
    });
    names.collect()
}

/// Whether every shell reads it as one word without quotes.
fn is_plain(name: &str) -> bool {
    let is_plain = |one: char| one.is_alphanumeric() || "._-:+@%/,".contains(one);
    !name.starts_with('-') && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn places_of_names_are_known() {
        let root = crate::cli::command();
        for (line, wanted) in [
            ("queue suspend ", &["queues"][..]),
            ("queue suspend operator:up ", &["queues"]),
            ("queue move operator:up --queue oper", &["queues"]),
            ("queue move operator:up ", &[]),
            ("--url http://a:1 -o json queue show acc", &["queues"]),
            ("queue --watch show --context live acc", &["queues"]),
            ("operator rebind ", &["operators"]),
            ("operator add ", &[]),
            ("account show -- ", &["accounts"]),
            ("account edit shop --set ", &[]),
            ("route remove ", &["routes"]),
            ("firewall list ", &["gsm"]),
            ("firewall list --rule ", &[]),
            ("route explain 44 --account ", &["accounts"]),
            ("bind list ", &["accounts", "operators"]),
            ("bind disconnect ", &["binds"]),
            ("sink show ", &["sinks"]),
            ("token remove ", &["tokens"]),
            ("audit --by ", &["tokens"]),
            ("context use ", &[CONTEXTS]),
            ("--context ", &[CONTEXTS]),
            ("message list --context li", &[CONTEXTS]),
            ("message list --account ", &["accounts", "operators"]),
            ("message list --account=", &[]),
            ("message move 17 --queue ", &["queues"]),
            ("balance add ", &["accounts"]),
            ("why ", &["accounts"]),
            ("usage --operator ", &["operators"]),
            // Nothing has names here.
            ("", &[]),
            ("que", &[]),
            ("queue sus", &[]),
            ("queue suspend -", &[]),
            ("message cancel ", &[]),
            ("send --to 44 ", &[]),
        ] {
            let place = place(&root, &words(line));
            let found = place.map(|(path, argument)| lists(&path, &argument));
            assert_eq!(found.unwrap_or_default(), wanted, "{line}");
        }
    }

    #[test]
    fn the_smsc_of_the_line_is_asked() {
        for line in [
            "--url http://a:1 --token x queue suspend",
            "queue suspend --url=http://a:1 -o json",
            "queue suspend -c smsc.toml",
        ] {
            assert!(connection(&words(line)).is_some(), "{line}");
        }
        assert!(connection(&words("queue suspend --url")).is_none());
        assert!(connection(&words("--url http://a:1 --context live queue")).is_none());
    }

    #[test]
    fn names_that_a_shell_would_read_otherwise_are_left_out() {
        for (name, plain) in [
            ("operator:up", true),
            ("0/17", true),
            ("a b", false),
            ("$(rm)", false),
            ("-x", false),
            ("49*", false),
            ("a\u{1b}", false),
        ] {
            assert_eq!(is_plain(name), plain, "{name}");
        }
    }
}
