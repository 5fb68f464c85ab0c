//! How messages and receipts reach an account.

use smsc_domain::callback::states;

use crate::section::choice;

choice! {
    /// On which way MO and receipts reach an account.
    pub enum DeliverBy {
        /// Its binds that receive get them.
        Smpp = "smpp",
        /// They are posted to `callback_url`.
        Callback = "callback",
        /// On both, each by itself.
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

choice! {
    /// In which form the callbacks of an account are made.
    pub enum CallbackFormat {
        /// POST of JSON, signed (docs/callbacks.md).
        Standard = "standard",
        /// GET of `callback_url` with Kannel's escapes filled in, as the get-url of an sms-service and a dlr-url.
        Kannel = "kannel",
        /// POST of a form as Jasmin's HTTP connectors send it; taken when the answer is `ACK/Jasmin`.
        Jasmin = "jasmin",
        /// GET with the parameters that Jasmin's HTTP connectors send; taken when the answer is `ACK/Jasmin`.
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

choice! {
    /// Which operation carries messages to an account.
    pub enum DeliverAs {
        /// As an SMSC delivers.
        DeliverSm = "deliver_sm",
        /// The text is in message_payload; binds below 3.4 get deliver_sm all the same.
        DataSm = "data_sm",
    }
}

choice! {
    /// How message_id is written to an account.
    pub enum ShownIdForm {
        /// Decimal digits, 19 of them.
        Decimal = "decimal",
        /// Hexadecimal digits, 16 of them, in capitals.
        Hex = "hex",
    }
}
