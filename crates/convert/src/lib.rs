//! Converts the configuration of other products: Kannel's files, and the output of Jasmin's jcli.
//!
//! Called by `smsc convert`. Pure: text in, text out; other files are read through a function that
//! the caller gives. Guarantees that the TOML passes `smsc check-config`, and that nothing is left
//! out silently: whatever has no counterpart becomes a [`Note`] with its line, what to do
//! instead, and how urgent that is. [`original`] is what the other product does with a message, to compare.

mod callbacks;
mod draft;
pub mod jasmin;
pub mod kannel;
pub mod original;
mod routes;

use std::fmt;
use std::io;

/// Where something was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourcePlace {
    /// The file as it was named.
    pub file: String,
    /// From 1.
    pub line: usize,
}

/// Whether something is to be done about a [`Note`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Without it something does not work that worked: a customer, a route, a restriction is missing.
    Must,
    /// It works, but perhaps in another way than before.
    Should,
    /// It has no counterpart and needs none.
    Nothing,
}

/// Something that could not be taken over as it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    pub urgency: Urgency,
    /// Where it stands.
    pub place: SourcePlace,
    /// What it is.
    pub what: String,
    /// What to do about it.
    pub instead: String,
}

/// A text to convert.
#[derive(Debug, Clone)]
pub struct SourceText {
    /// How it is named in notes; also what included files are looked up beside.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// What came out.
#[derive(Debug)]
pub struct Converted {
    /// Our configuration.
    pub toml: String,
    /// What is not in it: the urgent first, and in the order of the files.
    pub notes: Vec<Note>,
}

/// Reads a file that another one names; the second text is the file that names it.
pub type FileReader<'a> = dyn FnMut(&str, &str) -> io::Result<SourceText> + 'a;

/// Nothing could be converted.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{file}: {why}")]
pub struct ConversionRefused {
    /// The file.
    pub file: String,
    /// Why, and what to give instead.
    pub why: String,
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.place, self.what, self.instead)
    }
}

/// What to do about a key or group, wherever it stands.
#[derive(Debug, Clone, Copy)]
struct Advice {
    urgency: Urgency,
    text: &'static str,
}

const fn must(text: &'static str) -> Advice {
    Advice {
        urgency: Urgency::Must,
        text,
    }
}

const fn should(text: &'static str) -> Advice {
    Advice {
        urgency: Urgency::Should,
        text,
    }
}

const fn nothing(text: &'static str) -> Advice {
    Advice {
        urgency: Urgency::Nothing,
        text,
    }
}

/// Notes while they are found.
#[derive(Debug, Default)]
struct ConversionNotes(Vec<Note>);

// === impl ConversionNotes ===

impl ConversionNotes {
    /// Something without which it does not work as it did.
    fn must(&mut self, place: &SourcePlace, what: impl Into<String>, instead: impl Into<String>) {
        self.push(Urgency::Must, place, what.into(), instead.into());
    }

    /// Something to look at.
    fn should(&mut self, place: &SourcePlace, what: impl Into<String>, instead: impl Into<String>) {
        self.push(Urgency::Should, place, what.into(), instead.into());
    }

    /// Something that needs nothing.
    fn nothing(
        &mut self,
        place: &SourcePlace,
        what: impl Into<String>,
        instead: impl Into<String>,
    ) {
        self.push(Urgency::Nothing, place, what.into(), instead.into());
    }

    fn advise(&mut self, place: &SourcePlace, what: impl Into<String>, advice: Advice) {
        self.push(advice.urgency, place, what.into(), advice.text.to_owned());
    }

    fn push(&mut self, urgency: Urgency, place: &SourcePlace, what: String, instead: String) {
        self.0.push(Note {
            urgency,
            place: place.clone(),
            what,
            instead,
        });
    }
}
