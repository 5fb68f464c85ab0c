//! Mobile-originated messages: from the destination address to the account that owns it.

use std::collections::HashMap;

use super::trie::Trie;
use crate::address;

/// Addresses of accounts: whole ones (`12345`) and prefixes (`4477*`).
#[derive(Debug)]
pub struct MoTable<A> {
    exact: HashMap<Box<[u8]>, A>,
    prefixes: Trie<A>,
}

// === impl MoTable ===

impl<A> MoTable<A> {
    /// A table of `(address, account)`; an address that ends with `*` is a prefix, `*` alone takes
    /// everything. Of two accounts with the same address the first one keeps it.
    pub fn build<S: AsRef<str>>(entries: impl IntoIterator<Item = (S, A)>) -> Self {
        let mut exact = HashMap::new();
        let mut prefixes = Trie::default();
        for (pattern, account) in entries {
            let pattern = address::normalise(pattern.as_ref().as_bytes());
            match pattern.strip_suffix(b"*") {
                Some(prefix) => {
                    prefixes.entry(prefix).get_or_insert(account);
                }
                None => {
                    exact.entry(pattern.into()).or_insert(account);
                }
            }
        }
        Self { exact, prefixes }
    }

    /// The account of a destination: the whole address first, then the longest prefix.
    pub fn lookup(&self, destination: &[u8]) -> Option<&A> {
        let destination = address::normalise(destination);
        self.exact.get(destination).or_else(|| {
            self.prefixes
                .longest(destination)
                .map(|(_, account)| account)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_address_then_longest_prefix() {
        let table = MoTable::build([
            ("12345", "exact"),
            ("123*", "short"),
            ("1234*", "long"),
            ("+4477*", "plus"),
            ("12345", "too late"),
        ]);
        assert_eq!(table.lookup(b"12345"), Some(&"exact"));
        assert_eq!(table.lookup(b"+12345"), Some(&"exact"));
        assert_eq!(table.lookup(b"12346"), Some(&"long"));
        assert_eq!(table.lookup(b"123"), Some(&"short"));
        assert_eq!(table.lookup(b"447700900123"), Some(&"plus"));
        assert_eq!(table.lookup(b"9"), None);
        assert_eq!(table.lookup(b""), None);
        assert_eq!(MoTable::build([("*", 1)]).lookup(b"anything"), Some(&1));
    }
}
