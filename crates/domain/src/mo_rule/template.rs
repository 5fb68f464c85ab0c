//! Templates of answers: a text in which `{{from}}`, `{{to}}`, `{{keyword}}` and `{{text}}` stand for what came.
//!
//! Read when the configuration is; what is put in is not looked through again.

use super::keyword::composed;

/// Fewest characters of a template's own that make a text known as written by it.
const KNOWN_BY: usize = 8;
/// What may stand between `{{` and `}}`.
const NAMES: [&str; 4] = ["from", "to", "keyword", "text"];

/// A text with gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Own(String),
    From,
    To,
    Keyword,
    Text,
}

/// What is put into the gaps.
#[derive(Debug, Clone, Copy, Default)]
pub struct TemplateValues<'v> {
    /// The sender of the message that is answered.
    pub from: &'v str,
    /// The address that it came to.
    pub to: &'v str,
    /// As its sender wrote it.
    pub keyword: &'v str,
    /// What follows the keyword.
    pub text: &'v str,
}

// === impl Template ===

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// In words: what is wrong and what to write instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = composed(text);
        if text.trim().is_empty() {
            return Err("is empty; write the text of the answer".to_owned());
        }
        let mut pieces = Vec::new();
        let own = |text: &str, pieces: &mut Vec<Piece>| {
            if !text.is_empty() {
                pieces.push(Piece::Own(text.to_owned()));
            }
        };
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("{{") {
            own(before, &mut pieces);
            let (name, after) = after
                .split_once("}}")
                .ok_or("has {{ without }}; write {{from}}")?;
            pieces.push(match name.trim() {
                "from" => Piece::From,
                "to" => Piece::To,
                "keyword" => Piece::Keyword,
                "text" => Piece::Text,
                other => {
                    let known = NAMES.map(|name| format!("{{{{{name}}}}}")).join(", ");
                    return Err(format!("has {{{{{other}}}}}; known are {known}"));
                }
            });
            rest = after;
        }
        own(rest, &mut pieces);
        Ok(Self { pieces })
    }

    /// The text with these values.
    pub fn filled(&self, values: TemplateValues<'_>) -> String {
        let pieces = self.pieces.iter().map(|piece| match piece {
            Piece::Own(text) => text.as_str(),
            Piece::From => values.from,
            Piece::To => values.to,
            Piece::Keyword => values.keyword,
            Piece::Text => values.text,
        });
        pieces.collect()
    }

    /// Whether a text is what some values make of this template, as far as its own words can tell; false for a
    /// template with hardly any. The text is as [`composed`] gives it.
    pub fn could_have_written(&self, text: &str) -> bool {
        let own = |piece: &Piece| match piece {
            Piece::Own(text) => text.chars().count(),
            _ => 0,
        };
        if self.pieces.iter().map(own).sum::<usize>() < KNOWN_BY {
            return false;
        }
        let mut rest = text.trim();
        let last = self.pieces.len() - 1;
        for (at, piece) in self.pieces.iter().enumerate() {
            let Piece::Own(own) = piece else { continue };
            // Blanks at the ends get lost on the way.
            let found = match (at == 0, at == last) {
                (true, true) => return rest == own.trim(),
                (true, false) if rest == own.trim() => Some(""),
                (true, false) => rest.strip_prefix(own.trim_start()),
                (false, true) => return rest.ends_with(own.trim_end()),
                (false, false) => rest.split_once(own.as_str()).map(|(_, after)| after),
            };
            match found {
                Some(after) => rest = after,
                None => return false,
            }
        }
        true
    }
}
