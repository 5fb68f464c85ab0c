//! The lists of tables about others: accounts, operators, routes.

mod delivery;
mod submission;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use rustls::pki_types::ServerName;
use secrecy::SecretString;

pub use self::delivery::{CallbackFormat, DeliverAs, DeliverBy, ShownIdForm};
pub use self::submission::{NumberCheck, OnDuplicate, TwoTexts};
use super::carrier::{AccountCarrier, Carrier};
use super::content::{DefaultAlphabet, LongMessages, PartReceipts, UnrepresentableRule, language};
use super::local::LOCAL;
use super::mark::{MAX_DIGITS, MAX_SYSTEM_ID, MAX_SYSTEM_TYPE, MAX_WINDOW};
use super::price::{NO_CURRENCY, PriceList, is_currency};
use super::rewrite::RewriteRule;
use super::section::settings;
use super::server::{LimitMode, Retry};
use super::sharing::{Costs, StepSharing};
use super::value::{DistributionLists, HOUR, Hex, SECOND};
use super::words::Words;
use smsc_domain::callback::target::CallbackTarget;
use smsc_domain::certificate::WantedCertificate;
use smsc_domain::route::{Route as DomainRoute, RoutingStep, check_expression};
use smsc_numbers::{Country, NotACountry, Numbers};

/// A longer one, and what people send twice on purpose is taken for a slip of the network.
const MAX_DUPLICATE_WINDOW: Duration = Duration::from_secs(600);
/// An answer that takes longer holds a place for too long.
const MAX_CALLBACK_TIMEOUT: Duration = Duration::from_secs(60);
const UNKNOWN_VERSION: &str = "must be 0x33, 0x34 or 0x50";

/// One step of a route: a target, or targets that share by weight.
pub type RouteStep = RoutingStep<String>;

