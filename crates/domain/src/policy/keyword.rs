//! Keywords with which a subscriber opts out of messages, or in again.

/// What a mobile-originated text means when it is nothing but a keyword.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Keywords {
    out: Vec<String>,
    back: Vec<String>,
}

// === impl Keywords ===

impl Keywords {
    /// Keywords are compared without regard to case and to white space around them.
    pub fn new(out: &[String], back: &[String]) -> Self {
        let plain = |words: &[String]| words.iter().map(|word| plain(word)).collect();
        Self {
            out: plain(out),
            back: plain(back),
        }
    }

    /// Whether no text means anything.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty() && self.back.is_empty()
    }

    /// True: opt out. False: opt in. `None`: neither.
    pub fn choice(&self, text: &str) -> Option<bool> {
        let text = plain(text);
        let says = |words: &[String]| words.contains(&text);
        says(&self.out)
            .then_some(true)
            .or_else(|| says(&self.back).then_some(false))
    }
}

fn plain(text: &str) -> String {
    text.trim().to_lowercase()
}
