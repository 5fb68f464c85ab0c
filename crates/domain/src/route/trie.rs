//! A prefix tree over octets: the longest stored prefix of an address in one walk.
//!
//! Nodes lie in one vector and edges in short sorted lists: for digits at most ten entries, so a
//! scan beats hashing, and ten thousand prefixes stay in the processor's cache.

/// Prefix → value.
#[derive(Debug)]
pub(crate) struct Trie<V> {
    nodes: Vec<TrieNode<V>>,
}

#[derive(Debug)]
struct TrieNode<V> {
    edges: Vec<(u8, u32)>,
    value: Option<V>,
}

// === impl Trie ===

impl<V> Default for Trie<V> {
    fn default() -> Self {
        Self {
            nodes: vec![TrieNode::new()],
        }
    }
}

impl<V> Trie<V> {
    /// The place of exactly this prefix; creates the way to it.
    pub(crate) fn entry(&mut self, prefix: &[u8]) -> &mut Option<V> {
        let mut at = 0;
        for &octet in prefix {
            at = match self.nodes[at].child(octet) {
                Some(child) => child,
                None => {
                    let child = self.nodes.len();
                    self.nodes.push(TrieNode::new());
                    self.nodes[at].edges.push((octet, child as u32));
                    child
                }
            };
        }
        &mut self.nodes[at].value
    }

    /// Calls `visit` with length and value of every stored prefix of `key`, the shortest first.
    pub(crate) fn walk<'a>(&'a self, key: &[u8], mut visit: impl FnMut(usize, &'a V)) {
        let mut node = &self.nodes[0];
        for (length, &octet) in key.iter().enumerate() {
            if let Some(value) = &node.value {
                visit(length, value);
            }
            match node.child(octet) {
                Some(child) => node = &self.nodes[child],
                None => return,
            }
        }
        if let Some(value) = &node.value {
            visit(key.len(), value);
        }
    }

    /// Length and value of the longest stored prefix of `key`.
    pub(crate) fn longest(&self, key: &[u8]) -> Option<(usize, &V)> {
        let mut found = None;
        self.walk(key, |length, value| found = Some((length, value)));
        found
    }
}

impl<V> TrieNode<V> {
    fn new() -> Self {
        Self {
            edges: Vec::new(),
            value: None,
        }
    }

    fn child(&self, octet: u8) -> Option<usize> {
        self.edges
            .iter()
            .find(|(edge, _)| *edge == octet)
            .map(|(_, child)| *child as usize)
    }
}
