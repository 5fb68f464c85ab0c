//! The fields of every PDU of CMPP 2.0 and 3.0 between an SP and a gateway (§8.4), in their order. Names are those
//! of the standard; a type says how a field is written, and where the versions differ (`smsc_carrier::fields`).

use smsc_carrier::fields::{Content, Newer, Raw, Recipients, Tail, Text, Varying, Widened};
use smsc_carrier::{body, commands};

commands! {
    /// Opens the session (§8.4.1.1).
    Connect(Connect) = 0x0000_0001, "CMPP_CONNECT";
    /// Its response (§8.4.1.2).
    ConnectResp(ConnectResp) = 0x8000_0001, "CMPP_CONNECT_RESP";
    /// Ends the session (§8.4.2.1).
    Terminate(Terminate) = 0x0000_0002, "CMPP_TERMINATE";
    /// Its response (§8.4.2.2).
    TerminateResp(TerminateResp) = 0x8000_0002, "CMPP_TERMINATE_RESP";
    /// A message to handsets (§8.4.3.1).
    Submit(Box<Submit>) = 0x0000_0004, "CMPP_SUBMIT";
    /// Its response (§8.4.3.2).
    SubmitResp(MessageResp) = 0x8000_0004, "CMPP_SUBMIT_RESP";
    /// A message from a handset, or a report (§8.4.5.1).
    Deliver(Box<Deliver>) = 0x0000_0005, "CMPP_DELIVER";
    /// Its response (§8.4.5.2).
    DeliverResp(MessageResp) = 0x8000_0005, "CMPP_DELIVER_RESP";
    /// Asks for the numbers of a day (§8.4.4.1).
    Query(Query) = 0x0000_0006, "CMPP_QUERY";
    /// Its response (§8.4.4.2).
    QueryResp(QueryResp) = 0x8000_0006, "CMPP_QUERY_RESP";
    /// Takes a message back (§8.4.6.1).
    Cancel(Cancel) = 0x0000_0007, "CMPP_CANCEL";
    /// Its response (§8.4.6.2).
    CancelResp(CancelResp) = 0x8000_0007, "CMPP_CANCEL_RESP";
    /// Asks whether the peer is there (§8.4.7.1).
    ActiveTest(ActiveTest) = 0x0000_0008, "CMPP_ACTIVE_TEST";
    /// Its response (§8.4.7.2).
    ActiveTestResp(ActiveTestResp) = 0x8000_0008, "CMPP_ACTIVE_TEST_RESP";
}

