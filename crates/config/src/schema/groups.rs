//! In which groups a form shows the keys of a resource, and which keys name another resource.

use smsc_domain::settings::ResourceKind;

/// A title, a colon, and the keys below it.
type GroupLine = &'static str;

const NATS: GroupLine =
    "Connection: credentials_file user password_file token_file ca_file timeout";
const REWRITING: GroupLine = "Rewritten addresses: rewrite_in rewrite_out";

const NATS_SOURCE: &[GroupLine] = &[
    "Basics: name servers stream subject account enabled",
    "Commands: consumer operator mode receipt in_flight ack_wait nak_delay start dead_letters",
    NATS,
];

/// The groups of a kind; the first one is what everybody sets.
pub(super) fn groups(kind: ResourceKind) -> &'static [GroupLine] {
    match kind {
        ResourceKind::Account => ACCOUNT,
        ResourceKind::Operator => OPERATOR,
        ResourceKind::Route => &[
            "Basics: name prefix to share",
            "Only some messages: account source_prefix matches source_matches network mobile_originated",
        ],
        ResourceKind::List => &["Basics: name entries file"],
        ResourceKind::Limit => {
            &["Basics: name rate burst per account sender_prefix destination_prefix"]
        }
        ResourceKind::Policy => &[
            "Prices: prices currency",
            "Blocked for everybody: blocked_senders blocked_destinations",
            "Opt-out: opt_out_keywords opt_in_keywords opt_out_status",
            "Protection: mobile_originated_repeats limit_addresses",
        ],
        ResourceKind::MoRule => &[
            "Basics: name order",
            "Which messages: to from keywords operator account",
            "Deliver, or drop: deliver_to callback drop",
            "Answer: reply reply_account reply_from reply_limit reply_limit_per",
        ],
        ResourceKind::Gsm => GSM,
        ResourceKind::NumberRange => {
            &["Basics: name class prefixes min_digits max_digits to numbers"]
        }
        ResourceKind::EventSink => &[
            "Basics: name kind servers enabled",
            "What is published: events subject format message_id",
            NATS,
        ],
        ResourceKind::NatsSource => NATS_SOURCE,
    }
}

/// The keys whose text may have several lines.
pub(super) fn long_texts(kind: ResourceKind) -> &'static [&'static str] {
    match kind {
        ResourceKind::MoRule => &["reply"],
        _ => &[],
    }
}

/// Keys that hold names of other resources, with their kinds.
pub(super) fn references(kind: ResourceKind) -> &'static [(&'static str, &'static [ResourceKind])] {
    const ACCOUNTS: &[ResourceKind] = &[ResourceKind::Account];
    const OPERATORS: &[ResourceKind] = &[ResourceKind::Operator];
    const TARGETS: &[ResourceKind] = &[
        ResourceKind::Operator,
        ResourceKind::Account,
        ResourceKind::Gsm,
    ];
    match kind {
        ResourceKind::Route => &[("account", ACCOUNTS), ("to", TARGETS)],
        ResourceKind::Limit | ResourceKind::Gsm => &[("account", ACCOUNTS)],
        ResourceKind::MoRule => &[
            ("operator", OPERATORS),
            ("account", ACCOUNTS),
            ("deliver_to", ACCOUNTS),
            ("reply_account", ACCOUNTS),
        ],
        ResourceKind::NumberRange => &[("to", TARGETS)],
        ResourceKind::NatsSource => &[("account", ACCOUNTS), ("operator", OPERATORS)],
        ResourceKind::Account
        | ResourceKind::Operator
        | ResourceKind::List
        | ResourceKind::Policy
        | ResourceKind::EventSink => &[],
    }
}

const ACCOUNT: &[GroupLine] = &[
    "Basics: system_id password enabled rate max_binds window",
    "Binds: allow certificates system_type on_full interface_version strict password_file password_next password_next_file outbind outbind_password",
    "Limits and prices: burst max_waiting quota_per_day weight priority_max prepaid prices currency duplicate_window duplicates",
    "Senders and destinations: senders destinations blocked_senders blocked_destinations country number_check lists two_texts reference_tlv mobile_originated",
    "What it gets: addresses deliver_by deliver_as registered_delivery receipt_form receipt_dates message_id message_id_length suspect_attempts suspect_pause",
    "Callbacks: callback_url callback_secrets callback_format callback_receipt_url callback_states callback_hosts callbacks callback_retry_for callback_rate callback_concurrency callback_timeout callback_allow_private callback_ca_file",
    "Texts: alphabet long_messages unrepresentable",
    REWRITING,
    "Chinese carriers: carrier_secret carrier_secret_file carrier_secret_next carrier_secret_next_file carrier",
    "Look-ups and traces: resolve trace_ratio",
];

const OPERATOR: &[GroupLine] = &[
    "Basics: id protocol address system_id password enabled bind binds window rate",
    "Connection: system_type address_range interface_version send_as response_timeout bind_timeout enquire_link_interval enquire_link_timeout reconnect password_file managed",
    "TLS: tls tls_name tls_ca_file tls_cert tls_key",
    "Rate and order: burst rate_window adaptive strict_order",
    "Texts: alphabet long_messages unrepresentable languages",
    "Receipts: receipts message_id part_receipts receipt_states receipts_by_text correlation_ttl",
    "Failures: outcome_unknown suspect_attempts suspect_pause statuses retry failover_after failback_after breaker_failures breaker_share breaker_pause",
    "Cost: cost costs",
    REWRITING,
    "Chinese carriers: carrier",
];

const GSM: &[GroupLine] = &[
    "Basics: name protocol address smsc_address account enabled rate window",
    "MAP: map",
    "Connection: ipa_name prove_name request_timeout connect_timeout ping_interval ping_timeout reconnect",
    "Handsets: run burst long_messages unrepresentable languages time_zone",
    "Failures: outcome_unknown causes retry breaker_failures breaker_share breaker_pause",
    REWRITING,
];
