//! What an account may submit.

use smsc_numbers::Check;

use crate::section::choice;

choice! {
    /// How a submission that repeats an accepted one is answered.
    pub enum OnDuplicate {
        /// It is refused with `smpp.duplicate_status`.
        Refuse = "refuse",
        /// With ESME_ROK and the id of the first; nothing is sent.
        SameId = "same_id",
    }
}

choice! {
    /// Which numbers are taken.
    pub enum NumberCheck for Check {
        /// All of 3 to 20 digits; test networks have numbers that no numbering plan knows.
        Any = "any",
        /// Those of a country that has numbers of this length.
        Possible = "possible",
        /// Those in an assigned range, as far as this release of the SMSC knows.
        Valid = "valid",
    }
}

choice! {
    /// What happens to a submission that has several texts.
    pub enum TwoTexts {
        /// It is refused with ESME_RINVOPTPARSTREAM (0xC0).
        Refuse = "refuse",
        /// short_message is its text, or the first message_payload where that is empty.
        ShortMessage = "short_message",
        /// The first message_payload is its text.
        MessagePayload = "message_payload",
    }
}
