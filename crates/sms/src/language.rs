//! National languages of the 7-bit alphabet, and which of their tables a text uses (§6.2.1.2).
//!
//! A single shift table replaces the extension table, one character at a time; a locking shift table
//! replaces the default alphabet for the whole message. The user data header says which
//! (`udh`), [`super::gsm7`] reads and writes with them.

use thiserror::Error;

named! {
    /// A national language, by its identifier (§6.2.1.2.4).
    #[derive(Default, PartialOrd, Ord)]
    pub enum Language or
        /// No national table, and the identifier 0: the default alphabet and its extension.
        #[default]
        Default = "default"
    {
        Turkish = "turkish",
        /// Has no locking shift table: as a locking shift it is the default alphabet (§A.3.2).
        Spanish = "spanish",
        Portuguese = "portuguese",
        Bengali = "bengali",
        Gujarati = "gujarati",
        Hindi = "hindi",
        Kannada = "kannada",
        Malayalam = "malayalam",
        Oriya = "oriya",
        Punjabi = "punjabi",
        Tamil = "tamil",
        Telugu = "telugu",
        Urdu = "urdu",
    }
}

/// The tables that a text is written with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Shifts {
    /// Takes the place of the default alphabet (§6.2.1.2.3).
    pub locking: Language,
    /// Takes the place of the extension table (§6.2.1.2.2).
    pub single: Language,
}

/// An unknown name; the text lists the known ones.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{given:?} is none of {allowed}")]
pub struct UnknownName {
    /// What was given.
    pub given: String,
    /// All that could have been given, separated by commas.
    pub allowed: String,
}

/// Octets of the length that opens a user data header (23.040 §9.2.3.24).
const UDHL: usize = 1;
/// Octets of an element that names a table: identifier, length, language (23.040 §9.2.3.24.15).
const SHIFT_ELEMENT: usize = 3;

// === impl Language ===

impl Language {
    /// The language of an identifier; none for 0 and for what is reserved (14 and above), which a
    /// receiver reads with the default tables.
    #[must_use]
    pub fn from_identifier(identifier: u8) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|language| language.identifier() == identifier)
    }

    /// The octet that stands for it in a user data header; 0 for the default tables.
    #[must_use]
    pub fn identifier(self) -> u8 {
        self as u8
    }

    /// Whether there is a locking shift table of its own.
    #[must_use]
    pub fn has_locking(self) -> bool {
        !matches!(self, Language::Default | Language::Spanish)
    }
}

// === impl Shifts ===

impl Shifts {
    /// Only single shifts: capitals of the default alphabet stay where they are.
    #[must_use]
    pub fn single(language: Language) -> Self {
        Self {
            single: language,
            ..Self::default()
        }
    }

    /// Only a locking shift.
    #[must_use]
    pub fn locking(language: Language) -> Self {
        Self {
            locking: language,
            ..Self::default()
        }
    }

    /// Whether these are the default alphabet and its extension, which no header has to announce.
    #[must_use]
    pub fn is_default(self) -> bool {
        self == Self::default()
    }

    /// Octets of the user data header that announces them and nothing else, its length included;
    /// 0 when there is nothing to announce.
    #[must_use]
    pub fn header_octets(self) -> usize {
        match self.elements() {
            0 => 0,
            elements => UDHL + elements * SHIFT_ELEMENT,
        }
    }

    fn elements(self) -> usize {
        usize::from(self.locking != Language::Default)
            + usize::from(self.single != Language::Default)
    }
}

// === impl UnknownName ===

impl UnknownName {
    /// The value of that name, or what the names are.
    pub(super) fn find<T: Copy>(
        given: &str,
        all: &[T],
        name: fn(T) -> &'static str,
    ) -> Result<T, Self> {
        all.iter()
            .copied()
            .find(|value| name(*value) == given)
            .ok_or_else(|| {
                let names: Vec<&str> = all.iter().map(|value| name(*value)).collect();
                Self {
                    given: given.to_owned(),
                    allowed: names.join(", "),
                }
            })
    }
}
