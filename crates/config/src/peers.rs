//! The lists of tables about others: accounts, operators, routes.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::content::{Alphabet, LongMessages, PartReceipts, Unrepresentable};
use super::price::PriceList;
use super::rewrite::RewriteRule;
use super::section::{choice, section};
use super::server::Retry;
use super::sharing::{Costs, Sharing};
use super::value::{Hex, Lists};
use super::words::Words;
use smsc_domain::route::{Route as DomainRoute, Step};

const SECOND: Duration = Duration::from_secs(1);

/// One step of a route: a target, or targets that share by weight.
pub type RouteStep = Step<String>;

choice! {
    /// What becomes of a bind when an account has as many as it may.
    pub enum WhenFull {
        /// It is refused with ESME_RALYBND.
        Refuse = "refuse",
        /// Silent binds are asked for life; the one that has been silent for longest is replaced if it
        /// does not answer in time. Binds that answer stay, and then the new one is refused.
        Replace = "replace",
    }
}

choice! {
    /// How a submission that repeats an accepted one is answered.
    pub enum OnDuplicate {
        /// It is refused with `smpp.duplicate_status`.
        Refuse = "refuse",
        /// With ESME_ROK and the id of the first; nothing is sent.
        SameId = "same_id",
    }
}

section! {
    /// `[[account]]`: an ESME that may bind to us.
    pub struct Account {
        /// The system_id it binds with, at most 15 octets.
        @required system_id: String = String::new(),
        /// Its password: plain, or an argon2id hash (`$argon2id$…`).
        @required password: SecretString = SecretString::default(),
        /// File with the password, instead of `password`.
        password_file: Option<PathBuf> = None,
        /// The system_type it must bind with; any without it.
        system_type: Option<String> = None,
        /// Binds at once, over all nodes and bind types.
        max_binds: u32 = 10,
        /// What becomes of one bind more.
        on_full: WhenFull = WhenFull::Refuse,
        /// Most unanswered deliver_sm that we send on one bind.
        window: u32 = 10,
        /// IP addresses and CIDR blocks it may come from; everywhere when empty.
        allow: Vec<String> = Vec::new(),
        /// Which client certificates it may bind with, of those that a listener with `tls_client_ca` accepts: a name in it (the common name, or a DNS name or mail address of subjectAltName) or its fingerprint `sha256:…`; with any, and without one, when empty.
        certificates: Vec<String> = Vec::new(),
        /// Messages per second that it may submit; beyond, the answer is ESME_RTHROTTLED.
        rate: Option<f64> = None,
        /// Messages that it may submit at once; without it, one second's worth.
        burst: Option<u32> = None,
        /// Most unfinished messages of this account; beyond, the answer is ESME_RMSGQFUL. On many nodes it may be exceeded by what they accept within two of `cluster.heartbeat`.
        max_waiting: Option<u64> = None,
        /// Its turns in queues that it shares with other accounts: in each round so many of its messages go, 1 to 100. See `queue.low_share` for priorities.
        weight: u32 = 1,
        /// Most segments (short messages) that it may submit per day; beyond, the answer is `smpp.quota_status`. Days begin at midnight UTC.
        quota_per_day: Option<u64> = None,
        /// It pays in advance: a message that its balance does not cover is answered with `smpp.balance_status`.
        prepaid: bool = false,
        /// Credits per segment by prefix of the destination, such as `{ default = 1, 4477 = 3 }`; of equally long prefixes, these win over those of `policy.prices`.
        prices: PriceList = PriceList::default(),
        /// A submission with the addresses, reference and content of one that was accepted within this time is a duplicate, and not stored; at most `10m`, "0s" never looks.
        duplicate_window: Duration = Duration::ZERO,
        /// How a duplicate is answered.
        duplicates: OnDuplicate = OnDuplicate::Refuse,
        /// Destination addresses whose mobile-originated messages it gets; `4477*` is a prefix.
        addresses: Vec<String> = Vec::new(),
        /// Highest priority_flag it may use; higher ones are cut to it.
        priority_max: u8 = 3,
        /// registered_delivery for messages that ask for nothing (1: receipt of the final state).
        registered_delivery: Option<u8> = None,
        /// Look up which network its destinations belong to, also where no route asks; it is in the message's history and in its CDR.
        resolve: bool = false,
        /// What data_coding 0 means, in what it submits and in what it is sent; without it, what its listener says, else `gsm`.
        alphabet: Option<Alphabet> = None,
        /// How long messages travel to it.
        long_messages: LongMessages = LongMessages::AsIs,
        /// What becomes of a character that its `alphabet` does not have.
        unrepresentable: Unrepresentable = Unrepresentable::Ucs2,
        /// Share of its messages that are traced, instead of `telemetry.trace_ratio`.
        trace_ratio: Option<f64> = None,
        /// Distribution lists for its submit_multi, by name: `{ team = ["447700900001", "447700900002"] }`.
        lists: Lists = Lists::default(),
        /// What its source addresses may be: `ACME`, a prefix `4477*`, a regular expression `/^[A-Z]{3,11}$/`, or `list:NAME` for a `[[list]]`; anything when empty. Beyond, the answer is ESME_RINVSRCADR.
        senders: Vec<String> = Vec::new(),
        /// Where it may send to, notation as `senders`; everywhere when empty. Beyond, the answer is ESME_RINVDSTADR.
        destinations: Vec<String> = Vec::new(),
        /// What its source addresses must not be, notation as `senders`, which it wins over.
        blocked_senders: Vec<String> = Vec::new(),
        /// Where it must not send to, notation as `senders`; it wins over `destinations`.
        blocked_destinations: Vec<String> = Vec::new(),
        /// Which operation carries MO and receipts to it.
        deliver_as: DeliverAs = DeliverAs::DeliverSm,
        /// Host and port that are dialled with outbind when something waits for it and no receiver is bound.
        outbind: Option<String> = None,
        /// The password of the outbind; `smpp.system_id` is its system_id.
        outbind_password: SecretString = SecretString::default(),
        /// How message_id is written to it: in answers and in receipts.
        message_id: ShownIdForm = ShownIdForm::Decimal,
        /// Digits of a message_id, with zeros in front; without it, as many as there are. For binds of 3.3 it is always eight.
        message_id_length: Option<u32> = None,
        /// What a receipt to it is made of.
        receipt_form: ReceiptForm = ReceiptForm::TextAndTlvs,
        /// How exact the dates in the text of a receipt are.
        receipt_dates: ReceiptDates = ReceiptDates::Minutes,
        /// The version that it speaks, whatever interface_version its binds say: 0x33, 0x34 or 0x50. Without it, what they say; 0x00 to 0x33 is 3.3, which has no TLVs and short message ids.
        interface_version: Option<Hex> = None,
        /// What deviates from the standard is refused: octets after the last field, an incomplete TLV or one of the wrong length, too long or unfinished C-strings, octets beyond ASCII in them.
        strict: bool = false,
        /// Whether it may bind.
        enabled: bool = true,
        /// How addresses in what it submits are rewritten, before anything is decided by them. It is told of its messages by the addresses that it wrote.
        rewrite_in: Vec<RewriteRule> = Vec::new(),
        /// How addresses in the messages that it is sent are rewritten. Receipts are not: they carry what it submitted.
        rewrite_out: Vec<RewriteRule> = Vec::new(),
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

choice! {
    /// What a receipt is made of.
    pub enum ReceiptForm {
        /// Text and TLVs.
        TextAndTlvs = "text_and_tlvs",
        /// The text of appendix B, and no TLVs.
        Text = "text",
        /// receipted_message_id, message_state and user_message_reference, and no text; binds below 3.4 get the text all the same.
        Tlvs = "tlvs",
    }
}

choice! {
    /// How exact the dates of a receipt are.
    pub enum ReceiptDates {
        /// YYMMDDhhmm, as in appendix B.
        Minutes = "minutes",
        /// YYMMDDhhmmss.
        Seconds = "seconds",
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
    /// How we talk to an operator.
    pub enum Protocol {
        /// SMPP 3.4 or 5.0.
        Smpp = "smpp",
    }
}

choice! {
    /// How we bind to an operator.
    pub enum BindKind {
        /// Both directions on one bind.
        Transceiver = "transceiver",
        /// Sending only; receipts come another way or never.
        Transmitter = "transmitter",
        /// Receiving only.
        Receiver = "receiver",
        /// A pair of binds, for operators without bind_transceiver.
        TransmitterReceiver = "transmitter+receiver",
    }
}

choice! {
    /// Which operation carries a message to an operator.
    pub enum SendAs {
        /// We are its ESME.
        SubmitSm = "submit_sm",
        /// We are its SMSC: a peer that receives mobile-terminated messages by deliver_sm.
        DeliverSm = "deliver_sm",
        /// The text is in message_payload; binds below 3.4 get submit_sm all the same.
        DataSm = "data_sm",
    }
}

choice! {
    /// When we ask an operator for a receipt.
    pub enum ReceiptRequest {
        /// When the sender did.
        WhenAsked = "when_asked",
        /// For every message: the final state is always known.
        Always = "always",
        /// Never; ESME_ROK ends a message ACCEPTED.
        Never = "never",
    }
}

choice! {
    /// How the message id in an operator's receipt relates to the one in its submit_sm_resp.
    pub enum MessageIdForm {
        /// As it is, then decimal and hexadecimal, without leading zeros, in any case.
        Auto = "auto",
        /// Octet by octet.
        AsIs = "as_is",
        /// The answer is decimal, the receipt hexadecimal.
        Hex = "hex",
        /// The answer is hexadecimal, the receipt decimal.
        Decimal = "decimal",
    }
}

choice! {
    /// What becomes of a message whose submit_sm was never answered.
    pub enum OutcomePolicy {
        /// Send it again: never lost, perhaps twice.
        Resend = "resend",
        /// Wait for a receipt: never twice, perhaps UNKNOWN.
        Wait = "wait",
        /// End it UNDELIVERABLE.
        Fail = "fail",
    }
}

section! {
    /// `[[operator]]`: an upstream that we bind to.
    pub struct Operator {
        /// Its name in routes, metrics, CDRs and the API: letters, digits, `-`, `_` and `.`.
        @required id: String = String::new(),
        /// How we talk to it.
        protocol: Protocol = Protocol::Smpp,
        /// Host and port.
        @required address: String = String::new(),
        /// Whether we speak TLS with it. Its certificate must descend from an authority that is trusted.
        tls: bool = false,
        /// The name that its certificate must be for, told to it as SNI; without it, the host of `address`.
        tls_name: Option<String> = None,
        /// File with the authorities (PEM) that are trusted; without it, those that the machine trusts. Read at each connect.
        tls_ca_file: Option<PathBuf> = None,
        /// File with the certificate chain (PEM) that we show, for an operator that asks for one. Read at each connect.
        tls_cert: Option<PathBuf> = None,
        /// File with the key of the certificate (PEM).
        tls_key: Option<PathBuf> = None,
        /// The system_id we bind with, at most 15 octets.
        @required system_id: String = String::new(),
        /// The password we bind with, at most 8 octets by the standard.
        password: SecretString = SecretString::default(),
        /// File with the password, instead of `password`.
        password_file: Option<PathBuf> = None,
        /// The system_type we bind with, at most 12 octets.
        system_type: String = String::new(),
        /// How we bind.
        bind: BindKind = BindKind::Transceiver,
        /// Binds at once; a pair counts as one.
        binds: u32 = 1,
        /// Most unanswered messages on one bind.
        window: u32 = 10,
        /// Messages per second over all binds; over the limit messages wait.
        rate: Option<f64> = None,
        /// Messages at once; without it, one second's worth.
        burst: Option<u32> = None,
        /// Which operation carries a message.
        send_as: SendAs = SendAs::SubmitSm,
        /// When we ask for receipts.
        receipts: ReceiptRequest = ReceiptRequest::WhenAsked,
        /// What data_coding 0 means, in what it is sent and in what it sends.
        alphabet: Alphabet = Alphabet::Gsm,
        /// How long messages travel to it.
        long_messages: LongMessages = LongMessages::AsIs,
        /// How the receipts of the parts become the one receipt of a long message.
        part_receipts: PartReceipts = PartReceipts::All,
        /// What becomes of a character that its `alphabet` does not have.
        unrepresentable: Unrepresentable = Unrepresentable::Ucs2,
        /// National language tables (3GPP TS 23.038) that may be used for a text in another alphabet before UCS-2 is: `turkish`, `hindi`, ….
        languages: Vec<String> = Vec::new(),
        /// How its message ids are compared.
        message_id: MessageIdForm = MessageIdForm::Auto,
        /// What becomes of a message whose answer never came.
        outcome_unknown: OutcomePolicy = OutcomePolicy::Resend,
        /// How long its receipts are waited for, instead of `correlation.ttl`.
        correlation_ttl: Option<Duration> = None,
        /// A message counts as unanswered after this time.
        response_timeout: Duration = 30 * SECOND,
        /// A bind that is not answered within this time is given up.
        bind_timeout: Duration = 10 * SECOND,
        /// A silent bind is asked for life after this time; "0s" never asks.
        enquire_link_interval: Duration = 30 * SECOND,
        /// A bind that does not answer enquire_link within this time is closed.
        enquire_link_timeout: Duration = 10 * SECOND,
        /// Pauses before the first, second, … new attempt to bind, with jitter; the last one repeats.
        reconnect: Vec<Duration> = [5, 10, 20, 40, 60].map(Duration::from_secs).to_vec(),
        /// The address_range we bind with: which numbers' messages we want, often a regular expression.
        address_range: String = String::new(),
        /// The interface_version we bind with: 0x33, 0x34 or 0x50 (SMPP 3.3, 3.4, 5.0).
        interface_version: u8 as Hex = 0x34,
        /// Its own retry schedule, with the keys of `[retry]`, instead of that one.
        retry: Option<Retry> = None,
        /// What its answers mean for the next attempt, over the table of defaults and `retry.status`: statuses by name, number or range with `temporary`, `permanent` or `throttled`: `{ ESME_RX_T_APPN = "permanent", "0x0410-0x041F" = "temporary" }`. The narrowest range counts.
        statuses: Words = Words::default(),
        /// What the words and error codes of its receipts mean, where it is not what they usually mean: `{ ACCEPTD = "ENROUTE", "err:0A1F" = "EXPIRED" }`. The key is the whole `stat` or, after `err:`, the whole error code, in any case; the code counts first. ENROUTE ends nothing.
        receipt_states: Words = Words::default(),
        /// Whether a message is a receipt when its text reads like one (`id:` and a known `stat:`), though its esm_class does not say so. For operators that do not mark their receipts: a subscriber could write such a text, too.
        receipts_by_text: bool = false,
        /// What a message costs there, in any unit: for routes with `share = "least_cost"`.
        cost: Option<f64> = None,
        /// The same for destinations by prefix, the longest one wins: `{ "44" = 3, "4477" = 2.5 }`.
        costs: Costs = Costs::default(),
        /// It may be without a bind for so long before new messages take another target of their route.
        failover_after: Duration = Duration::ZERO,
        /// After it was away, it must have been bound for so long without break before new messages take it again.
        failback_after: Duration = Duration::ZERO,
        /// After so many failures in a row (no answer in time, or a status that is temporary) it is left alone for `breaker_pause`; 0 never does. Off by default, because some operators refuse single numbers so: then a list of bad numbers would stop all others.
        breaker_failures: u32 = 0,
        /// The same for a share of failures among the answers of ten seconds, from twenty answers up: 0.5 is half of them; 0 never does.
        breaker_share: f64 = 0.0,
        /// How long it is left alone. Then three messages try; if one of them fails, the pause begins anew.
        breaker_pause: Duration = 30 * SECOND,
        /// Whether we send slower while it answers ESME_RTHROTTLED, or ESME_RMSGQFUL to many: half as fast at once, then by and by faster again.
        adaptive: bool = true,
        /// Whether we bind to it.
        enabled: bool = true,
        /// How addresses in the messages that it brings are rewritten, before they are routed.
        rewrite_in: Vec<RewriteRule> = Vec::new(),
        /// How addresses in what it is sent are rewritten, each time a message is sent.
        rewrite_out: Vec<RewriteRule> = Vec::new(),
    }
}

section! {
    /// `[[route]]`: which messages go where.
    pub struct Route {
        /// What it is called in the API and in `smsc route`; without it, by its conditions: `44`, `default`, `44:from=ACME:account=bulk`.
        name: Option<String> = None,
        /// Destinations that start with these digits; empty is the default route. The longest one wins.
        prefix: String = String::new(),
        /// Only sources that start with this; the longest one wins.
        source_prefix: Option<String> = None,
        /// Only destinations that match this regular expression, beside the prefix: `^4477[0-9]{8}$`. A route with an expression wins over those without, whatever their prefix, unless they have a `network`; it needs a `name`. Of two such routes the longer prefix wins, then the longer source prefix, then the one with an account, then the name that comes first.
        matches: Option<String> = None,
        /// Only sources that match this regular expression, beside the source prefix.
        source_matches: Option<String> = None,
        /// Only messages of this account.
        account: Option<String> = None,
        /// Only destinations that belong to this network (`[resolver]`), such as `23415`. Such a route wins over those without a network, whatever their prefix.
        network: Option<String> = None,
        /// Targets in order of failover: operators, accounts, `test:delivered`, `test:failed` or `test:unreachable`. A table shares: `{ a = 70, b = 30 }`.
        @required to: Vec<RouteStep> = Vec::new(),
        /// Who of a table in `to` gets a message.
        share: Sharing = Sharing::Weight,
        /// Takes what operators bring for an address of no account, and nothing else: it goes on as a message of ours, never to the operator that brought it. Without such a route a message for nobody is refused with `smpp.no_route_status`. Routes without this take what accounts submit.
        mobile_originated: bool = false,
    }
}

// === impl Route ===

impl Route {
    /// The route as the domain uses it.
    pub fn to_domain(&self) -> DomainRoute<String> {
        DomainRoute {
            prefix: self.prefix.clone(),
            source_prefix: self.source_prefix.clone().unwrap_or_default(),
            matches: self.matches.clone(),
            source_matches: self.source_matches.clone(),
            account: self.account.clone(),
            network: self.network.clone(),
            sharing: self.share.into(),
            steps: self.to.clone(),
        }
    }
}
