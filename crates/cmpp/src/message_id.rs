//! Msg_Id (§8.4.3.1): the time, the gateway and a number in 64 bits. A report names the Msg_Id of the
//! CMPP_SUBMIT_RESP, so it is compared as a whole; the parts are for people, and for a gateway that assigns one.

/// The parts of a Msg_Id. Each is cut to its bits when it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageId {
    /// 1 to 12: 4 bits.
    pub month: u8,
    /// 1 to 31: 5 bits.
    pub day: u8,
    /// 0 to 23: 5 bits.
    pub hour: u8,
    /// 0 to 59: 6 bits.
    pub minute: u8,
    /// 0 to 59: 6 bits.
    pub second: u8,
    /// The gateway: 22 bits.
    pub gateway: u32,
    /// A number: 16 bits.
    pub number: u16,
}

// === impl MessageId ===

impl MessageId {
    /// Its number in a PDU.
    #[must_use]
    pub fn to_u64(self) -> u64 {
        let part = |value: u64, low: u32, width: u32| (value & ((1 << width) - 1)) << low;
        part(self.month.into(), 60, 4)
            | part(self.day.into(), 55, 5)
            | part(self.hour.into(), 50, 5)
            | part(self.minute.into(), 44, 6)
            | part(self.second.into(), 38, 6)
            | part(self.gateway.into(), 16, 22)
            | part(self.number.into(), 0, 16)
    }

    /// The parts of a number.
    #[must_use]
    pub fn from_u64(id: u64) -> Self {
        let part = |low: u32, width: u32| (id >> low) & ((1 << width) - 1);
        Self {
            month: part(60, 4) as u8,
            day: part(55, 5) as u8,
            hour: part(50, 5) as u8,
            minute: part(44, 6) as u8,
            second: part(38, 6) as u8,
            gateway: part(16, 22) as u32,
            number: part(0, 16) as u16,
        }
    }
}
