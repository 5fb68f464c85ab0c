//! Search: the sections that have all words, those with them in their heading first.

use crate::{Page, Section, parts};

/// Most sections that are found, and octets of a question that are looked at.
const MOST: usize = 40;
const LONGEST: usize = 100;
/// Characters of text that are shown before the first word that was found, and in all.
const BEFORE: usize = 60;
const SHOWN: usize = 220;

/// A section that was found.
#[derive(Debug)]
pub struct Hit {
    pub page: &'static Page,
    pub section: &'static Section,
    /// Words around the first one that was found.
    pub excerpt: String,
}

/// The sections that have all words of `query`, whatever their case; the best ones first.
pub fn search(query: &str) -> Vec<Hit> {
    let query: String = query.chars().take(LONGEST).collect();
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    if words.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<(usize, Hit)> = parts()
        .iter()
        .flat_map(|part| &part.pages)
        .flat_map(|page| page.sections.iter().map(move |section| (page, section)))
        .filter_map(|(page, section)| {
            let (title, text) = &section.lower;
            let rank = rank(&words, title, text)?;
            let excerpt = excerpt(&section.text, text, &words);
            Some((
                rank,
                Hit {
                    page,
                    section,
                    excerpt,
                },
            ))
        })
        .collect();
    // Stable: equal ones stay in the order of the manual.
    found.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
    found.into_iter().take(MOST).map(|(_, hit)| hit).collect()
}

/// None if a word is missing; a word in the heading counts as ten in the text.
fn rank(words: &[String], title: &str, text: &str) -> Option<usize> {
    words.iter().try_fold(0, |rank, word| {
        let count = 10 * title.matches(&**word).count() + text.matches(&**word).count();
        (count > 0).then_some(rank + count)
    })
}

fn excerpt(text: &str, lower: &str, words: &[String]) -> String {
    let first = words.iter().filter_map(|word| lower.find(&**word)).min();
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
    fn what_is_nowhere_is_not_found() {
        assert!(search("xyzzyplugh").is_empty());
        assert!(search("  ").is_empty());
    }

    #[test]
    fn a_long_question_is_cut() {
        assert!(search(&"a ".repeat(10_000)).len() <= MOST);
    }
}
