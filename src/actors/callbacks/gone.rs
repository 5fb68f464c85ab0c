//! URLs that have answered 410: nothing more goes there until the queue is resumed.
//!
//! Held by the actor of a queue whose callbacks go to several URLs; others suspend their queue. In memory: after a
//! restart, and on another node, one callback finds it out again. The oldest are forgotten beyond [`MOST`].

use std::collections::{HashSet, VecDeque};

/// URLs that are remembered.
const MOST: usize = 1024;

/// Whole URLs, with their queries.
#[derive(Debug, Default)]
pub struct GoneUrls {
    urls: HashSet<String, ahash::RandomState>,
    order: VecDeque<String>,
}

// === impl GoneUrls ===

impl GoneUrls {
    /// False if it was known.
    pub fn insert(&mut self, url: String) -> bool {
        if !self.urls.insert(url.clone()) {
            return false;
        }
        if self.order.len() >= MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.urls.remove(&oldest);
        }
        self.order.push_back(url);
        true
    }

    pub fn has(&self, url: impl FnOnce() -> String) -> bool {
        !self.urls.is_empty() && self.urls.contains(&url())
    }

    pub fn count(&self) -> usize {
        self.urls.len()
    }

    pub fn clear(&mut self) {
        self.urls.clear();
        self.order.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_remembered_up_to_a_bound() {
        let mut gone = GoneUrls::default();
        assert!(!gone.has(|| unreachable!("nothing is made for nothing")));
        for number in 0..=MOST {
            assert!(gone.insert(format!("https://a/{number}")));
        }
        assert!(!gone.insert("https://a/7".to_owned()));
        assert_eq!((gone.count(), gone.order.len()), (MOST, MOST));
        assert!(gone.has(|| "https://a/1".to_owned()));
        assert!(!gone.has(|| "https://a/0".to_owned()));
        gone.clear();
        assert_eq!(gone.count(), 0);
    }
}
