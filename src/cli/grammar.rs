//! The grammar of command lines: `smsc NOUN VERB NAME`, with the options of most commands in front of the command or
//! behind it.
//!
//! Before clap reads a line, it is turned into the one form that clap knows: options in front of the command go to its
//! end, and a form of an earlier release becomes the one of this release, with a hint. Old forms work for two releases
//! after the one that changed them; then their lines go out of the tables here.

use clap::{Arg, Args as _, Command};

use super::client::Listing;

/// Options of old forms that take no value, so that the word behind them is one of the command.
const SWITCHES: &[&str] = &[
    "--json",
    "--no-headers",
    "--watch",
    "--yes",
    "-y",
    "--text",
    "--receipt",
    "--again",
    "--all",
    "--dry-run",
    "--help",
    "-h",
];

/// Old forms, by the words that are no options, and what they are now. A word in capitals stands for any word that is no
/// command, `…` for all words that follow.
const FORMS: &[(&str, &str)] = &[
    ("queues", "queue list"),
    ("queues NAME", "queue show NAME"),
    ("queues NAME suspend", "queue suspend NAME"),
    ("queues NAME resume", "queue resume NAME"),
    ("queues NAME purge", "queue purge NAME"),
    ("queues NAME move", "queue move NAME"),
    ("binds", "bind list"),
    ("binds NAME", "bind list NAME"),
    ("binds NAME rebind", "operator rebind NAME"),
    ("binds NAME resume", "operator resume NAME"),
    ("binds NAME suspend", "operator suspend NAME"),
    ("binds NAME disconnect", "bind disconnect NAME"),
    ("nodes", "node list"),
    ("sources", "source list"),
    ("message find", "message list"),
    ("message ID", "message show ID"),
    ("message ID cancel", "message cancel ID"),
    ("message ID retry", "message retry ID"),
    ("message ID move", "message move ID"),
    ("dead-letters", "dead-letter list"),
    ("replay", "message replay"),
    ("replay ID", "message replay ID"),
    ("receipts …", "receipt …"),
    ("lookups …", "lookup …"),
];

/// Options that are called otherwise now, by the command as it is now.
const OPTIONS: &[(&str, &str, &str)] = &[
    ("queue move", "--to", "--queue"),
    ("message move", "--to", "--queue"),
    ("message replay", "--to", "--queue"),
    ("message replay", "--destination", "--to"),
    ("message replay", "--source", "--from"),
    ("dead-letter list", "--destination", "--to"),
    ("dead-letter list", "--source", "--from"),
    ("load", "--to", "--host"),
    ("bench", "--to", "--host"),
    ("usage", "--from", "--since"),
    ("usage", "--to", "--until"),
    ("export", "--from", "--since"),
    ("export", "--to", "--until"),
    ("salvage", "--to", "--into"),
    ("migrate-store", "--from", "--data-dir"),
];

/// A line as clap reads it, without the name of the program, and a hint if it had an old form.
#[derive(Debug, PartialEq, Eq)]
pub struct RewrittenLine {
    pub words: Vec<String>,
    pub hint: Option<String>,
}

/// Turns a line, without the name of the program, into the form that these commands know.
pub fn rewritten(commands: &Command, words: Vec<String>) -> RewrittenLine {
    let places = plain_words(&words);
    let said: Vec<&str> = places.iter().map(|at| words[*at].as_str()).collect();
    let now = FORMS
        .iter()
        .find_map(|(old, new)| now(commands, old, new, &said));
    let is_old = now.is_some();
    let command = now.unwrap_or_else(|| command_words(commands, &said));
    let mut words = if is_old {
        let options = words.iter().enumerate();
        // All words behind -- may be of the command, which needs it no more.
        let is_merged =
            |word: &str, at: usize| word == "--" && places.iter().any(|place| *place > at);
        let options = options.filter(|(at, word)| !places.contains(at) && !is_merged(word, *at));
        let options = options.map(|(_, word)| word.clone());
        command.iter().cloned().chain(options).collect()
    } else {
        options_last(commands, words)
    };
    let renamed = rename_options(&command, is_old, &mut words);
    let hint = (is_old || !renamed.is_empty()).then(|| hint(&command, &renamed));
    RewrittenLine { words, hint }
}

/// The places of the words that are neither options nor values of options; behind `--` only where none looks like an
/// option.
fn plain_words(words: &[String]) -> Vec<usize> {
    let (mut places, mut at) = (Vec::new(), 0);
    while let Some(word) = words.get(at).filter(|word| *word != "--") {
        let is_option = word.starts_with('-') && word != "-";
        if !is_option {
            places.push(at);
        } else if takes_next_word(word, words.get(at + 1)) {
            at += 1;
        }
        at += 1;
    }
    let behind = words.get(at + 1..).unwrap_or_default();
    if behind.iter().all(|word| !word.starts_with('-')) {
        places.extend(at + 1..words.len());
    }
    places
}

/// Whether the value of an option is the word behind it.
fn takes_next_word(option: &str, next: Option<&String>) -> bool {
    let is_value = next.is_some_and(|next| !next.starts_with('-') || next == "-");
    !has_own_value(option) && is_value && !SWITCHES.contains(&option)
}

