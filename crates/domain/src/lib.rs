//! The business rules, pure: no sockets, no clock, no store, no actors.
//!
//! Everything here is a value or a function of its arguments; time is a parameter. Called by the
//! actors, the store, the configuration and the HTTP layer; calls no other module of this crate.

/// Declares an enum whose members have words: a function of this name gives that of a member, and `from_name` its member.
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* pub enum $Named:ident, $word:ident {
        $($(#[$doc:meta])* $Member:ident $(= $number:literal)?: $name:literal,)+
    }) => {
        $(#[$meta])*
        pub enum $Named {
            $($(#[$doc])* $Member $(= $number)?,)+
        }

        impl $Named {
            /// All of them, in their order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$Member),+];

            /// Its word.
            #[must_use]
            pub fn $word(self) -> &'static str {
                match self {
                    $(Self::$Member => $name,)+
                }
            }

            /// The one with this word.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.$word() == name)
            }
        }

        impl ::std::fmt::Display for $Named {
            fn fmt(&self, out: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                out.write_str(self.$word())
            }
        }
    };
}

pub mod access;
pub mod account;
pub mod address;
pub mod allow;
pub mod backoff;
pub mod bind;
pub mod breaker;
pub mod callback;
pub mod certificate;
pub mod circle;
pub mod command_status;
pub mod correlation;
pub mod cost;
pub mod country;
pub mod csv;
pub mod culprit;
pub mod duplicate;
pub mod enumber;
pub mod error_meaning;
pub mod gsm_result;
pub mod id;
pub mod imsi;
pub mod incident;
pub mod limit;
pub mod mo_rule;
pub mod moment;
pub mod network;
pub mod number_plan;
pub mod number_table;
pub mod outcomes;
pub mod partition;
pub mod penalty;
pub mod period;
pub mod policy;
pub mod presence;
pub mod price;
pub mod queue_name;
pub mod receipt_states;
pub mod retry;
pub mod rewrite;
pub mod route;
pub mod settings;
pub mod share;
pub mod state;
pub mod trace;
pub mod traffic;
pub mod validity;
pub mod visible;

/// Maps by the number of an account's or operator's queue. They are read several times for each
/// message, by numbers that we assign ourselves, so clients cannot choose colliding keys.
pub type ByQueue<V> = std::collections::HashMap<u32, V, ahash::RandomState>;
