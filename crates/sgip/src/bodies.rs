//! The fields of every PDU of SGIP 1.2 and 1.3 that an SP sees, in their order. Names are those of the standard; a
//! type says how a field is written (`smsc_carrier::fields`).

use smsc_carrier::fields::{Content, Recipients, Tail, Text, Varying};
use smsc_carrier::{Field, Malformed, Reader, Unwritable, Value, Writer, body, commands};

commands! {
    /// Opens the session.
    Bind(Bind) = 0x0000_0001, "Bind";
    /// Its response.
    BindResp(ResultResp) = 0x8000_0001, "Bind_Resp";
    /// Ends the session.
    Unbind(Unbind) = 0x0000_0002, "Unbind";
    /// Its response.
    UnbindResp(UnbindResp) = 0x8000_0002, "Unbind_Resp";
    /// A message to handsets.
    Submit(Box<Submit>) = 0x0000_0003, "Submit";
    /// Its response.
    SubmitResp(ResultResp) = 0x8000_0003, "Submit_Resp";
    /// A message from a handset.
    Deliver(Box<Deliver>) = 0x0000_0004, "Deliver";
    /// Its response.
    DeliverResp(ResultResp) = 0x8000_0004, "Deliver_Resp";
    /// What became of a Submit.
    Report(Report) = 0x0000_0005, "Report";
    /// Its response.
    ReportResp(ResultResp) = 0x8000_0005, "Report_Resp";
    /// Asks what a user of an SP may do.
    CheckUser(CheckUser) = 0x0000_0010, "CheckUser";
    /// Its response.
    CheckUserResp(CheckUserResp) = 0x8000_0010, "CheckUser_Resp";
    /// Tells the state of a user.
    UserRpt(UserRpt) = 0x0000_0011, "UserRpt";
    /// Its response.
    UserRptResp(ResultResp) = 0x8000_0011, "UserRpt_Resp";
    /// Asks where a message is.
    Trace(Trace) = 0x0000_1000, "Trace";
    /// Its response.
    TraceResp(TraceResp) = 0x8000_1000, "Trace_Resp";
}

