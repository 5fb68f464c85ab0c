//! The types of problems. Each stays what it is for ever, and has a section of its name in docs/problems.md.

use actix_web::http::StatusCode;

/// Declares each with the last part of its `type`, the status that it usually has, and its title.
macro_rules! types {
    ($($kind:ident: $word:literal, $status:ident, $title:literal;)+) => {
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

            pub(super) fn status(self) -> StatusCode {
                match self {
                    $(Self::$kind => StatusCode::$status,)+
                }
            }

            pub(super) fn title(self) -> &'static str {
                match self {
                    $(Self::$kind => $title,)+
                }
            }
        }
    };
}

types! {
    NotFound: "not-found", NOT_FOUND, "Not found";
    MethodNotAllowed: "method-not-allowed", METHOD_NOT_ALLOWED, "Method not allowed";
    BadValue: "bad-value", BAD_REQUEST, "Bad value";
    Unauthorized: "unauthorized", UNAUTHORIZED, "Unauthorized";
    Forbidden: "forbidden", FORBIDDEN, "Forbidden";
    ForeignOrigin: "foreign-origin", FORBIDDEN, "Another origin";
    IdempotencyKeyReused: "idempotency-key-reused", UNPROCESSABLE_ENTITY, "The Idempotency-Key was used before";
    IdempotencyKeyInProgress: "idempotency-key-in-progress", CONFLICT, "The request is being carried out";
    PaymentRequired: "payment-required", PAYMENT_REQUIRED, "Payment required";
    MessageRefused: "message-refused", UNPROCESSABLE_ENTITY, "The message was refused";
    Unavailable: "unavailable", SERVICE_UNAVAILABLE, "Not available now";
    TooManyRequests: "too-many-requests", TOO_MANY_REQUESTS, "Too many requests";
    Refused: "refused", BAD_REQUEST, "Refused";
    TooLarge: "too-large", PAYLOAD_TOO_LARGE, "Request too large";
    LengthRequired: "length-required", LENGTH_REQUIRED, "Length required";
    UnsupportedEncoding: "unsupported-encoding", UNSUPPORTED_MEDIA_TYPE, "Unsupported encoding";
    RequestTimeout: "request-timeout", REQUEST_TIMEOUT, "Request timeout";
    NotReady: "not-ready", SERVICE_UNAVAILABLE, "Not ready";
    Invalid: "invalid", UNPROCESSABLE_ENTITY, "The configuration would not be valid";
    PreconditionFailed: "precondition-failed", PRECONDITION_FAILED, "It is not what the request expects";
    Conflict: "conflict", CONFLICT, "The state does not allow this";
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
