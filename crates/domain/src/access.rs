//! Roles of the admin API, each of which includes the permissions of the one before, and roles of API keys.
//!
//! Used by the route table of `http`, by the token store and by the command line.

named! {
    /// What the bearer of a token may do.
    /// Its words are those of the API, the command line and the store.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum AccessRole, as_str {
        /// Reads everything except message texts. Numbers are shown, because support staff already have
        /// the customer's number; texts are private.
        Read: "read",
        /// Commands queues, binds, messages and the node, and sees texts.
        Operate: "operate",
        /// Everything: configuration, tokens, the audit log, erasure.
        Admin: "admin",
    }
}

named! {
    /// What the bearer of an account's API key may do.
    /// Its words are those of the API, the command line and the store.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum KeyRole, as_str {
        /// Submits, cancels and replaces messages; sees nothing of those that it did not just send.
        Send: "send",
        /// Sees the account's messages, balance and opt-outs; changes nothing.
        Read: "read",
        /// Both.
        Both: "both",
        /// Both, and takes numbers off the account's opt-out list.
        Consent: "consent",
    }
}

// === impl AccessRole ===

impl AccessRole {
    /// Whether it includes what `needed` may do.
    pub fn allows(self, needed: Self) -> bool {
        self >= needed
    }
}

// === impl KeyRole ===

impl KeyRole {
    /// Whether it includes what `needed` may do.
    pub fn allows(self, needed: Self) -> bool {
        match self {
            Self::Send | Self::Read => self == needed,
            Self::Both => needed != Self::Consent,
            Self::Consent => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AccessRole, KeyRole};

    #[test]
    fn a_key_may_do_what_its_role_says() {
        for role in KeyRole::ALL {
            assert_eq!(KeyRole::from_name(role.as_str()), Some(role));
        }
        assert!(KeyRole::Both.allows(KeyRole::Send) && KeyRole::Both.allows(KeyRole::Read));
        assert!(!KeyRole::Send.allows(KeyRole::Read) && !KeyRole::Read.allows(KeyRole::Send));
        assert!(!KeyRole::Send.allows(KeyRole::Both));
        let of_consent = KeyRole::ALL.map(|role| role.allows(KeyRole::Consent));
        assert_eq!(of_consent, [false, false, false, true]);
        assert!(
            KeyRole::ALL
                .into_iter()
                .all(|needed| KeyRole::Consent.allows(needed))
        );
    }

    #[test]
    fn stores_keep_the_words_of_roles() {
        let words = AccessRole::ALL.map(AccessRole::as_str);
        assert_eq!(words, ["read", "operate", "admin"]);
        let words = KeyRole::ALL.map(KeyRole::as_str);
        assert_eq!(words, ["send", "read", "both", "consent"]);
    }

    #[test]
    fn each_role_includes_the_ones_before() {
        for (at, role) in AccessRole::ALL.into_iter().enumerate() {
            assert_eq!(AccessRole::from_name(role.as_str()), Some(role));
            for (other_at, other) in AccessRole::ALL.into_iter().enumerate() {
                assert_eq!(role.allows(other), at >= other_at);
            }
        }
        assert_eq!(AccessRole::from_name("Admin"), None);
    }
}
