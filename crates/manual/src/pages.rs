//! Which pages there are, in the order of the list of contents.

/// The part whose pages the search leaves out.
pub(crate) const FOR_DEVELOPERS: &str = "For developers";

/// File name and Markdown of each, by part of the manual.
pub(crate) const PARTS: &[(&str, &[(&str, &str)])] = &[
    (
        "Begin",
        &[page!("getting-started.md"), page!("first-bind.md")],
    ),
    (
        "Guides: run the SMSC",
        &[
            page!("install.md"),
            page!("day-two.md"),
            page!("runbooks.md"),
            page!("console.md"),
            page!("sign-in.md"),
            page!("cluster.md"),
            page!("upgrade.md"),
            page!("usage.md"),
            page!("archive.md"),
        ],
    ),
    (
        "Guides: connect customers and networks",
        &[
            page!("connections.md"),
            page!("messages.md"),
            page!("mo-rules.md"),
            page!("http-api.md"),
            page!("callbacks.md"),
            page!("local.md"),
            page!("gsm.md"),
            page!("carriers.md"),
            page!("events.md"),
            page!("nats.md"),
        ],
    ),
    (
        "Guides: replace another system",
        &[
            page!("coming-from.md"),
            page!("compatibility.md"),
            page!("xml-rpc.md"),
            page!("smpp-connector.md"),
            page!("redis-platform.md"),
        ],
    ),
    (
        "Reference",
        &[
            page!("configuration.md"),
            page!("cli.md"),
            page!("metrics.md"),
            page!("admin-api.md"),
            page!("problems.md"),
            page!("smpp-conformance.md"),
        ],
    ),
    ("Explanation", &[page!("security.md"), page!("glossary.md")]),
    (
        FOR_DEVELOPERS,
        &[
            page!("architecture.md"),
            page!("performance.md"),
            page!("faults.md"),
        ],
    ),
];