body! {
    /// CMPP_CONNECT (§8.4.1.1).
    Connect {
        /// SP_Id.
        source_addr: Text<6> = "Source_Addr",
        /// The proof of the secret.
        authenticator_source: Raw<16> = "AuthenticatorSource",
        /// 0x20 or 0x30.
        version: u8 = "Version",
        /// The time as the number MMDDhhmmss.
        timestamp: u32 = "Timestamp",
    }

    /// CMPP_CONNECT_RESP (§8.4.1.2).
    ConnectResp {
        /// 0 when the login is accepted; see [`crate::status::CONNECT`].
        status: Widened = "Status",
        /// The proof of the gateway.
        authenticator_ismg: Raw<16> = "AuthenticatorISMG",
        /// The highest version of the gateway.
        version: u8 = "Version",
    }

    /// CMPP_TERMINATE (§8.4.2.1): nothing.
    Terminate {}

    /// CMPP_TERMINATE_RESP (§8.4.2.2): nothing.
    TerminateResp {}

    /// CMPP_SUBMIT (§8.4.3.1).
    Submit {
        /// 0: the gateway assigns it.
        msg_id: u64 = "Msg_Id",
        /// Parts of the message.
        pk_total: u8 = "Pk_total",
        /// Which of them, from 1.
        pk_number: u8 = "Pk_number",
        /// 1 asks for a report.
        registered_delivery: u8 = "Registered_Delivery",
        /// Its level.
        msg_level: u8 = "Msg_level",
        /// The service.
        service_id: Text<10> = "Service_Id",
        /// Who pays: 0 the recipient, 1 the sender, 2 the SP, 3 fee_terminal_id.
        fee_user_type: u8 = "Fee_UserType",
        /// Who pays with fee_user_type 3.
        fee_terminal_id: Varying<21, 32> = "Fee_terminal_Id",
        /// 0: a real number; 1: a pseudonym.
        fee_terminal_type: Newer = "Fee_terminal_type",
        /// TP-PID.
        tp_pid: u8 = "TP_pId",
        /// 1: the content begins with a header.
        tp_udhi: u8 = "TP_udhi",
        /// See [`smsc_carrier::text::Format`].
        msg_fmt: u8 = "Msg_Fmt",
        /// SP_Id.
        msg_src: Text<6> = "Msg_src",
        /// 01 free, 02 per message, 03 monthly.
        fee_type: Text<2> = "FeeType",
        /// The fee in fen.
        fee_code: Text<6> = "FeeCode",
        /// Until when it is valid.
        valid_time: Text<17> = "ValId_Time",
        /// When to deliver it.
        at_time: Text<17> = "At_Time",
        /// The source address.
        src_id: Text<21> = "Src_Id",
        /// The recipients: the standard has fewer than 100, and clients send 100.
        dest_terminal_id: Recipients<21, 32, 100> = "Dest_terminal_Id",
        /// 0: real numbers; 1: pseudonyms.
        dest_terminal_type: Newer = "Dest_terminal_type",
        /// The content: at most 140 octets, of ASCII 160, the longest short message; the standard says "less than 160".
        msg_content: Content<1, 160> = "Msg_Content",
        /// Reserved; the LinkID in 3.0.
        link_id: Tail<8, 20> = "LinkID",
    }

    /// CMPP_SUBMIT_RESP (§8.4.3.2) and CMPP_DELIVER_RESP (§8.4.5.2).
    MessageResp {
        /// The message's id, which its report has; or that of the CMPP_DELIVER.
        msg_id: u64 = "Msg_Id",
        /// 0 when it is taken; see [`crate::status::SUBMIT`].
        result: Widened = "Result",
    }

    /// CMPP_QUERY (§8.4.4.1).
    Query {
        /// The day as YYYYMMDD.
        time: Text<8> = "Time",
        /// 0 all, 1 by service.
        query_type: u8 = "Query_Type",
        /// The service.
        query_code: Text<10> = "Query_Code",
        /// Reserved.
        reserve: Tail<8, 8> = "Reserve",
    }

    /// CMPP_QUERY_RESP (§8.4.4.2).
    QueryResp {
        /// The day as YYYYMMDD.
        time: Text<8> = "Time",
        /// 0 all, 1 by service.
        query_type: u8 = "Query_Type",
        /// The service.
        query_code: Text<10> = "Query_Code",
        /// Messages of the SP.
        mt_tlmsg: u32 = "MT_TLMsg",
        /// Recipients of them.
        mt_tlusr: u32 = "MT_Tlusr",
        /// Delivered.
        mt_scs: u32 = "MT_Scs",
        /// Waiting.
        mt_wt: u32 = "MT_WT",
        /// Failed.
        mt_fl: u32 = "MT_FL",
        /// Delivered to the SP.
        mo_scs: u32 = "MO_Scs",
        /// Waiting for the SP.
        mo_wt: u32 = "MO_WT",
        /// Failed towards the SP.
        mo_fl: u32 = "MO_FL",
    }

    /// CMPP_DELIVER (§8.4.5.1).
    Deliver {
        /// The id of this message.
        msg_id: u64 = "Msg_Id",
        /// The SP's number.
        dest_id: Text<21> = "Dest_Id",
        /// The service.
        service_id: Text<10> = "Service_Id",
        /// TP-PID.
        tp_pid: u8 = "TP_pid",
        /// 1: the content begins with a header.
        tp_udhi: u8 = "TP_udhi",
        /// See [`smsc_carrier::text::Format`].
        msg_fmt: u8 = "Msg_Fmt",
        /// The handset.
        src_terminal_id: Varying<21, 32> = "Src_terminal_Id",
        /// 0: a real number; 1: a pseudonym.
        src_terminal_type: Newer = "Src_terminal_type",
        /// 1: the content is a [`crate::Report`].
        registered_delivery: u8 = "Registered_Delivery",
        /// The content.
        msg_content: Content<1, 160> = "Msg_Content",
        /// Reserved; the LinkID in 3.0.
        link_id: Tail<8, 20> = "LinkID",
    }

    /// CMPP_CANCEL (§8.4.6.1).
    Cancel {
        /// Which message.
        msg_id: u64 = "Msg_Id",
    }

    /// CMPP_CANCEL_RESP (§8.4.6.2).
    CancelResp {
        /// 0 when it was taken back, 1 when not.
        success_id: Widened = "Success_Id",
    }

    /// CMPP_ACTIVE_TEST (§8.4.7.1): nothing.
    ActiveTest {}

    /// CMPP_ACTIVE_TEST_RESP (§8.4.7.2).
    ActiveTestResp {
        /// Reserved: one octet.
        reserved: Tail<1, 1> = "Reserved",
    }
}
