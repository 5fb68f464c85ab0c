//! The fields of every PDU of SMGP 3.0 between an SP and a gateway, in their order. Names are those of the standard; a
//! type says how a field is written (`smsc_carrier::fields`).

use bytes::Bytes;
use smsc_carrier::fields::{Content, Raw, Recipients, Tail, Text};
use smsc_carrier::{Field, Malformed, Reader, Unwritable, Value, Writer, body, commands};

commands! {
    /// Opens the session.
    Login(Login) = 0x0000_0001, "Login";
    /// Its response.
    LoginResp(LoginResp) = 0x8000_0001, "Login_Resp";
    /// A message to handsets.
    Submit(Box<Submit>) = 0x0000_0002, "Submit";
    /// Its response.
    SubmitResp(MessageResp) = 0x8000_0002, "Submit_Resp";
    /// A message from a handset, or a report.
    Deliver(Box<Deliver>) = 0x0000_0003, "Deliver";
    /// Its response.
    DeliverResp(MessageResp) = 0x8000_0003, "Deliver_Resp";
    /// Asks whether the peer is there.
    ActiveTest(ActiveTest) = 0x0000_0004, "Active_Test";
    /// Its response.
    ActiveTestResp(ActiveTestResp) = 0x8000_0004, "Active_Test_Resp";
    /// Ends the session.
    Exit(Exit) = 0x0000_0006, "Exit";
    /// Its response.
    ExitResp(ExitResp) = 0x8000_0006, "Exit_Resp";
}

body! {
    /// Login.
    Login {
        /// The name.
        client_id: Text<8> = "ClientID",
        /// The proof of the secret.
        authenticator_client: Raw<16> = "AuthenticatorClient",
        /// 0: sends; 1: receives; 2: both.
        login_mode: u8 = "LoginMode",
        /// The time as the number MMDDhhmmss.
        timestamp: u32 = "TimeStamp",
        /// 0x30.
        client_version: u8 = "ClientVersion",
    }

    /// Login_Resp.
    LoginResp {
        /// 0 when the login is accepted; see [`crate::status`].
        status: u32 = "Status",
        /// The proof of the gateway.
        authenticator_server: Raw<16> = "AuthenticatorServer",
        /// The highest version of the gateway.
        server_version: u8 = "ServerVersion",
    }

    /// Submit.
    Submit {
        /// 0: MO, 6: MT, 7: between SPs.
        msg_type: u8 = "MsgType",
        /// 1 asks for a report.
        need_report: u8 = "NeedReport",
        /// 0 to 3, the highest.
        priority: u8 = "Priority",
        /// The service.
        service_id: Text<10> = "ServiceID",
        /// 00 free, 01 per message, 02 monthly.
        fee_type: Text<2> = "FeeType",
        /// The fee in fen.
        fee_code: Text<6> = "FeeCode",
        /// The monthly fee in fen.
        fixed_fee: Text<6> = "FixedFee",
        /// See [`smsc_carrier::text::Format`].
        msg_format: u8 = "MsgFormat",
        /// Until when it is valid.
        valid_time: Text<17> = "ValidTime",
        /// When to deliver it.
        at_time: Text<17> = "AtTime",
        /// The source address.
        src_term_id: Text<21> = "SrcTermID",
        /// Who pays.
        charge_term_id: Text<21> = "ChargeTermID",
        /// The recipients: at most 100.
        dest_term_id: Recipients<21, 21, 100> = "DestTermID",
        /// The content.
        msg_content: Content<1, 252> = "MsgContent",
        /// Reserved.
        reserve: Tail<8, 8> = "Reserve",
        /// What else is said.
        options: Options = "options",
    }

    /// Submit_Resp and Deliver_Resp.
    MessageResp {
        /// The message's id, which its report has; or that of the Deliver.
        msg_id: Raw<10> = "MsgID",
        /// 0 when it is taken; see [`crate::status`].
        status: u32 = "Status",
    }

    /// Deliver.
    Deliver {
        /// The id of this message.
        msg_id: Raw<10> = "MsgID",
        /// 1: the content is a [`crate::Report`].
        is_report: u8 = "IsReport",
        /// See [`smsc_carrier::text::Format`].
        msg_format: u8 = "MsgFormat",
        /// When the gateway got it, as YYYYMMDDhhmmss.
        recv_time: Text<14> = "RecvTime",
        /// The handset.
        src_term_id: Text<21> = "SrcTermID",
        /// The SP's number.
        dest_term_id: Text<21> = "DestTermID",
        /// The content.
        msg_content: Content<1, 252> = "MsgContent",
        /// Reserved.
        reserve: Tail<8, 8> = "Reserve",
        /// What else is said.
        options: Options = "options",
    }

    /// Active_Test: nothing.
    ActiveTest {}

    /// Active_Test_Resp: nothing.
    ActiveTestResp {}

    /// Exit: nothing.
    Exit {}

    /// Exit_Resp: nothing.
    ExitResp {}
}

