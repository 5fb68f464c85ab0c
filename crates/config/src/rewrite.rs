//! `rewrite_in` and `rewrite_out` of accounts, operators and GSM networks: the rules by which addresses are
//! rewritten, as they are written down.

use bytes::Bytes;

use super::section::settings;
use smsc_domain::rewrite::{CompiledRewriteRule, CompiledRewriteRules, MAX_ADDRESS};

settings! {
    /// Which address a rule is about.
    pub enum AddressField {
        /// source_addr.
        Source = "source",
        /// destination_addr.
        Destination = "destination",
    }

    /// One rule; only the first one of its field that matches is applied.
    pub struct RewriteRule {
        /// Which address the rule applies to.
        @required field: Option<AddressField> = None,
        /// Condition: TON (0 unknown, 1 international, 2 national, 3 network specific, 4 subscriber number, 5 alphanumeric, 6 abbreviated).
        ton: Option<u8> = None,
        /// Condition: NPI (0 unknown, 1 ISDN/E.164, 3 data, 4 telex, 6 land mobile, 8 national, 9 private, 10 ERMES, 14 internet, 18 WAP).
        npi: Option<u8> = None,
        /// Condition: first characters, a plus included.
        @text(MAX_ADDRESS) prefix: String = String::new(),
        /// Condition: at least this many characters.
        min_length: Option<u32> = None,
        /// Condition: at most this many characters; 0 matches an empty address.
        max_length: Option<u32> = None,
        /// Condition: whether it contains more than digits and a leading plus.
        alphanumeric: Option<bool> = None,
        /// Number of characters removed from the start.
        @must(|strip| *strip as usize <= MAX_ADDRESS, "must be at most 20, the longest address")
        strip: u32 = 0,
        /// Text put in front, after `strip`.
        @text(MAX_ADDRESS) add: String = String::new(),
        /// New address, instead of `strip` and `add`.
        @text(MAX_ADDRESS) replace: Option<String> = None,
        /// New TON; unchanged without it.
        set_ton: Option<u8> = None,
        /// New NPI; unchanged without it.
        set_npi: Option<u8> = None,
    }
}

// === impl RewriteRule ===

impl RewriteRule {
    /// The rule as the domain uses it.
    pub fn to_domain(&self) -> CompiledRewriteRule {
        let octets = |text: &str| Bytes::copy_from_slice(text.as_bytes());
        CompiledRewriteRule {
            ton: self.ton,
            npi: self.npi,
            prefix: octets(&self.prefix),
            min_length: self.min_length.map(|least| least as usize),
            max_length: self.max_length.map(|most| most as usize),
            alphanumeric: self.alphanumeric,
            replace: self.replace.as_deref().map(octets),
            strip: self.strip as usize,
            add: octets(&self.add),
            set_ton: self.set_ton,
            set_npi: self.set_npi,
        }
    }
}

/// The rules of a list by the address that they are about, in their order.
pub fn rules(list: &[RewriteRule]) -> CompiledRewriteRules {
    let about = |field: AddressField| {
        list.iter()
            .filter(|rule| rule.field == Some(field))
            .map(RewriteRule::to_domain)
            .collect()
    };
    CompiledRewriteRules {
        source: about(AddressField::Source),
        destination: about(AddressField::Destination),
    }
}
