//! What a short message carries: alphabets, data coding schemes, user data headers, long messages.
//!
//! Pure: octets and characters in, octets and characters out. Called by the actors that take
//! messages in and hand them out, by the HTTP side that shows them, by the load generator and the
//! simulator. Calls nothing of ours, knows no clock and no socket.
//!
//! ```text
//! ┌─────────────────── user data: at most 140 octets ──────────────────┐
//! │ UDHL │ IEI len data │ IEI len data │ fill bits │ septets or octets │
//! └──┬───┴──────┬───────┴──────┬───────┴─────┬─────┴─────────┬─────────┘
//!  length   00, 08: part   24, 25: which  text begins on   text: gsm7, ucs2
//!  of the   n of m         national table a septet         data: as it is
//!  header   (udh)          (language)     (pack)
//! ```
//!
//! | file | idea |
//! |---|---|
//! | [`language`] | the national languages and which of their tables are in use ([`Shifts`]) |
//! | [`gsm7`] | characters ↔ septets, by the tables of `tables/` |
//! | [`mod@pack`] | septets ↔ octets |
//! | [`ucs2`] | characters ↔ UTF-16 in octets |
//! | [`mod@coding`] | what a data coding scheme says of the octets |
//! | [`udh`] | the header: which part of which text, ports, languages |
//! | [`segment`] | a text into parts that fit beside their header |
//! | [`reassemble`] | parts back into texts |
//! | [`convert`] | from any alphabet of a peer to any other, and which one is shortest |
//! | [`tpdu`] | the messages of a radio network that carry all this (23.040 §9.2) |
//! | [`rp`] | what carries those messages between phone and network (24.011) |
//!
//! A *septet string* is one septet in each octet, as SMPP carries the default alphabet. Sections are
//! those of 3GPP TS 23.038 unless 23.040 or SMPP is written.

/// Declares choices with their words in a configuration, which are written and read. A choice that is no
/// word there stands behind `or`.
macro_rules! named {
    (
        $(#[$meta:meta])*
        pub enum $Name:ident $(or $(#[$none_meta:meta])* $None:ident = $none:literal)? {
            $($(#[$doc:meta])* $Variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $Name {
            $($(#[$none_meta])* $None,)?
            $($(#[$doc])* $Variant,)+
        }

        impl $Name {
            /// All that have a word in a configuration.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$Variant),+];

            /// As it is written in a configuration.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$None => $none,)?
                    $(Self::$Variant => $word,)+
                }
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $Name {
            type Err = $crate::UnknownName;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                $crate::UnknownName::find(name, &Self::ALL, Self::name)
            }
        }
    };
}

pub mod coding;
pub mod convert;
pub mod gsm7;
#[cfg(test)]
mod hex;
pub mod language;
pub mod pack;
pub mod reassemble;
pub mod rp;
pub mod segment;
mod tables;
pub mod tpdu;
pub mod ucs2;
pub mod udh;

pub use coding::{Charset, DataCoding, DataCodingScheme, WaitingIndication, coding, with_charset};
pub use gsm7::Unrepresentable;
pub use language::{Language, Shifts, UnknownName};

#[cfg(test)]
mod tests;
