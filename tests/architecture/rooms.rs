//! Which rooms of src/actors may import which: a room imports only lower ones.

use std::collections::BTreeSet;

/// The rooms from the lowest to the highest, each with those that it may import.
const ROOMS: &[(&str, &[&str])] = &[
    ("runtime", &[]),
    ("context", &["runtime"]),
    ("billing", &["context"]),
    ("routing", &["runtime", "context"]),
    ("session", &["runtime", "context"]),
    ("receipts", &["runtime", "context", "routing"]),
    ("queue", &["runtime", "context", "receipts"]),
    (
        "multipart",
        &["runtime", "context", "routing", "receipts", "queue"],
    ),
    ("orders", &["context"]),
    (
        "callbacks",
        &[
            "runtime", "context", "routing", "session", "receipts", "orders",
        ],
    ),
    (
        "ingress",
        &[
            "runtime",
            "context",
            "billing",
            "routing",
            "session",
            "receipts",
            "queue",
            "multipart",
            "orders",
        ],
    ),
    (
        "egress",
        &[
            "runtime", "context", "routing", "session", "receipts", "ingress",
        ],
    ),
    ("local", &["runtime", "context", "session", "ingress"]),
    ("cluster", &["context", "billing", "queue"]),
    (
        "control",
        &[
            "runtime",
            "context",
            "billing",
            "routing",
            "session",
            "receipts",
            "queue",
            "multipart",
            "orders",
            "callbacks",
            "ingress",
            "egress",
        ],
    ),
];

#[test]
fn rooms_import_only_lower_ones() {
    let mut wrong = BTreeSet::new();
    for source in super::sources() {
        let Some(path) = source.path.strip_prefix("src/actors/") else {
            continue;
        };
        let room = path.split('/').next().unwrap().trim_end_matches(".rs");
        if super::is_test(path) || room == "test_support" {
            continue;
        }
        let allowed = ROOMS.iter().find(|(name, _)| *name == room);
        let code = source.code.split("#[cfg(test)]\nmod tests").next().unwrap();
        for (at, prefix) in code.match_indices("crate::actors::") {
            let named = super::words(&code[at + prefix.len()..]).next().unwrap();
            let is_allowed = allowed.is_some_and(|(_, lower)| lower.contains(&named));
            if named != room && !is_allowed {
                wrong.insert(format!("{}: {room} must not import {named}", source.path));
            }
        }
    }
    let wrong: Vec<String> = wrong.into_iter().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rooms_are_listed_from_below() {
    for (place, (room, lower)) in ROOMS.iter().enumerate() {
        for named in *lower {
            let at = ROOMS.iter().position(|(name, _)| name == named);
            assert!(at.is_some_and(|at| at < place), "{room} lists {named}");
        }
    }
}
