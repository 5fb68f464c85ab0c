//! The types of problems. Each stays what it is for ever, and has a section of its name in docs/problems.md.

macro_rules! types {
    ($($kind:ident = $word:literal,)+) => {
        /// What kind of problem it is: the last part of `type`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(in crate::http) enum ProblemType {
            $($kind,)+
        }

        impl ProblemType {
            #[cfg(test)]
            const ALL: &'static [Self] = &[$(Self::$kind),+];

            pub(in crate::http) fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $word,)+
                }
            }
        }
    };
}

types! {
    NotFound = "not-found",
    MethodNotAllowed = "method-not-allowed",
    BadValue = "bad-value",
    Unauthorized = "unauthorized",
    Forbidden = "forbidden",
    ForeignOrigin = "foreign-origin",
    IdempotencyKeyReused = "idempotency-key-reused",
    IdempotencyKeyInProgress = "idempotency-key-in-progress",
    PaymentRequired = "payment-required",
    MessageRefused = "message-refused",
    Unavailable = "unavailable",
    TooManyRequests = "too-many-requests",
    Refused = "refused",
    TooLarge = "too-large",
    LengthRequired = "length-required",
    UnsupportedEncoding = "unsupported-encoding",
    RequestTimeout = "request-timeout",
    NotReady = "not-ready",
    Invalid = "invalid",
    PreconditionFailed = "precondition-failed",
    Conflict = "conflict",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_section_of_the_manual() {
        let manual = include_str!("../../../docs/problems.md");
        let sections: Vec<&str> = manual
            .lines()
            .filter_map(|line| line.strip_prefix("### "))
            .collect();
        let mut words: Vec<&str> = ProblemType::ALL.iter().map(|kind| kind.as_str()).collect();
        words.sort_unstable();
        assert_eq!(sections, words, "in the order of the alphabet");
    }
}
