//! `[operator.carrier]`: what an operator over CMPP or SMGP is told with each message that SMPP has no field for.

use super::section::{choice, section};

choice! {
    /// Version of CMPP.
    pub enum CmppVersion {
        /// CMPP 2.0.
        V2 = "2.0",
        /// CMPP 3.0: longer numbers, and results of four octets.
        V3 = "3.0",
    }
}

section! {
    /// `[operator.carrier]`: what an operator over CMPP or SMGP is told with each message beside what SMPP has.
    pub struct Carrier {
        /// Version of CMPP.
        version: CmppVersion = CmppVersion::V2,
        /// Service_Id or ServiceID: the service that the gateway bills, at most 10 octets.
        service_id: String = String::new(),
        /// Msg_src or MsgSrc: who the messages are from, at most 6 octets in CMPP and 8 in SMGP; without it, the system_id in CMPP, and nothing in SMGP.
        msg_src: Option<String> = None,
        /// Fee_UserType or ChargeUserType: who pays. 0 is the recipient, 1 the sender, 2 the service provider, 3 the number in `fee_number`.
        fee_payer: u8 = 2,
        /// Fee_terminal_Id or ChargeTermID: the number that pays with `fee_payer = 3`; at most 21 octets.
        fee_number: String = String::new(),
        /// FeeType, two digits: in CMPP 01 free, 02 per message, 03 monthly; in SMGP 00 free, 01 per message, 02 monthly. Without it, free.
        fee_type: Option<String> = None,
        /// FeeCode: the fee in fen, at most 6 digits.
        fee_code: String = "0".to_owned(),
        /// FixedFee of SMGP: the monthly fee in fen, at most 6 digits.
        fixed_fee: String = "0".to_owned(),
        /// Whether texts in UCS-2 are sent as GBK (Msg_Fmt 15) where GBK has all their characters.
        gbk: bool = false,
    }
}
