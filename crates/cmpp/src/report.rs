//! The content of a CMPP_DELIVER with Registered_Delivery 1 (§8.4.5.1): what became of a message.

use bytes::{Bytes, BytesMut};
use smsc_carrier::fields::{Text, Varying};
use smsc_carrier::outcome::Outcome;
use smsc_carrier::{Fields as _, Malformed, Reader, Unwritable, Writer, body};

use crate::Cmpp;

body! {
    /// A report.
    Report {
        /// The Msg_Id of the CMPP_SUBMIT_RESP.
        msg_id: u64 = "Msg_Id",
        /// What became of the message: a word of [`Outcome`], or one of a gateway.
        stat: Text<7> = "Stat",
        /// When it was submitted, as YYMMDDhhmm.
        submit_time: Text<10> = "Submit_time",
        /// When it ended, as YYMMDDhhmm.
        done_time: Text<10> = "Done_time",
        /// The recipient.
        dest_terminal_id: Varying<21, 32> = "Dest_terminal_Id",
        /// The number that the SMSC gave it.
        smsc_sequence: u32 = "SMSC_sequence",
    }
}

// === impl Report ===

impl Report {
    /// Reads the content of a CMPP_DELIVER.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn decode(content: &Bytes, version: Cmpp) -> Result<Self, Malformed> {
        Self::read(&mut Reader::new(content, 0, version as u8))
    }

    /// The content of a CMPP_DELIVER.
    ///
    /// # Errors
    /// The first field that cannot be written.
    pub fn encode(&self, version: Cmpp) -> Result<Bytes, Unwritable> {
        let mut out = BytesMut::new();
        self.write(&mut Writer::new(&mut out, version as u8))?;
        Ok(out.freeze())
    }

    /// What became of the message; `None` for a word that nobody defined.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        Outcome::of(&self.stat.0)
    }
}
