//! Which pages there are, in the order of the list of contents. Those of `docs/developers/` are not among them.

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
            page!("cluster.md"),
            page!("security.md"),
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
            page!("xml-rpc.md"),
            page!("local.md"),
            page!("gsm.md"),
            page!("carriers.md"),
            page!("events.md"),
            page!("coming-from.md"),
        ],
    ),
    (
        "Reference",
        &[
            page!("configuration.md"),
            page!("cli.md"),
            page!("metrics.md"),
            page!("problems.md"),
        ],
    ),
    ("Explanation", &[page!("glossary.md")]),
];

/// Pages of earlier releases, and the page with the section that has their content: links to them go on.
pub(crate) const MOVED: &[(&str, &str)] = &[
    ("admin-api.md", "console.md#the-admin-api"),
    ("archive.md", "events.md#archive"),
    (
        "compatibility.md",
        "coming-from.md#http-interfaces-of-kannel-and-jasmin",
    ),
    ("limits.md", "messages.md#limits-and-credit"),
    ("nats.md", "events.md#commands-on-nats"),
    ("operations.md", "getting-started.md#where-to-read-on"),
    ("redis-platform.md", "coming-from.md#the-redis-sms-platform"),
    ("sign-in.md", "security.md#sign-in-by-openid-connect"),
    ("sizing.md", "install.md#sizing"),
    ("smpp-connector.md", "coming-from.md#smpp-connector"),
    (
        "smpp-conformance.md",
        "connections.md#what-an-operators-answer-means",
    ),
    ("upgrade.md", "install.md#upgrade"),
    ("usage.md", "events.md#call-detail-records"),
];