/// Tags of optional fields, and their names.
pub const TAGS: [(u16, &str); 18] = [
    (0x01, "TP_pid"),
    (0x02, "TP_udhi"),
    (0x03, "LinkID"),
    (0x04, "ChargeUserType"),
    (0x05, "ChargeTermType"),
    (0x06, "ChargeTermPseudo"),
    (0x07, "DestTermType"),
    (0x08, "DestTermPseudo"),
    (0x09, "PkTotal"),
    (0x0A, "PkNumber"),
    (0x0B, "SubmitMsgType"),
    (0x0C, "SPDealResult"),
    (0x0D, "SrcTermType"),
    (0x0E, "SrcTermPseudo"),
    (0x0F, "NodesCount"),
    (0x10, "MsgSrc"),
    (0x11, "SrcType"),
    (0x12, "MServiceID"),
];

/// The tag of TP_pid: TP-PID.
pub const TP_PID: u16 = 0x01;
/// The tag of TP_udhi: 1 when the content begins with a header.
pub const TP_UDHI: u16 = 0x02;
/// The tag of LinkID: which message of a handset is answered, in 20 octets.
pub const LINK_ID: u16 = 0x03;
/// The tag of ChargeUserType: who pays. 0 the recipient, 1 the sender, 2 the SP, 3 ChargeTermID.
pub const CHARGE_USER_TYPE: u16 = 0x04;
/// The tag of PkTotal: parts of the message.
pub const PK_TOTAL: u16 = 0x09;
/// The tag of PkNumber: which of them, from 1.
pub const PK_NUMBER: u16 = 0x0A;
/// The tag of MsgSrc: who the message is from, in 8 octets.
pub const MSG_SRC: u16 = 0x10;

/// The optional fields in their order: a tag and a length of two octets each, then the value. Those of unknown
/// tags are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options(pub Vec<(u16, Bytes)>);

// === impl Options ===

impl Options {
    /// The value of the first field with this tag.
    pub fn get(&self, tag: u16) -> Option<&Bytes> {
        let found = self.0.iter().find(|(known, _)| *known == tag);
        found.map(|(_, value)| value)
    }

    /// The value of a field of one octet; 0 without it.
    pub fn octet(&self, tag: u16) -> u8 {
        match self.get(tag).map(|value| &value[..]) {
            Some([octet]) => *octet,
            _ => 0,
        }
    }

    /// Adds a field of one octet.
    pub fn push_octet(&mut self, tag: u16, octet: u8) {
        self.0.push((tag, Bytes::copy_from_slice(&[octet])));
    }

    /// A value of a fixed length, without what fills it up; empty without it.
    pub fn text(&self, tag: u16) -> Bytes {
        let value = self.get(tag).cloned().unwrap_or_default();
        let end = value.iter().position(|octet| *octet == 0);
        value.slice(..end.unwrap_or(value.len()))
    }

    /// Adds a field of so many octets, which zeros fill up.
    pub fn push_text(&mut self, tag: u16, text: &[u8], length: usize) {
        let mut octets = text.to_vec();
        octets.resize(length, 0);
        self.0.push((tag, octets.into()));
    }

    /// Whether the content begins with a header.
    pub fn has_header(&self) -> bool {
        self.octet(TP_UDHI) & 1 != 0
    }
}

impl Field for Options {
    fn read(reader: &mut Reader, name: &'static str) -> Result<Self, Malformed> {
        let mut options = Vec::new();
        while reader.left() > 0 {
            let head = reader.take(name, 4)?;
            let tag = u16::from_be_bytes([head[0], head[1]]);
            let length = u16::from_be_bytes([head[2], head[3]]);
            options.push((tag, reader.take(name, length.into())?));
        }
        Ok(Self(options))
    }

    fn write(&self, writer: &mut Writer, name: &'static str) -> Result<(), Unwritable> {
        for (tag, value) in &self.0 {
            let Ok(length) = u16::try_from(value.len()) else {
                return Err(Unwritable::new(name, "a value is too long"));
            };
            writer.octets(&tag.to_be_bytes());
            writer.octets(&length.to_be_bytes());
            writer.octets(value);
        }
        Ok(())
    }

    fn shown(&self, _: u8) -> Option<Value> {
        let name = |tag: u16| TAGS.iter().find(|(known, _)| *known == tag);
        let shown: Vec<String> = self
            .0
            .iter()
            .map(|(tag, value)| {
                let name =
                    name(*tag).map_or_else(|| format!("{tag:04X}"), |(_, name)| (*name).to_owned());
                let hex: String = value.iter().map(|octet| format!("{octet:02X}")).collect();
                format!("{name}={hex}")
            })
            .collect();
        Some(Value::Text(shown.join(" ").into()))
    }
}
