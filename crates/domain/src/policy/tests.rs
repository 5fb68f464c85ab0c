//! Entries, sets and verdicts by tables; sets also against the naive scan.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;

fn set(entries: &[&str]) -> AddressSet {
    let entries = entries
        .iter()
        .map(|text| AddressEntry::parse(text).unwrap());
    AddressSet::build(entries).unwrap()
}

fn sets(entries: &[&str]) -> Vec<Arc<AddressSet>> {
    match entries {
        [] => Vec::new(),
        entries => vec![Arc::new(set(entries))],
    }
}

#[test]
fn entries_are_read() {
    let octets = |text: &str| text.as_bytes().into();
    for (text, entry) in [
        ("ACME", AddressEntry::Exact(octets("ACME"))),
        (
            " +447700900001 ",
            AddressEntry::Exact(octets("447700900001")),
        ),
        ("+4477*", AddressEntry::Prefix(octets("4477"))),
        ("*", AddressEntry::Prefix(octets(""))),
        ("My Shop", AddressEntry::Exact(octets("My Shop"))),
        ("/^[A-Z]+$/", AddressEntry::Pattern("^[A-Z]+$".to_owned())),
        ("/a\\/b/", AddressEntry::Pattern("a\\/b".to_owned())),
        ("list:brands", AddressEntry::List("brands".to_owned())),
    ] {
        assert_eq!(AddressEntry::parse(text), Ok(entry), "{text}");
    }
    for (text, said) in [
        ("", "is empty"),
        ("+", "is empty"),
        ("44*77", "not at its end"),
        ("44**", "not at its end"),
        ("/", "between slashes"),
        ("//", "between slashes"),
        ("/abc", "between slashes"),
        ("list:", "names no list"),
    ] {
        let error = AddressEntry::parse(text).unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
    let broken = AddressEntry::parse("/[/").unwrap();
    let error = AddressSet::build([broken]).unwrap_err().to_string();
    assert!(error.contains("unclosed character class"), "{error}");
}

#[test]
fn a_set_has_what_its_entries_say() {
    let set = set(&["ACME", "4477*", "447*", "/^[a-z]{3}$/", "/(?i)^bank/", "1*"]);
    for (address, inside) in [
        ("ACME", true),
        ("acme", false),
        ("ACMEX", false),
        ("447700900001", true),
        ("447", true),
        ("44", false),
        ("448", false),
        ("abc", true),
        ("abcd", false),
        ("BANK of X", true),
        ("", false),
        ("1", true),
    ] {
        assert_eq!(set.contains(address.as_bytes()), inside, "{address:?}");
    }
    assert!(!set.contains(b"\xff\x00"), "octets that are no text");
    assert_eq!(set.len(), 5, "4477* is in 447*");
    let everybody = sets(&["*"]);
    assert!(everybody[0].contains(b"") && everybody[0].contains(b"x"));
}

#[test]
fn the_verdict() {
    let policy = Policy {
        senders: sets(&["ACME*"]),
        destinations: sets(&["44*"]),
        blocked_senders: sets(&["ACMEX"]),
        blocked_destinations: sets(&["4499*"]),
    };
    for (source, destination, verdict) in [
        ("ACME", "447700900001", Ok(())),
        ("ACME", "+447700900001", Ok(())),
        ("ACMEX", "447700900001", Err(PolicyRefusal::SenderBlocked)),
        (
            "OTHER",
            "447700900001",
            Err(PolicyRefusal::SenderNotAllowed),
        ),
        ("", "447700900001", Err(PolicyRefusal::SenderNotAllowed)),
        ("ACME", "4499", Err(PolicyRefusal::DestinationBlocked)),
        ("ACME", "+4499", Err(PolicyRefusal::DestinationBlocked)),
        ("ACME", "33", Err(PolicyRefusal::DestinationNotAllowed)),
        ("OTHER", "33", Err(PolicyRefusal::SenderNotAllowed)),
    ] {
        let found = policy.check(source.as_bytes(), destination.as_bytes());
        assert_eq!(found, verdict, "{source} to {destination}");
    }
    assert!(!policy.is_empty());
    let free = Policy::default();
    assert!(free.is_empty());
    assert_eq!(free.check(b"", b"anything"), Ok(()));
}

#[test]
fn limits_choose_their_bucket() {
    let limit = |account, sender: &str, destination: &str, per| AddressLimit {
        name: "one".to_owned(),
        account,
        sender_prefix: sender.as_bytes().into(),
        destination_prefix: destination.as_bytes().into(),
        rate: 1.0,
        burst: 1,
        per,
    };
    let all = limit(None, "", "", Per::Rule);
    assert_eq!(all.bucket_of(7, b"a", b"b"), Some(&b""[..]));
    let each = limit(Some(7), "AC", "44", Per::Destination);
    assert_eq!(each.bucket_of(7, b"ACME", b"+447"), Some(&b"447"[..]));
    assert_eq!(each.bucket_of(8, b"ACME", b"447"), None);
    assert_eq!(each.bucket_of(7, b"BANK", b"447"), None);
    assert_eq!(each.bucket_of(7, b"ACME", b"33"), None);
    let by_sender = limit(None, "", "", Per::Sender);
    assert_eq!(by_sender.bucket_of(1, b"+44", b"33"), Some(&b"44"[..]));
}

#[test]
fn keywords_are_whole_texts() {
    let words = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    let keywords = Keywords::new(&words(&["STOP", "Стоп", "keine sms"]), &words(&["start"]));
    for (text, choice) in [
        ("stop", Some(true)),
        (" Stop\r\n", Some(true)),
        ("СТОП", Some(true)),
        ("Keine SMS", Some(true)),
        ("START", Some(false)),
        ("stop it", None),
        ("", None),
    ] {
        assert_eq!(keywords.choice(text), choice, "{text:?}");
    }
    assert!(!keywords.is_empty() && Keywords::new(&[], &[]).is_empty());
    assert_eq!(Keywords::default().choice(""), None);
}

#[test]
fn a_million_entries_are_cheap() {
    let numbers = (0..1_000_000u64).map(|n| {
        let text = format!("4477{n:08}");
        match n % 2 {
            0 => AddressEntry::Exact(text.into_bytes().into()),
            _ => AddressEntry::Prefix(text.into_bytes().into()),
        }
    });
    let set = AddressSet::build(numbers).unwrap();
    assert_eq!(set.len(), 1_000_000);
    assert!(set.contains(b"447700000000") && !set.contains(b"4477000000001"));
    assert!(set.contains(b"447700000001") && set.contains(b"4477000000011"));
    // Half a million of entries compared one by one, a hundred thousand times, would never end.
    let found = (0..100_000u64).filter(|n| set.contains(format!("4477{n:08}9").as_bytes()));
    assert_eq!(found.count(), 50_000);
}

proptest! {
    #[test]
    fn prefixes_are_as_a_naive_scan(
        entries in prop::collection::vec("[01]{0,6}", 0..40),
        addresses in prop::collection::vec("[01]{0,8}", 1..40),
    ) {
        let prefixes = entries.iter().map(|text| AddressEntry::Prefix(text.as_bytes().into()));
        let set = AddressSet::build(prefixes).unwrap();
        for address in &addresses {
            let naive = entries.iter().any(|prefix| address.starts_with(prefix.as_str()));
            prop_assert_eq!(set.contains(address.as_bytes()), naive, "{:?}", address);
        }
    }

    #[test]
    fn a_set_is_as_a_naive_scan(
        entries in prop::collection::vec("\\+?[0-2]{1,3}\\*?|/\\^?[0-2]{1,2}\\$?/", 0..12),
        addresses in prop::collection::vec("[0-2]{0,5}", 1..20),
    ) {
        let parsed: Vec<AddressEntry> = entries.iter().map(|text| AddressEntry::parse(text).unwrap()).collect();
        let set = AddressSet::build(parsed.clone()).unwrap();
        for address in &addresses {
            let naive = parsed.iter().any(|entry| match entry {
                AddressEntry::Exact(exact) => **exact == *address.as_bytes(),
                AddressEntry::Prefix(prefix) => address.as_bytes().starts_with(prefix),
                AddressEntry::Pattern(text) => {
                    regex::bytes::Regex::new(text).unwrap().is_match(address.as_bytes())
                }
                AddressEntry::List(_) => false,
            });
            prop_assert_eq!(set.contains(address.as_bytes()), naive, "{:?} in {:?}", address, entries);
        }
    }
}
