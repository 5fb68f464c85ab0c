//! Search: the sections that have any of the words, or words that begin so; rare words, and words in headings, count most.

use std::collections::BTreeSet;

use crate::{Page, Section, parts};

/// Most sections that are found, and characters of a question that are looked at.
const MOST: usize = 40;
const LONGEST: usize = 100;
/// Characters of text that are shown before the word that was found, and in all.
const BEFORE: usize = 60;
const SHOWN: usize = 220;
/// A word in the heading counts as so many in the text.
const HEADING: usize = 10;
/// A word that is found so often has half of the rank that it can have: one more changes little.
const HALF: f64 = 3.0;

/// A section that was found.
#[derive(Debug)]
pub struct Hit {
    pub page: &'static Page,
    pub section: &'static Section,
    /// Words around the rarest one that was found.
    pub excerpt: String,
}

/// The sections that have any of the words of `query`, whatever their case; the best ones first.
pub fn search(query: &str) -> Vec<Hit> {
    let query: String = query.chars().take(LONGEST).collect();
    let words: BTreeSet<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let sections: Vec<(&'static Page, &'static Section)> = parts()
        .iter()
        .flat_map(|part| &part.pages)
        .flat_map(|page| page.sections.iter().map(move |section| (page, section)))
        .collect();
    let mut words: Vec<SearchWord> = words
        .into_iter()
        .map(|word| SearchWord::new(word, &sections))
        .collect();
    // The rarest one first: the excerpt shows it.
    words.sort_by(|one, other| other.weight.total_cmp(&one.weight));
    let ranks = (0..sections.len()).map(|at| words.iter().map(|word| word.rank(at)).sum::<f64>());
    let mut found: Vec<(f64, usize)> = ranks.zip(0..).filter(|(rank, _)| *rank > 0.0).collect();
    // Stable: equal ones stay in the order of the manual.
    found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    found
        .into_iter()
        .take(MOST)
        .map(|(_, at)| {
            let (page, section) = sections[at];
            Hit {
                page,
                section,
                excerpt: excerpt(&section.text, &section.lower.1, &words),
            }
        })
        .collect()
}

/// One word of a question.
struct SearchWord {
    text: String,
    /// How often each section has it; one in the heading counts more.
    counts: Vec<usize>,
    /// The higher, the fewer sections have it.
    weight: f64,
}

// === impl SearchWord ===

impl SearchWord {
    fn new(text: String, sections: &[(&'static Page, &'static Section)]) -> Self {
        let counts: Vec<usize> = sections
            .iter()
            .map(|(_, section)| {
                let (title, body) = &section.lower;
                HEADING * places(title, &text).count() + places(body, &text).count()
            })
            .collect();
        let having = counts.iter().filter(|count| **count > 0).count();
        let weight = (1.0 + counts.len() as f64 / having.max(1) as f64).ln();
        Self {
            text,
            counts,
            weight,
        }
    }

    /// What it adds to the rank of a section.
    fn rank(&self, section: usize) -> f64 {
        let count = self.counts[section] as f64;
        self.weight * count / (count + HALF)
    }
}

/// Where words of a text begin with `word`, in octets.
fn places(text: &str, word: &str) -> impl Iterator<Item = usize> {
    text.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |at| !text[..*at].ends_with(char::is_alphanumeric))
}

fn excerpt(text: &str, lower: &str, words: &[SearchWord]) -> String {
    let first = words
        .iter()
        .find_map(|word| places(lower, &word.text).next());
    // By characters: lower case may have another number of octets.
    let before = first.map_or(0, |at| lower[..at].chars().count());
    let begin = before.saturating_sub(BEFORE);
    let mut shown: String = text.chars().skip(begin).take(SHOWN).collect();
    let is_cut = text.chars().nth(begin + SHOWN).is_some();
    // Whole words only.
    if let (true, Some(end)) = (is_cut, shown.rfind(' ')) {
        shown.truncate(end);
    }
    if let (true, Some(space)) = (begin > 0, shown.find(' ')) {
        shown.drain(..=space);
    }
    let head = if begin > 0 { "… " } else { "" };
    let tail = if is_cut { " …" } else { "" };
    format!("{head}{}{tail}", shown.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_where_it_is_explained() {
        let hits = search("throttled_delay");
        assert!(
            hits.iter().any(|hit| hit.page.name == "configuration.md"),
            "{hits:?}"
        );
        assert!(
            hits.iter()
                .all(|hit| hit.excerpt.to_lowercase().contains("throttled_delay"))
        );
    }

    #[test]
    fn headings_come_first() {
        let hits = search("strict ORDER");
        let first = &hits[0].section;
        let both = format!("{} {}", first.title, first.text).to_lowercase();
        assert!(both.contains("strict") && both.contains("order"));
        let exit = search("signals exit codes");
        assert_eq!(exit[0].section.title, "Signals and exit codes");
    }

    #[test]
    fn any_word_is_enough_and_rare_ones_count_most() {
        let both = search("xyzzyplugh throttled_delay");
        assert_eq!(both.len(), search("throttled_delay").len());
        let hits = search("how do I read signals and exit codes");
        assert_eq!(hits[0].section.title, "Signals and exit codes");
    }

    #[test]
    fn what_is_nowhere_is_not_found() {
        assert!(search("xyzzyplugh").is_empty());
        assert!(search("  ").is_empty());
    }

    #[test]
    fn a_long_question_is_cut() {
        assert!(search(&"a ".repeat(10_000)).len() <= MOST);
    }
}
