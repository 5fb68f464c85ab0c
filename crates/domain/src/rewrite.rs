//! Rewriting of addresses: ordered rules, and the first one that matches an address rewrites its TON
//! (SMPP 3.4 §5.2.5), NPI (§5.2.6) and digits.
//!
//! Built from `rewrite_in` and `rewrite_out` of accounts and operators; used by Ingest for submitted
//! messages and by the sessions for sent ones. Guarantees that an address which no rule matches is
//! untouched, and that a rule never makes an address that the standard has no room for.

use bytes::Bytes;

use super::address::normalise;

/// Octets of an address without its NUL (SMPP 3.4 §5.2.8, §5.2.9).
pub const MAX_ADDRESS: usize = 20;

/// An address as it stands in a PDU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypedAddress {
    pub ton: u8,
    pub npi: u8,
    pub digits: Bytes,
}

/// A rule made an address longer than [`MAX_ADDRESS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the rewritten address has {0} octets, more than {MAX_ADDRESS}")]
pub struct AddressTooLong(pub usize);

/// One rule: conditions that must all hold, and what happens then. Without conditions it is for every
/// address, without actions it leaves the address alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompiledRewriteRule {
    pub ton: Option<u8>,
    pub npi: Option<u8>,
    /// What the address begins with, octet by octet: a plus is an octet.
    pub prefix: Bytes,
    /// Octets of the address.
    pub min_length: Option<usize>,
    pub max_length: Option<usize>,
    /// Whether there is anything but digits behind a leading plus.
    pub alphanumeric: Option<bool>,
    /// Replacement of the whole address.
    pub replace: Option<Bytes>,
    /// Octets taken from the start.
    pub strip: usize,
    /// What is put in front of the rest.
    pub add: Bytes,
    pub set_ton: Option<u8>,
    pub set_npi: Option<u8>,
}

/// The rules of one peer and one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompiledRewriteRules {
    pub source: Vec<CompiledRewriteRule>,
    pub destination: Vec<CompiledRewriteRule>,
}

// === impl CompiledRewriteRule ===

impl CompiledRewriteRule {
    /// Whether it is for every address.
    pub fn is_unconditional(&self) -> bool {
        let conditions = (self.ton, self.npi, self.min_length, self.max_length);
        conditions == (None, None, None, None)
            && self.alphanumeric.is_none()
            && self.prefix.is_empty()
    }

    fn matches(&self, number: &TypedAddress) -> bool {
        let length = number.digits.len();
        self.ton.is_none_or(|ton| ton == number.ton)
            && self.npi.is_none_or(|npi| npi == number.npi)
            && number.digits.starts_with(&self.prefix)
            && self.min_length.is_none_or(|least| length >= least)
            && self.max_length.is_none_or(|most| length <= most)
            && self
                .alphanumeric
                .is_none_or(|wanted| wanted == is_alphanumeric(&number.digits))
    }

    fn apply(&self, number: &TypedAddress) -> Result<TypedAddress, AddressTooLong> {
        let digits = match &self.replace {
            Some(replace) => replace.clone(),
            None if self.strip == 0 && self.add.is_empty() => number.digits.clone(),
            None => {
                let rest = &number.digits[self.strip.min(number.digits.len())..];
                [&self.add, rest].concat().into()
            }
        };
        match digits.len() {
            // One that was too long before the rule does not fit either.
            length if length > MAX_ADDRESS => Err(AddressTooLong(length)),
            _ => Ok(TypedAddress {
                ton: self.set_ton.unwrap_or(number.ton),
                npi: self.set_npi.unwrap_or(number.npi),
                digits,
            }),
        }
    }
}

// === impl CompiledRewriteRules ===

impl CompiledRewriteRules {
    /// Whether nothing is ever rewritten.
    pub fn is_empty(&self) -> bool {
        self.source.is_empty() && self.destination.is_empty()
    }
}

/// The address rewritten by the first matching rule; `None` when it does not change.
///
/// # Errors
/// [`AddressTooLong`] when there would be no room for it in a PDU.
pub fn rewrite(
    rules: &[CompiledRewriteRule],
    number: &TypedAddress,
) -> Result<Option<TypedAddress>, AddressTooLong> {
    let Some(rule) = rules.iter().find(|rule| rule.matches(number)) else {
        return Ok(None);
    };
    let rewritten = rule.apply(number)?;
    Ok((rewritten != *number).then_some(rewritten))
}

/// A name rather than a number. An empty address is neither.
fn is_alphanumeric(digits: &[u8]) -> bool {
    !normalise(digits).iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests;
