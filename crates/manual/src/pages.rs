//! Which pages there are, in the order of the list of contents.

/// File name and Markdown of each, by part of the manual.
pub(crate) const PARTS: &[(&str, &[(&str, &str)])] = &[
    (
        "Run it",
        &[
            page!("operations.md"),
            page!("install.md"),
            page!("first-bind.md"),
            page!("day-two.md"),
            page!("console.md"),
            page!("admin-api.md"),
            page!("sign-in.md"),
            page!("connections.md"),
            page!("messages.md"),
            page!("limits.md"),
            page!("cluster.md"),
            page!("upgrade.md"),
            page!("security.md"),
            page!("runbooks.md"),
            page!("sizing.md"),
            page!("coming-from.md"),
            page!("glossary.md"),
        ],
    ),
    (
        "Send and receive",
        &[
            page!("http-api.md"),
            page!("problems.md"),
            page!("callbacks.md"),
            page!("mo-rules.md"),
            page!("local.md"),
            page!("xml-rpc.md"),
            page!("compatibility.md"),
            page!("smpp-conformance.md"),
        ],
    ),
    (
        "Networks and platforms",
        &[
            page!("gsm.md"),
            page!("carriers.md"),
            page!("smpp-connector.md"),
            page!("events.md"),
            page!("nats.md"),
            page!("usage.md"),
            page!("archive.md"),
            page!("redis-platform.md"),
        ],
    ),
    (
        "Reference",
        &[
            page!("configuration.md"),
            page!("cli.md"),
            page!("metrics.md"),
        ],
    ),
    (
        "How it is made",
        &[
            page!("architecture.md"),
            page!("performance.md"),
            page!("journal.md"),
            page!("faults.md"),
        ],
    ),
];