settings! {
    /// What happens to a bind beyond `max_binds`.
    pub enum WhenFull {
        /// The bind is refused with ESME_RALYBND.
        Refuse = "refuse",
        /// Idle binds get an enquire_link. The new bind replaces the one idle longest that does not answer; if all answer, it is refused.
        Replace = "replace",
    }

    /// `[[account]]`: an ESME that may bind.
    pub struct Account {
        /// system_id of its binds.
        @required @filled("is missing") @text(MAX_SYSTEM_ID) system_id: String = String::new(),
        /// Password in clear, or an argon2id hash (`$argon2id$…`).
        @required password: SecretString = SecretString::default(),
        /// File with `password`.
        password_file: Option<PathBuf> = None,
        /// Second valid password during a change: in clear, or an argon2id hash; empty for none.
        password_next: SecretString = SecretString::default(),
        /// File with `password_next`.
        password_next_file: Option<PathBuf> = None,
        /// Shared secret in clear for listeners with `protocol = "cmpp"`; without it, the account cannot log in there.
        carrier_secret: SecretString = SecretString::default(),
        /// File with `carrier_secret`.
        carrier_secret_file: Option<PathBuf> = None,
        /// Second valid shared secret during a change.
        carrier_secret_next: SecretString = SecretString::default(),
        /// File with `carrier_secret_next`.
        carrier_secret_next_file: Option<PathBuf> = None,
        /// Billing data for operators over CMPP, SMGP or SGIP.
        carrier: Option<AccountCarrier> = None,
        /// Required system_type of its binds.
        @text(MAX_SYSTEM_TYPE) system_type: Option<String> = None,
        /// Most binds, over all nodes and bind types.
        @at_least(1) max_binds: u32 = 10,
        /// Handling of a bind beyond `max_binds`.
        on_full: WhenFull = WhenFull::Refuse,
        /// Most unanswered deliver_sm on one bind.
        @between(1, MAX_WINDOW) window: u32 = 10,
        /// IP addresses and CIDR blocks that it may bind from; any if empty.
        @network allow: Vec<String> = Vec::new(),
        /// Client certificates that it may bind with, at listeners with `tls_client_ca`: a common name, a DNS name or mail address of subjectAltName, or a fingerprint `sha256:…`. If empty, any certificate or none.
        @must(|text| WantedCertificate::parse(text).is_some(), "must be a name, or sha256: and the 64 hexadecimal digits of a fingerprint")
        certificates: Vec<String> = Vec::new(),
        /// Most messages per second that it may submit; further ones get ESME_RTHROTTLED.
        @rate rate: Option<f64> = None,
        /// Most messages in one burst; without it, one second's worth.
        @at_least(1) burst: Option<u32> = None,
        /// Most unfinished messages; further ones get ESME_RMSGQFUL. Several nodes may exceed it by what they accept within two `cluster.heartbeat`s.
        @at_least(1) max_waiting: Option<u64> = None,
        /// Messages that go per round from a queue shared with other accounts, 1 to 100.
        @must(|weight| (1..=100).contains(weight), "must be from 1 to 100")
        weight: u32 = 1,
        /// Most segments per day (from midnight UTC); further messages get `smpp.quota_status`.
        @must(|quota| *quota <= i64::MAX as u64, "is too large; remove the key for no quota")
        @at_least(1) quota_per_day: Option<u64> = None,
        /// Requires balance: messages that it does not cover get `smpp.balance_status`.
        prepaid: bool = false,
        /// Credits per segment by prefix of the destination: `{ default = 1, 4477 = 3 }`. The longest prefix wins; of equal ones, the account's before that of `policy.prices`.
        prices: PriceList = PriceList::default(),
        /// Currency of its credits in CDRs and usage, such as `EUR`; without it, `policy.currency`.
        @must(|currency| is_currency(currency), NO_CURRENCY)
        currency: Option<String> = None,
        /// A submission with the addresses, reference and content of one accepted within this time is a duplicate and is not stored. At most `10m`; "0s" disables the check.
        @must(|window| *window <= MAX_DUPLICATE_WINDOW, "must be at most 10m; \"0s\" never looks for duplicates")
        duplicate_window: Duration = Duration::ZERO,
        /// Answer to a duplicate.
        duplicates: OnDuplicate = OnDuplicate::Refuse,
        /// Destination addresses whose MO messages it gets; `4477*` is a prefix.
        addresses: Vec<String> = Vec::new(),
        /// Highest priority_flag; higher ones are lowered to it.
        @between(0, 3) priority_max: u8 = 3,
        /// registered_delivery of messages that request none (1: receipt of the final state).
        @between(0, 31) registered_delivery: Option<u8> = None,
        /// Look up the network of every destination, for the message's history and CDR.
        resolve: bool = false,
        /// Meaning of data_coding 0, in both directions; without it, that of the listener, else `gsm`.
        alphabet: Option<DefaultAlphabet> = None,
        /// Form of long messages to it.
        long_messages: LongMessages = LongMessages::AsIs,
        /// Handling of characters that its `alphabet` lacks.
        unrepresentable: UnrepresentableRule = UnrepresentableRule::Ucs2,
        /// Share of its messages that are traced; without it, `telemetry.trace_ratio`.
        @share trace_ratio: Option<f64> = None,
        /// Distribution lists for submit_multi, by name: `{ team = ["447700900001", "447700900002"] }`.
        lists: DistributionLists = DistributionLists::default(),
        /// Allowed source addresses: `ACME`, a prefix `4477*`, a regular expression `/^[A-Z]{3,11}$/`, or `list:NAME` of a `[[list]]`; any if empty. Others get ESME_RINVSRCADR.
        senders: Vec<String> = Vec::new(),
        /// Allowed destinations, notation as `senders`; any if empty. Others get ESME_RINVDSTADR.
        destinations: Vec<String> = Vec::new(),
        /// Forbidden source addresses, notation as `senders`; they override `senders`.
        blocked_senders: Vec<String> = Vec::new(),
        /// Forbidden destinations, notation as `senders`; they override `destinations`.
        blocked_destinations: Vec<String> = Vec::new(),
        /// Operation that carries MO messages and receipts to it.
        deliver_as: DeliverAs = DeliverAs::DeliverSm,
        /// How MO messages and receipts reach it; `both` sends each to a bind and as a callback. A change closes its receiving binds.
        deliver_by: DeliverBy = DeliverBy::Smpp,
        /// URL of callbacks (docs/callbacks.md): `https://…`; `http://…` only for hosts of `callback_allow_private`. Redirects are not followed.
        callback_url: Option<String> = None,
        /// Signing key of callbacks (Standard Webhooks): `whsec_` and 24 to 64 octets in base64, made by `echo whsec_$(openssl rand -base64 32)`. Two, separated by a blank, both sign.
        callback_secrets: SecretString = SecretString::default(),
        /// Retry time of a callback, from the final state or from the arrival of the MO. After it, and at least one attempt, a receipt is given up and an MO message ends UNDELIVERABLE.
        callback_retry_for: Duration = 24 * HOUR,
        /// Most callbacks per second; no limit without it.
        @must(|rate| rate.is_finite() && *rate > 0.0, "must be positive")
        callback_rate: Option<f64> = None,
        /// Most concurrent callbacks to one host and port, 1 to 256; a URL that fails gets fewer.
        @must(|most| (1..=256).contains(most), "must be from 1 to 256")
        callback_concurrency: u32 = 8,
        /// A callback without an answer within this time has failed; at most `1m`.
        @must(|timeout| !timeout.is_zero() && *timeout <= MAX_CALLBACK_TIMEOUT, "must be positive, and at most 1m")
        callback_timeout: Duration = 10 * SECOND,
        /// Hosts with private addresses that callbacks may go to: host names, IP addresses and CIDR blocks.
        callback_allow_private: Vec<String> = Vec::new(),
        /// PEM file of CAs trusted for callbacks, instead of the system's.
        callback_ca_file: Option<PathBuf> = None,
        /// Format of callbacks. Messages that name their own callback use the format of their API.
        callback_format: CallbackFormat = CallbackFormat::Standard,
        /// URL for receipts, instead of `callback_url`.
        callback_receipt_url: Option<String> = None,
        /// Intermediate states to report, for messages that ask for a receipt: any of `["queued", "sent", "retrying"]`. A message over HTTP may choose its own.
        callback_states: Vec<String> = Vec::new(),
        /// Hosts (name or IP address) that a message over HTTP may use in its `callback`, or in `dlr-url` of Kannel or Jasmin.
        @must(|host| is_host(host), "must be a host name or an IP address, without `https://`, port and path")
        callback_hosts: Vec<String> = Vec::new(),
        /// Named callbacks for messages over HTTP: `{ billing = "https://hooks.example.com/billing" }`.
        callbacks: Words = Words::default(),
        /// Country (ISO 3166, such as `GB`) whose national numbers are accepted as recipients over HTTP; without it, only international ones.
        @valid(|code| code.parse::<Country>().map(drop).map_err(|error| error.to_string()))
        country: Option<String> = None,
        /// Validation of recipients over HTTP.
        number_check: NumberCheck = NumberCheck::Any,
        /// Sessions that one receipt or MO message may end before it is given up; 0 tries until it expires. See docs/messages.md, "What ends sessions".
        suspect_attempts: u32 = 3,
        /// First pause of such a message; each further one is three times as long, at most 30 minutes.
        @positive suspect_pause: Duration = 5 * SECOND,
        /// Host and port for outbind, used when messages wait and no receiver is bound.
        outbind: Option<String> = None,
        /// Password of the outbind; its system_id is `smpp.system_id`.
        outbind_password: SecretString = SecretString::default(),
        /// Form of message_id in answers and receipts.
        message_id: ShownIdForm = ShownIdForm::Decimal,
        /// Digits of message_id, padded with zeros; not padded without it. Always eight for binds of 3.3.
        message_id_length: Option<u32> = None,
        /// Content of receipts.
        receipt_form: ReceiptForm = ReceiptForm::TextAndTlvs,
        /// Precision of the dates in a receipt's text.
        receipt_dates: ReceiptDates = ReceiptDates::Minutes,
        /// SMPP version, overriding that of its binds: 0x33, 0x34 or 0x50. A bind's 0x00 to 0x33 means 3.3: no TLVs, short message ids.
        @must(|version| is_known_version(u8::from(*version)), UNKNOWN_VERSION)
        interface_version: Option<Hex> = None,
        /// Refuse PDUs that violate the standard: octets after the last field, malformed TLVs, C-strings too long, unterminated or not ASCII.
        strict: bool = false,
        /// Tag of the TLV with the client's `reference`, such as 0x1403. Values that are no text of up to 100 characters are ignored.
        @must(|tag| u16::try_from(*tag).is_ok(), "must be between 0 and 0xFFFF")
        reference_tlv: Option<u32> = None,
        /// Handling of submissions with short_message and message_payload, or with two message_payload.
        two_texts: TwoTexts = TwoTexts::Refuse,
        /// The account is a message centre: its deliver_sm to an address of another account becomes an MO message, opt-out keywords in it count, and it may submit receipts. Without this it gets ESME_RINVDSTADR.
        mobile_originated: bool = false,
        /// Accept its binds and submissions.
        enabled: bool = true,
        /// Rewriting of addresses in its messages, before all other rules. Its receipts and answers keep the submitted addresses.
        rewrite_in: Vec<RewriteRule> = Vec::new(),
        /// Rewriting of addresses in messages to it, not in receipts.
        rewrite_out: Vec<RewriteRule> = Vec::new(),
    }

    /// What a receipt is made of.
    pub enum ReceiptForm {
        /// Text and TLVs.
        TextAndTlvs = "text_and_tlvs",
        /// The text of appendix B, and no TLVs.
        Text = "text",
        /// receipted_message_id, message_state and user_message_reference, no text; binds below 3.4 get the text.
        Tlvs = "tlvs",
    }

    /// Precision of the dates of a receipt.
    pub enum ReceiptDates {
        /// YYMMDDhhmm, as in appendix B.
        Minutes = "minutes",
        /// YYMMDDhhmmss.
        Seconds = "seconds",
    }

    /// Protocol of an operator.
    pub enum OperatorProtocol {
        /// SMPP 3.4 or 5.0.
        Smpp = "smpp",
        /// CMPP 2.0 or 3.0 of China Mobile (docs/carriers.md).
        Cmpp = "cmpp",
        /// SMGP 3.0 of China Telecom.
        Smgp = "smgp",
        /// SGIP 1.2 or 1.3 of China Unicom; needs `sgip.listen`.
        Sgip = "sgip",
    }

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

    /// Which operation carries a message to an operator.
    pub enum SendAs {
        /// We are its ESME.
        SubmitSm = "submit_sm",
        /// For a peer that takes mobile-terminated messages by deliver_sm.
        DeliverSm = "deliver_sm",
        /// Text in message_payload; binds below 3.4 get submit_sm.
        DataSm = "data_sm",
    }

    /// When we ask an operator for a receipt.
    pub enum ReceiptRequest {
        /// When the sender did.
        WhenAsked = "when_asked",
        /// For every message.
        Always = "always",
        /// Never; ESME_ROK ends a message ACCEPTED.
        Never = "never",
    }

    /// How the message id in an operator's receipt relates to the one in its submit_sm_resp.
    pub enum MessageIdForm {
        /// Tries as is, decimal and hexadecimal, ignoring case and leading zeros.
        Auto = "auto",
        /// Octet by octet.
        AsIs = "as_is",
        /// The answer is decimal, the receipt hexadecimal.
        Hex = "hex",
        /// The answer is hexadecimal, the receipt decimal.
        Decimal = "decimal",
    }

    /// What happens to a message whose submit_sm was never answered.
    pub enum OutcomePolicy {
        /// Send it again: never lost, perhaps twice.
        Resend = "resend",
        /// Wait for a receipt: never twice, perhaps UNKNOWN.
        Wait = "wait",
        /// End it UNDELIVERABLE.
        Fail = "fail",
    }

    /// `[[operator]]`: an upstream that we bind to.
    pub struct OperatorConfig {
        /// Name in routes, metrics, CDRs and the API.
        @required @name id: String = String::new(),
        /// Fetch address, credentials, bind type and rate before each bind from `compat.smpp_connector.management_url`. Do not set `address`, `system_id` and `password` then; the lower rate counts.
        managed: bool = false,
        /// Protocol of the connection.
        protocol: OperatorProtocol = OperatorProtocol::Smpp,
        /// Billing data for CMPP, SMGP and SGIP.
        carrier: Option<Carrier> = None,
        /// Host and port; or `local` for a program at `local.socket` with the role `operator:ID` (one message at a time).
        @required address: String = String::new(),
        /// Connect with TLS and verify the certificate.
        tls: bool = false,
        /// Expected certificate name and SNI; without it, the host of `address`.
        @valid(|name| server_name(name))
        tls_name: Option<String> = None,
        /// PEM file of trusted CAs, instead of the system's. Read at each connect.
        tls_ca_file: Option<PathBuf> = None,
        /// PEM file of the client certificate chain. Read at each connect.
        tls_cert: Option<PathBuf> = None,
        /// PEM file of the certificate's key.
        tls_key: Option<PathBuf> = None,
        /// system_id of our binds; not needed at the local socket.
        @required @text(MAX_SYSTEM_ID) system_id: String = String::new(),
        /// Password of our binds; at most 8 octets by the standard.
        password: SecretString = SecretString::default(),
        /// File with `password`.
        password_file: Option<PathBuf> = None,
        /// system_type of our binds.
        @text(MAX_SYSTEM_TYPE) system_type: String = String::new(),
        /// Type of our binds.
        bind: BindKind = BindKind::Transceiver,
        /// Number of binds; a transmitter and receiver pair counts as one.
        @between(1, 1_000) binds: u32 = 1,
        /// Most unanswered messages on one bind.
        @between(1, MAX_WINDOW) window: u32 = 10,
        /// Most messages per second over all binds; further ones wait.
        @rate rate: Option<f64> = None,
        /// Most messages in one burst; without it, one second's worth. Ignored where nodes share the rate.
        @at_least(1) burst: Option<u32> = None,
        /// Counting of a `rate` that nodes share: `"strict"` for any second, `"fixed"` for seconds of the clock; without it, `redis.limit`.
        rate_window: Option<LimitMode> = None,
        /// Send one message at a time in the order of acceptance, ignoring priority and accounts. A temporary refusal holds all others, and there is no failover. Each node keeps its own order: use one bind.
        strict_order: bool = false,
        /// Operation that carries a message.
        send_as: SendAs = SendAs::SubmitSm,
        /// When we ask for receipts.
        receipts: ReceiptRequest = ReceiptRequest::WhenAsked,
        /// Meaning of data_coding 0, in both directions.
        alphabet: DefaultAlphabet = DefaultAlphabet::Gsm,
        /// Form of long messages to it.
        long_messages: LongMessages = LongMessages::AsIs,
        /// How receipts of parts become one receipt.
        part_receipts: PartReceipts = PartReceipts::All,
        /// Handling of characters that its `alphabet` lacks.
        unrepresentable: UnrepresentableRule = UnrepresentableRule::Ucs2,
        /// National language tables (3GPP TS 23.038) to try before UCS-2: `turkish`, `hindi`, ….
        @valid(|name| language(name))
        languages: Vec<String> = Vec::new(),
        /// How message ids of answers and receipts are compared.
        message_id: MessageIdForm = MessageIdForm::Auto,
        /// Handling of a message whose answer never came.
        outcome_unknown: OutcomePolicy = OutcomePolicy::Resend,
        /// Sessions that one message may end before it ends UNDELIVERABLE; 0 tries until it expires. See docs/messages.md, "What ends sessions".
        suspect_attempts: u32 = 3,
        /// First pause of such a message; each further one is three times as long, at most 30 minutes.
        @positive suspect_pause: Duration = 5 * SECOND,
        /// Waiting time for receipts; without it, `correlation.ttl`.
        @positive correlation_ttl: Option<Duration> = None,
        /// Waiting time for the answer to a message; without it, 30 s, or 5 s with `send_as = "deliver_sm"`.
        @positive response_timeout: Option<Duration> = None,
        /// Waiting time for the answer to a bind.
        @positive bind_timeout: Duration = 10 * SECOND,
        /// A bind idle for this time gets an enquire_link; "0s" sends none.
        enquire_link_interval: Duration = 30 * SECOND,
        /// A bind that does not answer enquire_link within this time is closed.
        @positive enquire_link_timeout: Duration = 10 * SECOND,
        /// Pauses between attempts to bind, with jitter; the last one repeats.
        @pauses @positive reconnect: Vec<Duration> = [5, 10, 20, 40, 60].map(Duration::from_secs).to_vec(),
        /// address_range of our binds, often a regular expression.
        @text(40) address_range: String = String::new(),
        /// interface_version of our binds: 0x33, 0x34 or 0x50.
        @must(|version| is_known_version(*version), UNKNOWN_VERSION)
        interface_version: u8 as Hex = 0x34,
        /// Own retry schedule, instead of `[retry]`.
        retry: Option<Retry> = None,
        /// Class of its answers, `temporary`, `permanent` or `throttled`, by status name, number or range: `{ ESME_RX_T_APPN = "permanent", "0x0410-0x041F" = "temporary" }`. The narrowest range wins; overrides `retry.status`.
        statuses: Words = Words::default(),
        /// State for a whole `stat` or, after `err:`, error code of its receipts, in any case: `{ ACCEPTD = "ENROUTE", "err:0A1F" = "EXPIRED" }`. Error codes win; ENROUTE is not final.
        receipt_states: Words = Words::default(),
        /// Recognize receipts by their text (`id:` and a known `stat:`) without esm_class. A subscriber could forge one.
        receipts_by_text: bool = false,
        /// Cost of a message, in any unit, for routes with `share = "least_cost"`.
        @must(|cost| cost.is_finite() && *cost >= 0.0, "must be a number from 0 up")
        cost: Option<f64> = None,
        /// Cost of a message by prefix of the destination, before `cost`; the longest one wins: `{ "44" = 3, "4477" = 2.5 }`.
        costs: Costs = Costs::default(),
        /// Time without a bind before new messages use the next target of their route.
        failover_after: Duration = Duration::ZERO,
        /// Time of being bound, after an outage, before new messages use it again.
        failback_after: Duration = Duration::ZERO,
        /// Consecutive failures (no answer, or a temporary status) that stop messages to it for `breaker_pause`; 0 disables. Do not use it where single bad numbers get temporary statuses.
        breaker_failures: u32 = 0,
        /// Share of such failures within ten seconds and at least twenty answers that stops messages for `breaker_pause`; 0 disables.
        @share breaker_share: f64 = 0.0,
        /// Length of the stop. Then three messages are tried; one failure begins it again.
        breaker_pause: Duration = 30 * SECOND,
        /// Halve the rate on ESME_RTHROTTLED or frequent ESME_RMSGQFUL, and raise it again gradually.
        adaptive: bool = true,
        /// Bind to it.
        enabled: bool = true,
        /// Rewriting of addresses in messages from it, before routing.
        rewrite_in: Vec<RewriteRule> = Vec::new(),
        /// Rewriting of addresses in messages to it, at each attempt.
        rewrite_out: Vec<RewriteRule> = Vec::new(),
    }
}

