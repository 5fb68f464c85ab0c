//! Converts the configuration of other products: Kannel's files, and the output of Jasmin's jcli.
//!
//! Called by `smsc convert`. Pure: text in, text out; other files are read through a function that
//! the caller gives. Guarantees that the TOML passes `smsc check-config`, and that nothing is left
//! out silently: whatever has no counterpart becomes a [`Note`] with its line and what to do
//! instead.

mod draft;
pub mod jasmin;
pub mod kannel;
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

/// Something that could not be taken over as it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
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
    /// What is not in it, in the order of the files.
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

/// Notes while they are found.
#[derive(Debug, Default)]
struct ConversionNotes(Vec<Note>);

impl ConversionNotes {
    fn add(&mut self, place: &SourcePlace, what: impl Into<String>, instead: impl Into<String>) {
        self.0.push(Note {
            place: place.clone(),
            what: what.into(),
            instead: instead.into(),
        });
    }
}