/// Whether an option has its value in its own word: --output=json, -ojson.
fn has_own_value(option: &str) -> bool {
    option.contains('=') || (!option.starts_with("--") && option.len() > 2)
}

/// A command with the options of most commands.
pub fn options_of_most() -> Command {
    Listing::augment_args(Command::new("most"))
}

/// The option of a command that this word names.
pub fn option<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    if let Some(long) = name.strip_prefix("--") {
        return command.get_arguments().find(|arg| {
            let aliases = arg.get_all_aliases().unwrap_or_default();
            arg.get_long() == Some(long) || aliases.contains(&long)
        });
    }
    let short = name.strip_prefix('-')?.chars().next()?;
    command
        .get_arguments()
        .find(|arg| arg.get_short() == Some(short))
}

/// Whether the value of an option, which this word names, is the word behind it.
pub fn takes_next(arg: &Arg, word: &str) -> bool {
    arg.get_action().takes_values() && !arg.is_require_equals_set() && !has_own_value(word)
}

/// What a line is now, if it has this old form.
fn now(commands: &Command, old: &str, new: &str, said: &[&str]) -> Option<Vec<String>> {
    let old: Vec<&str> = old.split(' ').collect();
    let group = commands.find_subcommand(old[0]);
    let is_command = |word: &str| {
        word == "help" || group.is_some_and(|group| group.find_subcommand(word).is_some())
    };
    let (mut name, mut rest) = (None, None);
    for (at, part) in old.iter().enumerate() {
        if *part == "…" {
            rest = Some(&said[at.min(said.len())..]);
            break;
        }
        let word = *said.get(at)?;
        if is_capitals(part) {
            name = (!is_command(word)).then_some(word);
            name?;
        } else if *part != word {
            return None;
        }
    }
    if rest.is_none() && said.len() != old.len() {
        return None;
    }
    let mut words: Vec<String> = Vec::new();
    for part in new.split(' ') {
        match part {
            "…" => words.extend(rest.into_iter().flatten().map(|word| (*word).to_owned())),
            part if is_capitals(part) => words.extend(name.map(str::to_owned)),
            part => words.push(part.to_owned()),
        }
    }
    Some(words)
}

/// The words of a line that name its command, without the names and values behind them.
fn command_words(commands: &Command, said: &[&str]) -> Vec<String> {
    let (mut command, mut words) = (commands, Vec::new());
    for word in said {
        let Some(below) = command.find_subcommand(word) else {
            break;
        };
        command = below;
        words.push((*word).to_owned());
    }
    words
}

fn is_capitals(word: &str) -> bool {
    word.bytes().all(|octet| octet.is_ascii_uppercase())
}

/// The line with the options of most commands behind the command instead of in front of it or within it.
fn options_last(commands: &Command, words: Vec<String>) -> Vec<String> {
    let most = options_of_most();
    let (mut command, mut front, mut options) = (commands, Vec::new(), Vec::new());
    let mut rest = &words[..];
    while let Some(word) = rest.first() {
        let length = if let Some(below) = command.find_subcommand(word) {
            command = below;
            front.push(word.clone());
            1
        } else {
            let length = option_length(&most, rest).filter(|_| command.has_subcommands());
            let Some(length) = length else { break };
            options.extend_from_slice(&rest[..length]);
            length
        };
        rest = &rest[length..];
    }
    if front.is_empty() || options.is_empty() {
        return words;
    }
    let end = rest.iter().position(|word| word == "--");
    let (own, behind) = rest.split_at(end.unwrap_or(rest.len()));
    [&front[..], own, &options[..], behind].concat()
}

/// How many words an option of these has that stands here, with its value.
fn option_length(options: &Command, words: &[String]) -> Option<usize> {
    let word = words.first()?;
    if takes_next(option(options, word)?, word) {
        (words.len() > 1).then_some(2)
    } else {
        Some(1)
    }
}

/// Gives options of the command their names of today; those that had another one, with their values.
fn rename_options(command: &[String], is_old: bool, words: &mut [String]) -> Vec<String> {
    let is_of = |path: &str| {
        let mut path = path.split(' ').enumerate();
        path.all(|(at, word)| command.get(at).is_some_and(|own| own == word))
    };
    let own: Vec<_> = OPTIONS.iter().filter(|(path, ..)| is_of(path)).collect();
    let mut renamed = Vec::new();
    for at in 0..words.len() {
        if words[at] == "--" {
            break;
        }
        let (name, value) = match words[at].split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (words[at].as_str(), None),
        };
        let Some((path, _, new)) = own.iter().find(|(_, old, _)| *old == name) else {
            continue;
        };
        // The number that messages go to; `smsc replay` had it for the queue.
        if *path == "message replay" && name == "--to" && !is_old {
            continue;
        }
        let shown = value.clone().or_else(|| words.get(at + 1).cloned());
        let shown = shown.unwrap_or_default();
        renamed.push(format!("{new} {shown}"));
        words[at] = match value {
            Some(value) => format!("{new}={value}"),
            None => (*new).to_owned(),
        };
    }
    renamed
}

/// Names the new form. Other options are left out: one of them may be a token.
fn hint(command: &[String], renamed: &[String]) -> String {
    let words = [command, renamed].concat().join(" ");
    format!("hint: this is `smsc {words}` now; the old form works for two more releases")
}

#[cfg(test)]
mod tests;