// === impl OperatorConfig ===

impl OperatorConfig {
    /// Whether a program at `local.socket` is this operator.
    pub fn is_local(&self) -> bool {
        self.address == LOCAL
    }

    /// After this time a message counts as unanswered. What hands over MO messages answers at once: a deliver_sm waits
    /// less.
    pub fn response_timeout(&self) -> Duration {
        self.response_timeout.unwrap_or(match self.send_as {
            SendAs::DeliverSm => 5 * SECOND,
            SendAs::SubmitSm | SendAs::DataSm => 30 * SECOND,
        })
    }

    /// Most unanswered messages on one bind; a program gets one at a time.
    pub fn most_unanswered(&self) -> u32 {
        if self.is_local() { 1 } else { self.window }
    }
}

settings! {
    /// `[[route]]`: which messages go where.
    pub struct RouteConfig {
        /// Name in the API and in `smsc route`; without it, made from the conditions: `44`, `default`, `44:from=ACME:account=bulk`.
        @name name: Option<String> = None,
        /// First digits of the destination; empty is the default route. The longest prefix wins.
        prefix: String = String::new(),
        /// First characters of the source; the longest one wins.
        @text(MAX_DIGITS) source_prefix: Option<String> = None,
        /// Regular expression that the destination must match, too: `^4477[0-9]{8}$`. Needs a `name`. Such a route wins over all without an expression or `network`; among several, the longer prefix, then the longer source prefix, then an account, then the name that sorts first.
        @valid(|expression| check_expression(expression))
        matches: Option<String> = None,
        /// Regular expression that the source must match, too.
        @valid(|expression| check_expression(expression))
        source_matches: Option<String> = None,
        /// Only messages of this account.
        account: Option<String> = None,
        /// Network of the destination (`[resolver]`), such as `23415`. Wins over routes without a network.
        network: Option<String> = None,
        /// Targets in order of failover: operators, accounts, `gsm:NAME`, or `test:delivered`, `test:accepted`, `test:dropped`, `test:failed` and `test:unreachable`, which send nothing. A table shares by weight: `{ a = 70, b = 30 }`.
        @filled("is missing; write a list of targets")
        @required to: Vec<RouteStep> = Vec::new(),
        /// How a table in `to` shares messages.
        share: StepSharing = StepSharing::Weight,
        /// Match only messages from operators to an address that no account has; never back to their operator. Without a match they get `smpp.no_route_status`. Other routes match submitted messages only.
        mobile_originated: bool = false,
    }
}

// === impl Account ===

impl Account {
    /// The country whose national numbers it may write.
    pub fn country(&self) -> Option<Result<Country, NotACountry>> {
        self.country.as_deref().map(str::parse)
    }

    /// How it writes numbers over HTTP.
    pub fn numbers(&self) -> Numbers {
        let country = self.country().and_then(Result::ok);
        Numbers::new(country, self.number_check.into())
    }
}

// === impl RouteConfig ===

impl RouteConfig {
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

// === What keys may be ===

fn is_known_version(version: u8) -> bool {
    matches!(version, 0x33 | 0x34 | 0x50)
}

/// A host alone: neither a URL, nor a port, nor a pattern.
fn is_host(text: &str) -> bool {
    let is_name = || {
        !text.contains([':', '*'])
            && CallbackTarget::parse(&format!("https://{text}/"))
                .is_ok_and(|target| target.host().eq_ignore_ascii_case(text))
    };
    text.parse::<IpAddr>().is_ok() || is_name()
}

/// Whether a certificate can have this name.
fn server_name(name: &str) -> Result<(), String> {
    let read = ServerName::try_from(name).map(drop);
    read.map_err(|_| format!("{name:?} is neither a host name nor an IP address"))
}
