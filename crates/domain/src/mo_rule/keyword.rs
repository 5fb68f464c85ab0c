//! Keywords: whether a text begins with one, and what follows it.
//!
//! Compared as Unicode folds letters (`ß` is `ss`, `ς` is `σ`), and beyond that as phones write them: the four
//! letters i of Turkish are one, because a phone that is set to Turkish makes `İNFO` of `info`; Greek letters have
//! no accents, because capitals are written without; and those that look like Latin ones are these, because the
//! GSM alphabet has no signs of its own for them (3GPP TS 23.038 §6.2.1).

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::{decompose_canonical, is_combining_mark};

/// The dot above that `İ` leaves behind in small letters.
const DOT_ABOVE: char = '\u{307}';

/// A word with which texts begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyword {
    /// As it is configured.
    word: String,
    folded: Vec<char>,
}

/// A text in two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeywordSplit<'t> {
    /// As the sender wrote it; empty if the text has no word.
    pub keyword: &'t str,
    /// What follows, without the punctuation and the blanks between.
    pub rest: &'t str,
}

/// A text with each letter and its accent in one character (Unicode NFC), as keywords are compared with it.
pub fn composed(text: &str) -> String {
    text.nfc().collect()
}

/// The keyword of a text and the rest: the first of these that it begins with, or else its first word.
pub fn words<'t>(keywords: &[Keyword], text: &'t str) -> KeywordSplit<'t> {
    let found = keywords.iter().find_map(|keyword| keyword.begins(text));
    let text = text.trim_start();
    let end = found.unwrap_or_else(|| first_word(text));
    let (keyword, rest) = text.split_at(end);
    let punctuation = |c: char| !c.is_whitespace() && !belongs_to_word(c);
    KeywordSplit {
        keyword,
        rest: rest.trim_start_matches(punctuation).trim(),
    }
}

/// Where the first word of a text ends, which begins with it.
fn first_word(text: &str) -> usize {
    let mut is_in_word = false;
    let ends = |(_, c): &(usize, char)| {
        is_in_word |= belongs_to_word(*c);
        c.is_whitespace() || (is_in_word && !belongs_to_word(*c))
    };
    let mut characters = text.char_indices();
    characters.find(ends).map_or(text.len(), |(at, _)| at)
}

fn belongs_to_word(c: char) -> bool {
    c.is_alphanumeric() || is_combining_mark(c)
}

/// A character as it is compared; nothing for one that does not count.
fn fold(c: char) -> impl Iterator<Item = char> {
    let is_greek = matches!(c, '\u{370}'..='\u{3FF}' | '\u{1F00}'..='\u{1FFF}');
    let mut folded = Vec::with_capacity(3);
    // Small first: the capital sharp s is a capital already.
    let capitals = c.to_lowercase().flat_map(char::to_uppercase);
    for small in capitals.flat_map(char::to_lowercase) {
        if is_greek {
            decompose_canonical(small, |part| folded.push(part));
        } else {
            folded.push(small);
        }
    }
    folded.retain(|c| *c != DOT_ABOVE && !(is_greek && is_combining_mark(*c)));
    folded.into_iter().map(latin)
}

/// The Latin letter that a small Greek one looks like as a capital.
fn latin(c: char) -> char {
    match c {
        'α' => 'a',
        'β' => 'b',
        'ε' => 'e',
        'ζ' => 'z',
        'η' => 'h',
        'ι' => 'i',
        'κ' => 'k',
        'μ' => 'm',
        'ν' => 'n',
        'ο' => 'o',
        'ρ' => 'p',
        'τ' => 't',
        'υ' => 'y',
        'χ' => 'x',
        other => other,
    }
}

// === impl Keyword ===

impl Keyword {
    /// Reads a keyword.
    ///
    /// # Errors
    /// In words: why no text begins with it.
    pub fn parse(word: &str) -> Result<Self, String> {
        let word = composed(word.trim());
        if word.is_empty() {
            return Err("is empty; write a word".to_owned());
        }
        if word.contains(char::is_whitespace) {
            return Err(format!(
                "{word:?} is more than one word; a keyword is the first word of a text"
            ));
        }
        if !word.chars().next_back().is_some_and(belongs_to_word) {
            return Err(format!(
                "{word:?} must end with a letter or a digit: punctuation after a word does not belong to it"
            ));
        }
        let folded = word.chars().flat_map(fold).collect();
        Ok(Self { word, folded })
    }

    pub fn as_str(&self) -> &str {
        &self.word
    }

    /// Whether this is the same keyword.
    pub fn equals(&self, other: &Self) -> bool {
        self.folded == other.folded
    }

    /// Where it ends, in octets, in a text that begins with it, blanks before it left out. The text is as
    /// [`composed`] gives it.
    pub fn begins(&self, text: &str) -> Option<usize> {
        let text = text.trim_start();
        let mut wanted = self.folded.iter();
        for (at, c) in text.char_indices() {
            if wanted.len() == 0 {
                // A word that goes on is another one.
                return (!belongs_to_word(c)).then_some(at);
            }
            if !fold(c).all(|folded| wanted.next() == Some(&folded)) {
                return None;
            }
        }
        (wanted.len() == 0).then_some(text.len())
    }
}
