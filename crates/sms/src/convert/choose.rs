//! Which tables make a text shortest.

use super::super::language::{Language, Shifts};
use super::super::segment::{Units, room};
use super::super::tables::Tables;

/// How a text is best sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Choice {
    /// In the 7-bit alphabet with these tables.
    Gsm(Shifts),
    /// In UCS-2: no allowed table has all of its characters.
    Ucs2,
}

/// Octets of the element that numbers the parts, with an 8-bit reference (23.040 §9.2.3.24.1).
const CONCAT_ELEMENT: usize = 5;

/// The way that takes the fewest short messages, the header that announces national tables counted.
/// Of equals the simplest wins: the default alphabet, then a single shift, then a locking shift,
/// then both; of languages the one named first.
///
/// A character of two septets is shorter than one of UCS-2, whatever the header: UCS-2 is chosen
/// only when no allowed table does.
#[must_use]
pub fn choose(text: &str, languages: &[Language]) -> Choice {
    let Some(characters) = representable(text, languages) else {
        return Choice::Ucs2;
    };
    let fewest_of_any = fewest_parts(characters);
    let mut best: Option<(usize, Shifts)> = None;
    for shifts in candidates(languages) {
        if best.is_some_and(|(parts, _)| parts <= fewest_of_any) {
            break;
        }
        let Some(parts) = parts(text, shifts) else {
            continue;
        };
        if best.is_none_or(|(fewest, _)| parts < fewest) {
            best = Some((parts, shifts));
        }
    }
    best.map_or(Choice::Ucs2, |(_, shifts)| Choice::Gsm(shifts))
}

/// How many characters there are; none when one of them is in no allowed table at all, so that no
/// pair of tables has to be tried.
fn representable(text: &str, languages: &[Language]) -> Option<usize> {
    let default = Tables::of(Shifts::default());
    let mut count = 0;
    for character in text.chars() {
        let national = |language: &Language| {
            let (locking, single) = (*language, *language);
            let tables = Tables::of(Shifts { locking, single });
            tables.width(character).is_some()
        };
        if default.width(character).is_none() && !languages.iter().any(national) {
            return None;
        }
        count += 1;
    }
    Some(count)
}

/// What no national table can do better than: every character one septet, one table announced.
fn fewest_parts(characters: usize) -> usize {
    let header = Shifts::single(Language::Turkish).header_octets();
    if characters <= room(Units::Septets, header) {
        return 1;
    }
    characters.div_ceil(room(Units::Septets, header + CONCAT_ELEMENT))
}

/// Every allowed pair of tables, the simplest first.
fn candidates(languages: &[Language]) -> impl Iterator<Item = Shifts> {
    let national = languages
        .iter()
        .copied()
        .filter(|language| *language != Language::Default);
    let locking = national.clone().filter(|language| language.has_locking());
    let both = locking.clone().flat_map(move |locking| {
        national
            .clone()
            .map(move |single| Shifts { locking, single })
    });
    std::iter::once(Shifts::default())
        .chain(languages.iter().copied().map(Shifts::single))
        .chain(locking.map(Shifts::locking))
        .chain(both)
}

/// How many short messages a text takes; none when the tables lack a character of it.
fn parts(text: &str, shifts: Shifts) -> Option<usize> {
    let tables = Tables::of(shifts);
    let header = shifts.header_octets();
    let whole = room(Units::Septets, header);
    let part = room(Units::Septets, header.max(1) + CONCAT_ELEMENT);
    let (mut total, mut parts, mut used) = (0, 1, 0);
    for character in text.chars() {
        let width = tables.width(character)?;
        total += width;
        used += width;
        if used > part {
            // A pair of escape and septet is never parted: it opens the next one.
            parts += 1;
            used = width;
        }
    }
    Some(if total <= whole { 1 } else { parts })
}
