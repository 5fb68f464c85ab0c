//! Errors of a configuration: key, place, and how to fix it.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// One thing that is wrong (or, as a warning, odd).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Full key: `operator[0].address`.
    pub key: String,
    /// What is wrong and what to write instead.
    pub message: String,
    /// The file or environment variable the value came from, when known.
    pub origin: Option<String>,
}

/// Why a configuration cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("{} is not valid TOML: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line, column and what was expected there.
        message: String,
    },
    /// Keys, types or values are wrong: all of them at once.
    #[error("{}", list(.0))]
    Invalid(Vec<ConfigProblem>),
}

// === impl ConfigError ===

impl ConfigError {
    /// The exit code of a process that stops on it: EX_CONFIG of sysexits.h.
    pub const EXIT_CODE: u8 = 78;

    /// The single problems of [`ConfigError::Invalid`]; empty for the others.
    pub fn problems(&self) -> &[ConfigProblem] {
        match self {
            Self::Invalid(problems) => problems,
            Self::Unreadable { .. } | Self::Syntax { .. } => &[],
        }
    }
}

// === impl ConfigProblem ===

impl ConfigProblem {
    /// A problem whose place is not known (yet).
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            message: message.into(),
            origin: None,
        }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.message)?;
        match &self.origin {
            Some(origin) => write!(f, " (in {origin})"),
            None => Ok(()),
        }
    }
}

/// The known word that is most like `word`, if any is alike at all.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Below it the suggestion would be noise: a third of the letters in place.
    const ALIKE: f64 = 0.34;
    let word = word.to_lowercase();
    known
        .into_iter()
        .map(|known| {
            let likeness = strsim::normalized_damerau_levenshtein(&word, &known.to_lowercase());
            (likeness, known)
        })
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

/// `did you mean x?`, or all that is known when nothing is alike.
pub(super) fn did_you_mean(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(known) => format!("did you mean `{known}`?"),
        None if known.is_empty() => "there is none".to_owned(),
        None => format!("known are: {}", known.join(", ")),
    }
}

fn list(problems: &[ConfigProblem]) -> String {
    let plural = if problems.len() == 1 { "" } else { "s" };
    let mut text = format!("the configuration has {} problem{plural}:", problems.len());
    for problem in problems {
        text.push_str("\n  ");
        text.push_str(&problem.to_string());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_what_is_alike() {
        let known = ["listen", "max_connections", "system_id"];
        assert_eq!(nearest("lisen", known), Some("listen"));
        assert_eq!(nearest("max_conections", known), Some("max_connections"));
        assert_eq!(nearest("SystemId", known), Some("system_id"));
        assert_eq!(nearest("qqq", known), None);
        assert_eq!(
            did_you_mean("qqq", &known),
            "known are: listen, max_connections, system_id"
        );
    }

    #[test]
    fn lists_every_problem_with_its_place() {
        let mut first = ConfigProblem::new("http.workers", "must be at least 1");
        first.origin = Some("smsc.toml".to_owned());
        let error =
            ConfigError::Invalid(vec![first, ConfigProblem::new("route[0].to", "is missing")]);
        assert_eq!(
            error.to_string(),
            "the configuration has 2 problems:\n  http.workers: must be at least 1 (in smsc.toml)\n  \
             route[0].to: is missing"
        );
        assert_eq!(error.problems().len(), 2);
    }
}
