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
use super::section::{choice, section};
use super::server::{LimitMode, Retry};
use super::sharing::{Costs, StepSharing};
use super::value::{DistributionLists, Hex};
use super::words::Words;
use smsc_domain::callback::target::CallbackTarget;
use smsc_domain::certificate::WantedCertificate;
use smsc_domain::route::{Route as DomainRoute, RoutingStep, check_expression};
use smsc_numbers::{Country, NotACountry, Numbers};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// A longer one, and what people send twice on purpose is taken for a slip of the network.
const MAX_DUPLICATE_WINDOW: Duration = Duration::from_secs(600);
/// An answer that takes longer holds a place for too long.
const MAX_CALLBACK_TIMEOUT: Duration = Duration::from_secs(60);
const UNKNOWN_VERSION: &str = "must be 0x33, 0x34 or 0x50";

/// One step of a route: a target, or targets that share by weight.
pub type RouteStep = RoutingStep<String>;

choice! {
    /// What happens to a bind beyond `max_binds`.
    pub enum WhenFull {
        /// It is refused with ESME_RALYBND.
        Refuse = "refuse",
        /// Silent binds get an enquire_link; the one that has been silent for longest is replaced if
        /// it does not answer in time. Binds that answer stay, and then the new one is refused.
        Replace = "replace",
    }
}

