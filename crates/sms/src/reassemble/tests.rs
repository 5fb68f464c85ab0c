//! Parts in the orders and repetitions that occur in networks.

use super::*;

fn part(total: u8, sequence: u8, content: &'static str) -> TextPart<&'static str> {
    let fingerprint = content.bytes().fold(7, |hash: u64, octet| {
        hash.wrapping_mul(31).wrapping_add(u64::from(octet))
    });
    TextPart {
        total,
        sequence,
        fingerprint,
        holder: 0,
        value: content,
    }
}

fn assembler() -> Assembler<&'static str, &'static str> {
    Assembler::new(10, 1_000)
}

#[test]
fn parts_in_any_order_become_whole() {
    let mut some = assembler();
    assert_eq!(some.add(0, "k", part(3, 3, "c")), Added::Waiting);
    assert_eq!(some.add(1, "k", part(3, 1, "a")), Added::Waiting);
    assert_eq!((some.len(), some.sets()), (2, 1));
    assert_eq!(some.values().copied().collect::<Vec<_>>(), ["a", "c"]);
    let whole = some.add(2, "k", part(3, 2, "b"));
    assert_eq!(whole, Added::Complete(vec!["a", "b", "c"]));
    assert!(some.is_empty() && some.sets() == 0);
}

#[test]
fn keys_do_not_mix() {
    let mut some = assembler();
    some.add(0, "k", part(2, 1, "a"));
    assert_eq!(some.add(0, "other", part(2, 2, "b")), Added::Waiting);
    assert_eq!(some.sets(), 2);
}

#[test]
fn a_repetition_is_known_at_once_or_when_nothing_else_has_come() {
    let mut some = assembler();
    some.add(0, "k", part(2, 1, "a"));
    assert_eq!(some.add(5, "k", part(2, 1, "a")), Added::Repeated("a"));
    some.add(6, "k", part(2, 2, "b"));
    // The text is complete. A repeated part may be the beginning of another text with the same
    // content there.
    assert_eq!(some.add(7, "k", part(2, 2, "b")), Added::Waiting);
    assert_eq!(some.add(8, "k", part(2, 2, "b")), Added::Repeated("b"));
    let parts = vec!["b"];
    let repeated = true;
    assert_eq!(some.expired(1_007), [Expired { parts, repeated }]);
    some.add(1_008, "k", part(2, 1, "a"));
    let parts = vec!["a"];
    let repeated = false;
    assert_eq!(
        some.expired(5_000),
        [Expired { parts, repeated }],
        "what was finished longer ago than the timeout is forgotten"
    );
}

#[test]
fn a_reference_used_anew_gives_the_old_parts_back() {
    let mut some = assembler();
    some.add(0, "k", part(3, 1, "a"));
    some.add(1, "k", part(3, 3, "c"));
    let other = some.add(2, "k", part(3, 3, "z"));
    let given_up = vec!["a", "c"];
    assert_eq!(other, Added::Replaced { given_up });
    let total = some.add(3, "k", part(2, 1, "x"));
    let given_up = vec!["z"];
    assert_eq!(total, Added::Replaced { given_up });
    let whole = some.add(4, "k", part(2, 2, "y"));
    assert_eq!(whole, Added::Complete(vec!["x", "y"]));
}

#[test]
fn after_a_whole_text_the_reference_is_free() {
    let mut some = assembler();
    some.add(0, "k", part(2, 1, "a"));
    some.add(0, "k", part(2, 2, "b"));
    assert_eq!(some.add(3, "k", part(2, 1, "a")), Added::Waiting);
    assert_eq!(
        some.add(4, "k", part(2, 2, "new b")),
        Added::Complete(vec!["a", "new b"]),
        "the new text begins like the old one"
    );
    some.add(5, "k", part(2, 1, "a"));
    let mixed = some.add(6, "k", part(2, 2, "new b"));
    assert_eq!(
        mixed,
        Added::Complete(vec!["a", "new b"]),
        "the same once more"
    );
}

#[test]
fn a_text_of_one_part_is_whole_at_once() {
    let mut some = assembler();
    some.add(0, "k", part(2, 1, "a"));
    assert_eq!(
        some.add(0, "k", part(1, 1, "x")),
        Added::Complete(vec!["x"])
    );
    assert_eq!(
        some.add(1, "k", part(1, 1, "x")),
        Added::Complete(vec!["x"])
    );
    for (total, sequence) in [(0, 0), (2, 0), (2, 3), (0, 1)] {
        let impossible = some.add(1, "k", part(total, sequence, "q"));
        assert_eq!(impossible, Added::Complete(vec!["q"]));
    }
    assert_eq!(some.len(), 1, "the part of two still waits");
}

#[test]
fn old_sets_come_back_in_order_of_their_first_part() {
    let mut some = assembler();
    some.add(100, "late", part(3, 2, "m"));
    some.add(0, "early", part(3, 3, "z"));
    some.add(900, "early", part(3, 1, "x"));
    assert!(some.expired(999).is_empty());
    let old = |parts| {
        let repeated = false;
        [Expired { parts, repeated }]
    };
    assert_eq!(some.expired(1_000), old(vec!["x", "z"]));
    assert_eq!(some.expired(5_000), old(vec!["m"]));
    assert!(some.is_empty() && some.expired(9_000).is_empty());
}

#[test]
fn beyond_the_limit_the_oldest_set_leaves() {
    let mut some: Assembler<u32, u32> = Assembler::new(3, 1_000);
    let of = |value: u32, sequence| TextPart {
        total: 9,
        sequence,
        fingerprint: u64::from(value),
        holder: value / 20,
        value,
    };
    some.add(0, 1, of(11, 2));
    some.add(0, 2, of(21, 1));
    some.add(0, 1, of(10, 1));
    assert_eq!((some.is_over(), some.evict()), (false, None));
    some.add(0, 3, of(31, 1));
    assert!(some.is_over());
    assert_eq!(some.evict(), Some(vec![10, 11]));
    assert_eq!(some.evict(), None);
    assert_eq!(some.take_oldest(0), None, "it has left");
    some.add(0, 4, of(22, 1));
    assert_eq!(some.take_oldest(1), Some(vec![21]));
    assert_eq!(some.take_if(|value| *value == 31), [31]);
    assert_eq!(some.len(), 1);
}

#[test]
fn a_set_leaves_as_a_whole_when_one_part_fits() {
    let mut some = assembler();
    some.add(0, "k", part(3, 3, "c"));
    some.add(0, "other", part(3, 1, "o"));
    some.add(0, "k", part(3, 1, "a"));
    assert_eq!(some.take_if(|value| *value == "a"), ["a", "c"]);
    assert_eq!(some.add(1, "k", part(3, 1, "a")), Added::Waiting);
    assert_eq!(some.len(), 2);
}

#[test]
fn what_is_remembered_of_finished_texts_is_bounded() {
    let mut some: Assembler<u32, u32> = Assembler::new(4, 1_000);
    for key in 0..100 {
        let part = |sequence| TextPart {
            total: 2,
            sequence,
            fingerprint: 1,
            holder: 0,
            value: key,
        };
        some.add(0, key, part(1));
        some.add(0, key, part(2));
        assert!(some.finished.len() <= 4, "{}", some.finished.len());
    }
    some.expired(1_000);
    assert_eq!(some.finished.len(), 0);
}