body! {
    /// Bind.
    Bind {
        /// 1: SP to SMG; 2: SMG to SP; 3: SMG to SMG; 4: SMG to GNS; 5: GNS to SMG; 6: GNS to GNS; 11: a test.
        login_type: u8 = "Login Type",
        /// The name.
        login_name: Text<16> = "Login Name",
        /// The password, in clear.
        login_password: Text<16> = "Login Password",
        /// Reserved.
        reserve: Tail<8, 8> = "Reserve",
    }

    /// Unbind: nothing.
    Unbind {}

    /// Unbind_Resp: nothing.
    UnbindResp {}

    /// Submit. Times are `yymmddhhmmsstnnp`, in Beijing.
    Submit {
        /// The SP's number.
        sp_number: Text<21> = "SPNumber",
        /// Who pays, with 86; empty: the recipients; 21 zeros: the SP.
        charge_number: Text<21> = "ChargeNumber",
        /// The recipients, with 86: at most 100.
        user_number: Recipients<21, 21, 100> = "UserNumber",
        /// The company.
        corp_id: Text<5> = "CorpId",
        /// The service.
        service_type: Text<10> = "ServiceType",
        /// 0: the channel only; 1: free; 2: per message; 3: monthly; 4: the SP collects.
        fee_type: u8 = "FeeType",
        /// The fee in fen.
        fee_value: Text<6> = "FeeValue",
        /// What is given to the user, in fen.
        given_value: Text<6> = "GivenValue",
        /// 0: to be collected; 1: collected.
        agent_flag: u8 = "AgentFlag",
        /// 0: the first answer to an MO message; 1: a later one; 2: to none; 3: of the system.
        morelateto_mt_flag: u8 = "MorelatetoMTFlag",
        /// 0 to 9, the highest.
        priority: u8 = "Priority",
        /// Until when it is valid.
        expire_time: Text<16> = "ExpireTime",
        /// When to deliver it.
        schedule_time: Text<16> = "ScheduleTime",
        /// 0: a report of failures; 1: always; 2: never; 3: a monthly fee, nothing goes to the handset.
        report_flag: u8 = "ReportFlag",
        /// TP-PID.
        tp_pid: u8 = "TP_pid",
        /// 1: the content begins with a header.
        tp_udhi: u8 = "TP_udhi",
        /// See [`smsc_carrier::text::Format`].
        message_coding: u8 = "MessageCoding",
        /// 0: a short message.
        message_type: u8 = "MessageType",
        /// The content.
        message_content: Content<4, 160> = "MessageContent",
        /// Reserved; the LinkID in 1.3.
        reserve: Tail<8, 8> = "Reserve",
    }

    /// Deliver.
    Deliver {
        /// The handset.
        user_number: Text<21> = "UserNumber",
        /// The SP's number.
        sp_number: Text<21> = "SPNumber",
        /// TP-PID.
        tp_pid: u8 = "TP_pid",
        /// 1: the content begins with a header.
        tp_udhi: u8 = "TP_udhi",
        /// See [`smsc_carrier::text::Format`].
        message_coding: u8 = "MessageCoding",
        /// The content.
        message_content: Content<4, 160> = "MessageContent",
        /// Reserved; the LinkID in 1.3.
        reserve: Tail<8, 8> = "Reserve",
    }

    /// Report: one for each recipient of a Submit.
    Report {
        /// The source in the sequence of the Submit.
        submit_node: u32 = "SubmitSequenceNumber (node)",
        /// The time in it.
        submit_time: u32 = "SubmitSequenceNumber (time)",
        /// The counter in it.
        submit_counter: u32 = "SubmitSequenceNumber (counter)",
        /// 0: of a Submit; 1: of a Deliver that was passed on.
        report_type: u8 = "ReportType",
        /// The recipient.
        user_number: Text<21> = "UserNumber",
        /// 0: delivered; 1: waiting; 2: failed.
        state: u8 = "State",
        /// Why it failed.
        error_code: u8 = "ErrorCode",
        /// Reserved.
        reserve: Tail<8, 8> = "Reserve",
    }

    /// CheckUser.
    CheckUser {
        /// The name.
        user_name: Text<16> = "UserName",
        /// The password.
        password: Text<16> = "Password",
        /// The user.
        user_number: Text<21> = "UserNumber",
        /// Reserved.
        reserve: Tail<8, 8> = "Reserve",
    }

    /// CheckUser_Resp.
    CheckUserResp {
        /// 0 when it is taken; see [`crate::status`].
        result: u8 = "Result",
        /// The state of the user.
        status: u8 = "Status",
        /// Reserved.
        reserve: Tail<8, 8> = "Reserve",
    }

    /// UserRpt.
    UserRpt {
        /// The SP's number.
        sp_number: Text<21> = "SPNumber",
        /// The user.
        user_number: Text<21> = "UserNumber",
        /// 0: gone; 1: suspended; 2: as usual.
        user_condition: u8 = "UserCondition",
        /// Reserved.
        reserve: Tail<8, 8> = "Reserve",
    }

    /// Trace.
    Trace {
        /// The source in the sequence of the Submit.
        submit_node: u32 = "SubmitSequenceNumber (node)",
        /// The time in it.
        submit_time: u32 = "SubmitSequenceNumber (time)",
        /// The counter in it.
        submit_counter: u32 = "SubmitSequenceNumber (counter)",
        /// The recipient.
        user_number: Text<21> = "UserNumber",
        /// Reserved.
        reserve: Tail<8, 8> = "Reserve",
    }

    /// Trace_Resp.
    TraceResp {
        /// The nodes that the message passed.
        nodes: TraceNodes = "Count",
    }

    /// A node of a Trace_Resp.
    TraceNode {
        /// 0: it passed; 1: it waits.
        result: u8 = "Result",
        /// The node: 6 octets in 1.2, 10 in 1.3.
        node_id: Varying<6, 10> = "NodeId",
        /// When it came.
        receive_time: Text<16> = "ReceiveTime",
        /// When it went.
        send_time: Text<16> = "SendTime",
        /// Reserved.
        reserve: Tail<8, 8> = "Reserve",
    }

    /// Bind_Resp, Submit_Resp, Deliver_Resp, Report_Resp and UserRpt_Resp.
    ResultResp {
        /// 0 when it is taken; see [`crate::status`].
        result: u8 = "Result",
        /// Reserved.
        reserve: Tail<8, 8> = "Reserve",
    }
}

impl ResultResp {
    /// With this result.
    #[must_use]
    pub fn of(result: u8) -> Self {
        Self {
            result,
            ..Self::default()
        }
    }
}

/// The number of nodes, then each of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceNodes(pub Vec<TraceNode>);

impl Field for TraceNodes {
    fn read(reader: &mut Reader, name: &'static str) -> Result<Self, Malformed> {
        let count: u8 = reader.field(name)?;
        let nodes = (0..count).map(|_| <TraceNode as smsc_carrier::Fields>::read(reader));
        Ok(Self(nodes.collect::<Result<_, _>>()?))
    }

    fn write(&self, writer: &mut Writer, name: &'static str) -> Result<(), Unwritable> {
        let Ok(count) = u8::try_from(self.0.len()) else {
            return Err(Unwritable::new(name, "it has more than 255 nodes"));
        };
        count.write(writer, name)?;
        let mut nodes = self.0.iter();
        nodes.try_for_each(|node| smsc_carrier::Fields::write(node, writer))
    }

    // The fields in it are shown.
    fn shown(&self, _: u8) -> Option<Value> {
        None
    }
}