section! {
    /// `[[account]]`: an ESME that may bind.
    pub struct Account {
        /// The system_id it binds with.
        @required @filled("is missing") @text(MAX_SYSTEM_ID) system_id: String = String::new(),
        /// Its password: plain, or an argon2id hash (`$argon2id$…`).
        @required password: SecretString = SecretString::default(),
        /// File with the password, instead of `password`.
        password_file: Option<PathBuf> = None,
        /// A second password, as good as the first, while its owner changes from one to the other: plain, or an argon2id hash; empty for none.
        password_next: SecretString = SecretString::default(),
        /// File with the second password, instead of `password_next`.
        password_next_file: Option<PathBuf> = None,
        /// The shared secret it logs in with at a listener with `protocol = "cmpp"`, which cannot check a hash; without it, it cannot log in there. See docs/carriers.md.
        carrier_secret: SecretString = SecretString::default(),
        /// File with the shared secret, instead of `carrier_secret`.
        carrier_secret_file: Option<PathBuf> = None,
        /// A second shared secret, as `password_next` is a second password.
        carrier_secret_next: SecretString = SecretString::default(),
        /// File with the second shared secret, instead of `carrier_secret_next`.
        carrier_secret_next_file: Option<PathBuf> = None,
        /// What operators over CMPP, SMGP or SGIP are told with its messages.
        carrier: Option<AccountCarrier> = None,
        /// The system_type it must bind with; any without it.
        @text(MAX_SYSTEM_TYPE) system_type: Option<String> = None,
        /// Binds at once, over all nodes and bind types.
        @at_least(1) max_binds: u32 = 10,
        /// What happens to a bind beyond `max_binds`.
        on_full: WhenFull = WhenFull::Refuse,
        /// Most unanswered deliver_sm that we send on one bind.
        @between(1, MAX_WINDOW) window: u32 = 10,
        /// IP addresses and CIDR blocks it may bind from; any if empty.
        @network allow: Vec<String> = Vec::new(),
        /// Client certificates it may bind with, of those that a listener with `tls_client_ca` accepts: a name in the certificate (the common name, or a DNS name or mail address of subjectAltName) or its fingerprint `sha256:…`; if empty, any certificate or none.
        @must(|text| WantedCertificate::parse(text).is_some(), "must be a name, or sha256: and the 64 hexadecimal digits of a fingerprint")
        certificates: Vec<String> = Vec::new(),
        /// Messages per second that it may submit; above this, the answer is ESME_RTHROTTLED.
        @rate rate: Option<f64> = None,
        /// Messages that it may submit at once; without it, one second's worth.
        @at_least(1) burst: Option<u32> = None,
        /// Most unfinished messages of this account; above this, the answer is ESME_RMSGQFUL. With many nodes it may be exceeded by what they accept within two `cluster.heartbeat`s.
        @at_least(1) max_waiting: Option<u64> = None,
        /// Its share of queues that it shares with other accounts: this many of its messages go in each round, 1 to 100. See `queue.low_share` for priorities.
        @must(|weight| (1..=100).contains(weight), "must be from 1 to 100")
        weight: u32 = 1,
        /// Most segments (short messages) that it may submit per day; above this, the answer is `smpp.quota_status`. Days begin at midnight UTC.
        @must(|quota| *quota <= i64::MAX as u64, "is too large; remove the key for no quota")
        @at_least(1) quota_per_day: Option<u64> = None,
        /// It pays in advance: a message that its balance does not cover is answered with `smpp.balance_status`.
        prepaid: bool = false,
        /// Credits per segment by prefix of the destination, such as `{ default = 1, 4477 = 3 }`; of equally long prefixes, these win over those of `policy.prices`.
        prices: PriceList = PriceList::default(),
        /// What a credit is, in call detail records and usage, such as `EUR`; without it, `policy.currency`.
        @must(|currency| is_currency(currency), NO_CURRENCY)
        currency: Option<String> = None,
        /// A submission with the addresses, reference and content of one that was accepted within this time is a duplicate, and not stored; at most `10m`, "0s" disables the check.
        @must(|window| *window <= MAX_DUPLICATE_WINDOW, "must be at most 10m; \"0s\" never looks for duplicates")
        duplicate_window: Duration = Duration::ZERO,
        /// How a duplicate is answered.
        duplicates: OnDuplicate = OnDuplicate::Refuse,
        /// Destination addresses whose mobile-originated messages it gets; `4477*` is a prefix.
        addresses: Vec<String> = Vec::new(),
        /// Highest priority_flag it may use; higher ones are lowered to it.
        @between(0, 3) priority_max: u8 = 3,
        /// registered_delivery for messages that request none (1: receipt of the final state).
        @between(0, 31) registered_delivery: Option<u8> = None,
        /// Look up the network of its destinations, even if no route needs it; the network is in the message's history and in its CDR.
        resolve: bool = false,
        /// Meaning of data_coding 0, in messages from it and to it; without it, that of its listener, else `gsm`.
        alphabet: Option<DefaultAlphabet> = None,
        /// The form in which long messages are sent to it.
        long_messages: LongMessages = LongMessages::AsIs,
        /// What happens to a character that its `alphabet` does not have.
        unrepresentable: UnrepresentableRule = UnrepresentableRule::Ucs2,
        /// Share of its messages that are traced, instead of `telemetry.trace_ratio`.
        @share trace_ratio: Option<f64> = None,
        /// Distribution lists for its submit_multi, by name: `{ team = ["447700900001", "447700900002"] }`.
        lists: DistributionLists = DistributionLists::default(),
        /// What its source addresses may be: `ACME`, a prefix `4477*`, a regular expression `/^[A-Z]{3,11}$/`, or `list:NAME` for a `[[list]]`; any if empty. For others, the answer is ESME_RINVSRCADR.
        senders: Vec<String> = Vec::new(),
        /// Allowed destinations, notation as `senders`; any if empty. For others, the answer is ESME_RINVDSTADR.
        destinations: Vec<String> = Vec::new(),
        /// Forbidden source addresses, notation as `senders`; they take precedence over `senders`.
        blocked_senders: Vec<String> = Vec::new(),
        /// Forbidden destinations, notation as `senders`; they take precedence over `destinations`.
        blocked_destinations: Vec<String> = Vec::new(),
        /// Which operation carries MO and receipts to it.
        deliver_as: DeliverAs = DeliverAs::DeliverSm,
        /// On which way MO and receipts reach it. A change ends its binds that receive; with `callback` they no longer get any of these. With `both` they get everything, and callbacks are made of it as well.
        deliver_by: DeliverBy = DeliverBy::Smpp,
        /// Where callbacks go (docs/callbacks.md): `https://…`; `http://…` only for a host of `callback_allow_private`. Redirects are not followed.
        callback_url: Option<String> = None,
        /// What callbacks are signed with (Standard Webhooks): `whsec_` and 24 to 64 octets in base64. Two, separated by a blank, both sign, so that receivers can change from one to the other. A new one: `echo whsec_$(openssl rand -base64 32)`.
        callback_secrets: SecretString = SecretString::default(),
        /// How long a callback is tried again, counted from the final state of its message, or from the arrival of its MO. After this, and at least one attempt of its own, a receipt is given up, and an MO message ends UNDELIVERABLE.
        callback_retry_for: Duration = 24 * HOUR,
        /// Callbacks per second; without it, as many as its server takes.
        @must(|rate| rate.is_finite() && *rate > 0.0, "must be positive")
        callback_rate: Option<f64> = None,
        /// Callbacks at once to one host and port; a URL that fails gets fewer.
        @must(|most| (1..=256).contains(most), "must be from 1 to 256")
        callback_concurrency: u32 = 8,
        /// A callback that is not answered within this time has failed.
        @must(|timeout| !timeout.is_zero() && *timeout <= MAX_CALLBACK_TIMEOUT, "must be positive, and at most 1m")
        callback_timeout: Duration = 10 * SECOND,
        /// Hosts that callbacks may be sent to although their addresses are not public: host names, IP addresses and CIDR blocks.
        callback_allow_private: Vec<String> = Vec::new(),
        /// File with the authorities (PEM) that are trusted for callbacks; without it, those that the machine trusts.
        callback_ca_file: Option<PathBuf> = None,
        /// In which form its callbacks are made. Messages with a callback of their own have the form of the entrance that they came by.
        callback_format: CallbackFormat = CallbackFormat::Standard,
        /// Where its receipts go, if not to `callback_url`.
        callback_receipt_url: Option<String> = None,
        /// States before the final one that callbacks report, of its messages that ask for a receipt: `["queued", "sent", "retrying"]`, or some of them (docs/callbacks.md). A message over HTTP may choose its own.
        callback_states: Vec<String> = Vec::new(),
        /// Hosts whose URLs a message over HTTP may name as its own `callback`, or as `dlr-url` of Kannel or Jasmin: `hooks.example.com`, an IP address.
        @must(|host| is_host(host), "must be a host name or an IP address, without `https://`, port and path")
        callback_hosts: Vec<String> = Vec::new(),
        /// Callbacks that a message over HTTP may name instead of a URL: `{ billing = "https://hooks.example.com/billing" }`.
        callbacks: Words = Words::default(),
        /// The country (ISO 3166, such as `GB`) whose national numbers it may write as recipients of messages over HTTP; without it, they are in international form. See docs/http-api.md, "Numbers".
        @valid(|code| code.parse::<Country>().map(drop).map_err(|error| error.to_string()))
        country: Option<String> = None,
        /// Which recipients of its messages over HTTP are refused as wrong numbers.
        number_check: NumberCheck = NumberCheck::Any,
        /// A receipt or MO message on which its client ends the session so often, alone and while it takes others, is given up; 0: it is tried until it expires. See docs/messages.md, "What ends sessions".
        suspect_attempts: u32 = 3,
        /// How long such a receipt or message waits after the first time; three times as long each time, at most 30 minutes.
        @positive suspect_pause: Duration = 5 * SECOND,
        /// Host and port that the SMSC connects to with outbind when something waits for it and no receiver is bound.
        outbind: Option<String> = None,
        /// The password of the outbind; `smpp.system_id` is its system_id.
        outbind_password: SecretString = SecretString::default(),
        /// How message_id is written to it: in answers and in receipts.
        message_id: ShownIdForm = ShownIdForm::Decimal,
        /// Digits of a message_id, with leading zeros; without it, no zeros are added. For binds of 3.3 it is always eight.
        message_id_length: Option<u32> = None,
        /// Content of a receipt to it.
        receipt_form: ReceiptForm = ReceiptForm::TextAndTlvs,
        /// Precision of the dates in the text of a receipt.
        receipt_dates: ReceiptDates = ReceiptDates::Minutes,
        /// The version that it uses, whatever interface_version its binds have: 0x33, 0x34 or 0x50. Without it, that of its binds; 0x00 to 0x33 is 3.3, which has no TLVs and short message ids.
        @must(|version| is_known_version(u8::from(*version)), UNKNOWN_VERSION)
        interface_version: Option<Hex> = None,
        /// Refuse what deviates from the standard: octets after the last field, an incomplete TLV or one of the wrong length, too long or unfinished C-strings, octets beyond ASCII in them.
        strict: bool = false,
        /// The tag of a TLV in which it names its messages, such as 0x1403; the name is `reference` of the message, as over HTTP. What is no text of up to 100 characters is passed over.
        @must(|tag| u16::try_from(*tag).is_ok(), "must be between 0 and 0xFFFF")
        reference_tlv: Option<u32> = None,
        /// What happens to a submission with several texts: short_message and message_payload, or two of message_payload.
        two_texts: TwoTexts = TwoTexts::Refuse,
        /// Whether it is another message centre: what it submits by deliver_sm to an address of another account becomes a mobile-originated message there, keywords of subscribers (STOP, START) in it count, and it may bring receipts. For others the answer is ESME_RINVDSTADR.
        mobile_originated: bool = false,
        /// Whether it may bind.
        enabled: bool = true,
        /// How addresses in messages from it are rewritten, before routing and all other rules. Receipts and answers to it have the addresses that it wrote.
        rewrite_in: Vec<RewriteRule> = Vec::new(),
        /// How addresses in messages to it are rewritten. Receipts are not rewritten: they carry the addresses that it submitted.
        rewrite_out: Vec<RewriteRule> = Vec::new(),
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
    /// How we talk to an operator.
    pub enum OperatorProtocol {
        /// SMPP 3.4 or 5.0.
        Smpp = "smpp",
        /// CMPP 2.0 or 3.0 of China Mobile (docs/carriers.md).
        Cmpp = "cmpp",
        /// SMGP 3.0 of China Telecom.
        Smgp = "smgp",
        /// SGIP 1.2 or 1.3 of China Unicom, which needs `sgip.listen`, too.
        Sgip = "sgip",
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
    /// What happens to a message whose submit_sm was never answered.
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
    pub struct OperatorConfig {
        /// Its name in routes, metrics, CDRs and the API.
        @required @name id: String = String::new(),
        /// Whether its address, credentials, kind of bind and rate are fetched before each bind from `compat.smpp_connector.management_url`, where it has the same id. Then `address`, `system_id` and `password` are not set here, and of both rates the lower one counts.
        managed: bool = false,
        /// Protocol of the connection.
        protocol: OperatorProtocol = OperatorProtocol::Smpp,
        /// What an operator over a protocol of Chinese carriers is told with each message.
        carrier: Option<Carrier> = None,
        /// Host and port; or `local` for a program at `local.socket` with the role `operator:ID`, which gets one message at a time.
        @required address: String = String::new(),
        /// Whether to connect with TLS. Its certificate must be issued under a trusted authority.
        tls: bool = false,
        /// The name that its certificate must have, also sent as SNI; without it, the host of `address`.
        @valid(|name| server_name(name))
        tls_name: Option<String> = None,
        /// File with the authorities (PEM) that are trusted; without it, those that the machine trusts. Read at each connect.
        tls_ca_file: Option<PathBuf> = None,
        /// File with the certificate chain (PEM) that we show, for an operator that asks for one. Read at each connect.
        tls_cert: Option<PathBuf> = None,
        /// File with the key of the certificate (PEM).
        tls_key: Option<PathBuf> = None,
        /// The system_id we bind with; not needed for a program at the local socket.
        @required @text(MAX_SYSTEM_ID) system_id: String = String::new(),
        /// The password we bind with, at most 8 octets by the standard.
        password: SecretString = SecretString::default(),
        /// File with the password, instead of `password`.
        password_file: Option<PathBuf> = None,
        /// The system_type we bind with.
        @text(MAX_SYSTEM_TYPE) system_type: String = String::new(),
        /// How we bind.
        bind: BindKind = BindKind::Transceiver,
        /// Number of binds; a pair counts as one.
        @between(1, 1_000) binds: u32 = 1,
        /// Most unanswered messages on one bind.
        @between(1, MAX_WINDOW) window: u32 = 10,
        /// Messages per second over all binds; above the limit messages wait.
        @rate rate: Option<f64> = None,
        /// Messages at once; without it, one second's worth. Not used where nodes share the rate.
        @at_least(1) burst: Option<u32> = None,
        /// How `rate` is counted where nodes share it through Redis: `"strict"` in any second, `"fixed"` in each second of the clock, for an operator that counts so; without it, `redis.limit` says it.
        rate_window: Option<LimitMode> = None,
        /// One message at a time, in the order of acceptance, whoever sent them and whatever their priority is: a message that is refused temporarily holds all others until it is tried again, and goes to no other target of its route. Of several nodes each keeps the order of the messages it has, so use one bind: then one node has them all.
        strict_order: bool = false,
        /// Which operation carries a message.
        send_as: SendAs = SendAs::SubmitSm,
        /// When we ask for receipts.
        receipts: ReceiptRequest = ReceiptRequest::WhenAsked,
        /// Meaning of data_coding 0, in messages to it and from it.
        alphabet: DefaultAlphabet = DefaultAlphabet::Gsm,
        /// The form in which long messages are sent to it.
        long_messages: LongMessages = LongMessages::AsIs,
        /// How the receipts of the parts are combined into the one receipt of a long message.
        part_receipts: PartReceipts = PartReceipts::All,
        /// What happens to a character that its `alphabet` does not have.
        unrepresentable: UnrepresentableRule = UnrepresentableRule::Ucs2,
        /// National language tables (3GPP TS 23.038) that may be used for a text in another alphabet, in preference to UCS-2: `turkish`, `hindi`, ….
        @valid(|name| language(name))
        languages: Vec<String> = Vec::new(),
        /// How its message ids are compared.
        message_id: MessageIdForm = MessageIdForm::Auto,
        /// What happens to a message whose answer never came.
        outcome_unknown: OutcomePolicy = OutcomePolicy::Resend,
        /// A message on which it ends the session so often, alone and while it takes others, ends UNDELIVERABLE; 0: it is tried until it expires. See docs/messages.md, "What ends sessions".
        suspect_attempts: u32 = 3,
        /// How long such a message waits after the first time; three times as long each time, at most 30 minutes.
        @positive suspect_pause: Duration = 5 * SECOND,
        /// How long to wait for its receipts, instead of `correlation.ttl`.
        @positive correlation_ttl: Option<Duration> = None,
        /// A message counts as unanswered after this time; without it, after 30 s, and after 5 s with `send_as = "deliver_sm"`.
        @positive response_timeout: Option<Duration> = None,
        /// A bind that is not answered within this time has failed.
        @positive bind_timeout: Duration = 10 * SECOND,
        /// An enquire_link is sent on a bind that was silent for this time; "0s" sends none.
        enquire_link_interval: Duration = 30 * SECOND,
        /// A bind that does not answer enquire_link within this time is closed.
        @positive enquire_link_timeout: Duration = 10 * SECOND,
        /// Pauses before the first, second, … new attempt to bind, with jitter; the last one repeats.
        @pauses @positive reconnect: Vec<Duration> = [5, 10, 20, 40, 60].map(Duration::from_secs).to_vec(),
        /// The address_range we bind with: which numbers' messages we want, often a regular expression.
        @text(40) address_range: String = String::new(),
        /// The interface_version we bind with: 0x33, 0x34 or 0x50 (SMPP 3.3, 3.4, 5.0).
        @must(|version| is_known_version(*version), UNKNOWN_VERSION)
        interface_version: u8 as Hex = 0x34,
        /// Its own retry schedule, with the keys of `[retry]`, instead of that one.
        retry: Option<Retry> = None,
        /// How its answers are classified, overriding the defaults and `retry.status`: statuses by name, number or range with `temporary`, `permanent` or `throttled`: `{ ESME_RX_T_APPN = "permanent", "0x0410-0x041F" = "temporary" }`. The narrowest range counts.
        statuses: Words = Words::default(),
        /// Meaning of words and error codes of its receipts that differs from the usual one: `{ ACCEPTD = "ENROUTE", "err:0A1F" = "EXPIRED" }`. The key is the whole `stat` or, after `err:`, the whole error code, in any case; the error code takes precedence. ENROUTE is not final.
        receipt_states: Words = Words::default(),
        /// Whether a message whose text reads like a receipt (`id:` and a known `stat:`) is one, even if its esm_class does not say so. For operators that do not mark their receipts; note that a subscriber could write such a text, too.
        receipts_by_text: bool = false,
        /// Cost of a message there, in any unit: for routes with `share = "least_cost"`.
        @must(|cost| cost.is_finite() && *cost >= 0.0, "must be a number from 0 up")
        cost: Option<f64> = None,
        /// Cost of a message there by prefix of the destination, instead of `cost`; the longest one wins: `{ "44" = 3, "4477" = 2.5 }`.
        costs: Costs = Costs::default(),
        /// How long it may be without a bind before new messages use another target of their route.
        failover_after: Duration = Duration::ZERO,
        /// How long it must be bound without interruption, after an outage, before new messages use it again.
        failback_after: Duration = Duration::ZERO,
        /// After this many failures in a row (no answer in time, or a temporary status) it gets no messages for `breaker_pause`; 0 disables this. Off by default, because some operators refuse single numbers this way: then a list of bad numbers would stop all others.
        breaker_failures: u32 = 0,
        /// When this share of the answers of ten seconds are failures as `breaker_failures` counts them, and there are at least twenty answers, it gets no messages for `breaker_pause`: 0.5 is half of them; 0 disables this.
        @share breaker_share: f64 = 0.0,
        /// How long it gets no messages. Then three messages are tried; if one of them fails, the pause begins again.
        breaker_pause: Duration = 30 * SECOND,
        /// Whether to reduce the rate while it answers ESME_RTHROTTLED, or ESME_RMSGQFUL to many messages: by half at once, then gradually up again.
        adaptive: bool = true,
        /// Whether we bind to it.
        enabled: bool = true,
        /// How addresses in messages from it are rewritten, before they are routed.
        rewrite_in: Vec<RewriteRule> = Vec::new(),
        /// How addresses in messages to it are rewritten, each time a message is sent.
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

section! {
    /// `[[route]]`: which messages go where.
    pub struct RouteConfig {
        /// Its name in the API and in `smsc route`; without it, it is named by its conditions: `44`, `default`, `44:from=ACME:account=bulk`.
        @name name: Option<String> = None,
        /// Destinations that start with these digits; empty is the default route. The longest one wins.
        prefix: String = String::new(),
        /// Only sources that start with this; the longest one wins.
        @text(MAX_DIGITS) source_prefix: Option<String> = None,
        /// Only destinations that match this regular expression, in addition to the prefix: `^4477[0-9]{8}$`. A route with an expression wins over those without, whatever their prefix, unless they have a `network`; it needs a `name`. Of two such routes the longer prefix wins, then the longer source prefix, then the one with an account, then the name that sorts first.
        @valid(|expression| check_expression(expression))
        matches: Option<String> = None,
        /// Only sources that match this regular expression, in addition to the source prefix.
        @valid(|expression| check_expression(expression))
        source_matches: Option<String> = None,
        /// Only messages of this account.
        account: Option<String> = None,
        /// Only destinations that belong to this network (`[resolver]`), such as `23415`. Such a route wins over those without a network, whatever their prefix.
        network: Option<String> = None,
        /// Targets in order of failover: operators, accounts, `gsm:NAME` for the handsets of a `[[gsm]]`, or one of `test:delivered`, `test:accepted`, `test:dropped`, `test:failed` and `test:unreachable`, which send nothing: docs/messages.md, "Routes that send nothing". A table shares the traffic by weight: `{ a = 70, b = 30 }`.
        @filled("is missing; write a list of targets")
        @required to: Vec<RouteStep> = Vec::new(),
        /// Which target of a table in `to` gets a message.
        share: StepSharing = StepSharing::Weight,
        /// Takes only messages from operators to an address that no account has: they are sent on like submitted messages, never to the operator that they came from. Without such a route these messages are refused with `smpp.no_route_status`. Routes without this take messages that accounts submit.
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
