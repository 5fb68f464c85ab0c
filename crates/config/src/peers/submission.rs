//! What an account may submit.

use smsc_numbers::Check;

use crate::section::settings;

settings! {
    /// How a submission that repeats an accepted one is answered.
    pub enum OnDuplicate {
        /// It is refused with `smpp.duplicate_status`.
        Refuse = "refuse",
        /// With ESME_ROK and the id of the first; nothing is sent.
        SameId = "same_id",
    }

    /// Which recipients are valid.
    pub enum NumberCheck for Check {
        /// Any 3 to 20 digits.
        Any = "any",
        /// Numbers of a length that the country has.
        Possible = "possible",
        /// Numbers in an assigned range, as this release knows.
        Valid = "valid",
    }

    /// Handling of a submission with several texts.
    pub enum TwoTexts {
        /// It is refused with ESME_RINVOPTPARSTREAM (0xC0).
        Refuse = "refuse",
        /// Use short_message, or the first message_payload if it is empty.
        ShortMessage = "short_message",
        /// The first message_payload is its text.
        MessagePayload = "message_payload",
    }
}
