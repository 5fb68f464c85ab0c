//! How messages and receipts reach an account.

use smsc_domain::callback::states;

use crate::section::settings;

settings! {
    /// How MO messages and receipts reach an account.
    pub enum DeliverBy {
        /// By its receiving binds.
        Smpp = "smpp",
        /// Posted to `callback_url`.
        Callback = "callback",
        /// By both, independently.
        Both = "both",
    }
}

// === impl DeliverBy ===

impl DeliverBy {
    /// Whether binds get them.
    pub fn by_bind(self) -> bool {
        self != Self::Callback
    }

    /// Whether callbacks are made of them.
    pub fn by_callback(self) -> bool {
        self != Self::Smpp
    }
}

settings! {
    /// Format of an account's callbacks.
    pub enum CallbackFormat {
        /// POST of JSON, signed (docs/callbacks.md).
        Standard = "standard",
        /// GET of `callback_url` with Kannel's escapes, as get-url and dlr-url.
        Kannel = "kannel",
        /// POST of a form as Jasmin sends it; the answer must be `ACK/Jasmin`.
        Jasmin = "jasmin",
        /// GET with Jasmin's parameters; the answer must be `ACK/Jasmin`.
        JasminGet = "jasmin_get",
    }
}

// === impl CallbackFormat ===

impl CallbackFormat {
    /// The states before the final one that it can report.
    pub fn states(self) -> u32 {
        match self {
            Self::Standard | Self::Kannel => states::QUEUED | states::SENT | states::RETRYING,
            Self::Jasmin | Self::JasminGet => states::SENT,
        }
    }
}

settings! {
    /// Which operation carries messages to an account.
    pub enum DeliverAs {
        /// As deliver_sm.
        DeliverSm = "deliver_sm",
        /// Text in message_payload; binds below 3.4 get deliver_sm.
        DataSm = "data_sm",
    }

    /// How message_id is written to an account.
    pub enum ShownIdForm {
        /// Decimal digits, 19 of them.
        Decimal = "decimal",
        /// Hexadecimal digits, 16 of them, in capitals.
        Hex = "hex",
    }
}
