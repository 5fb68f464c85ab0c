//! Cases about accounts, operators and routes: versions, compare-and-set, history.

use smsc::domain::settings::{
    ResourceKey, ResourceKind, ResourceUpdate, Resources, difference, undo,
};
use smsc::store::settings::{Edit, Rewording, StoredSetting, VersionQuery};

use super::Harness;

fn resources(list: &[(ResourceKind, &str, &str)]) -> Resources {
    list.iter()
        .map(|(kind, name, body)| (ResourceKey::new(*kind, *name), (*body).to_owned()))
        .collect()
}

fn edit(h: &Harness, expected: u64, changes: Vec<ResourceUpdate>) -> Option<u64> {
    let edit = Edit {
        expected,
        at: 1_700_000_000_000 + expected as i64,
        who: format!("who {expected}"),
        what: format!("what {expected}"),
        changes,
    };
    h.store().edit_settings(edit).wait().unwrap()
}

fn now(h: &Harness) -> Resources {
    h.store().settings().wait().unwrap().resources()
}

pub fn versions(h: &mut Harness) {
    assert_eq!(h.store().settings_version().wait(), Ok(0));
    assert_eq!(h.store().settings().wait().unwrap().version, 0);
    let first = resources(&[
        (ResourceKind::Account, "test", "{\"a\":\"ü'\\\"\"}"),
        (ResourceKind::Operator, "up", "{}"),
        (ResourceKind::Route, "44", "{\"to\":[]}"),
        (ResourceKind::List, "brands", "{\"entries\":[]}"),
        (ResourceKind::Limit, "few", "{}"),
        (ResourceKind::Policy, "all", "{}"),
        // Ordered by octets, not by a collation.
        (ResourceKind::Account, "Zoe", "{}"),
        (ResourceKind::Account, "anna", "{}"),
    ]);
    let changes = difference(&Resources::new(), &first);
    assert_eq!(edit(h, 0, changes.clone()), Some(1));
    assert_eq!(
        edit(h, 0, changes),
        None,
        "made from version 0, which is gone"
    );
    h.reopen();
    assert_eq!(now(h), first);
    let names = h.store().setting_names().wait().unwrap();
    assert_eq!(names, first.keys().cloned().collect::<Vec<_>>());
    let mut second = first.clone();
    second.remove(&ResourceKey::new(ResourceKind::Route, "44"));
    second.insert(
        ResourceKey::new(ResourceKind::Account, "test"),
        "{\"b\":1}".to_owned(),
    );
    second.insert(
        ResourceKey::new(ResourceKind::Operator, "other"),
        "{}".to_owned(),
    );
    assert_eq!(edit(h, 1, difference(&first, &second)), Some(2));
    let settings = h.store().settings().wait().unwrap();
    assert_eq!((settings.version, settings.resources()), (2, second));
    for kind in ResourceKind::ALL {
        let of_kind = h.store().settings_of(kind).wait().unwrap();
        let all = settings.settings.iter().filter(|one| one.key.kind == kind);
        assert_eq!(of_kind.version, 2);
        assert!(of_kind.settings.iter().eq(all), "{kind:?}: {of_kind:?}");
    }
    assert_eq!(h.store().settings_version().wait(), Ok(2));
    let version = |kind, name: &str| {
        settings
            .get(&ResourceKey::new(kind, name))
            .map(|one| one.version)
    };
    assert_eq!(version(ResourceKind::Account, "test"), Some(2));
    assert_eq!(version(ResourceKind::Account, "Zoe"), Some(1), "unchanged");
    assert_eq!(version(ResourceKind::Operator, "up"), Some(1));
    assert_eq!(version(ResourceKind::Route, "44"), None);
    // The same name of another kind is another resource.
    assert_eq!(version(ResourceKind::Operator, "test"), None);
}

pub fn history(h: &mut Harness) {
    let mut states = vec![Resources::new()];
    for number in 1..=5u64 {
        let mut next = states[states.len() - 1].clone();
        let name = format!("{}", number % 3);
        match number {
            4 => next.remove(&ResourceKey::new(ResourceKind::Route, "1")),
            _ => next.insert(
                ResourceKey::new(ResourceKind::Route, name),
                format!("{{\"n\":{number}}}"),
            ),
        };
        let changes = difference(&states[states.len() - 1], &next);
        assert_eq!(edit(h, number - 1, changes), Some(number));
        states.push(next);
    }
    h.reopen();
    let ask = |after, below, limit, of| {
        let which = VersionQuery {
            after,
            below,
            limit,
            of,
        };
        h.store().settings_versions(which).wait().unwrap()
    };
    let list = |after, below, limit| ask(after, below, limit, None);
    let numbers = |found: Vec<smsc::store::settings::SettingsVersion>| -> Vec<u64> {
        found.iter().map(|one| one.version).collect()
    };
    assert_eq!(numbers(list(0, u64::MAX, 100)), [5, 4, 3, 2, 1]);
    assert_eq!(numbers(list(0, u64::MAX, 2)), [5, 4]);
    assert_eq!(numbers(list(1, 4, 100)), [3, 2]);
    let of = |name: &str| {
        ask(
            0,
            u64::MAX,
            100,
            Some(ResourceKey::new(ResourceKind::Route, name)),
        )
    };
    assert_eq!(numbers(of("1")), [4, 1]);
    assert_eq!(numbers(of("2")), [5, 2]);
    assert!(of("12").is_empty());
    let first = &list(0, 2, 1)[0];
    assert_eq!(
        (first.who.as_str(), first.what.as_str()),
        ("who 0", "what 0")
    );
    assert_eq!(first.at, 1_700_000_000_000);
    // Undoing the changes one by one restores every version.
    let mut at = now(h);
    for version in list(0, u64::MAX, 100) {
        assert_eq!(at, states[version.version as usize]);
        undo(&mut at, &version.changes);
    }
    assert_eq!(at, Resources::new());
}

pub fn one_of_many_wins(h: &mut Harness) {
    let change = |name: &str| {
        difference(
            &Resources::new(),
            &resources(&[(ResourceKind::Account, name, "{}")]),
        )
    };
    let tickets: Vec<_> = (0..20)
        .map(|number| {
            h.store().edit_settings(Edit {
                expected: 0,
                at: 1,
                who: String::new(),
                what: String::new(),
                changes: change(&format!("a{number}")),
            })
        })
        .collect();
    let won: Vec<u64> = tickets
        .into_iter()
        .filter_map(|ticket| ticket.wait().unwrap())
        .collect();
    assert_eq!(won, [1], "exactly one");
    assert_eq!(now(h).len(), 1);
}

pub fn thousands(h: &mut Harness) {
    let many: Resources = (0..5_000)
        .map(|number| {
            (
                ResourceKey::new(ResourceKind::Route, number.to_string()),
                "{}".to_owned(),
            )
        })
        .collect();
    assert_eq!(edit(h, 0, difference(&Resources::new(), &many)), Some(1));
    assert_eq!(now(h), many);
    assert_eq!(edit(h, 1, difference(&many, &Resources::new())), Some(2));
    assert!(now(h).is_empty());
}

pub fn reworded(h: &mut Harness) {
    let key = ResourceKey::new(ResourceKind::Operator, "up");
    let first = resources(&[
        (ResourceKind::Operator, "up", "clear"),
        (ResourceKind::Route, "44", "{}"),
    ]);
    let changes = difference(&Resources::new(), &first);
    assert_eq!(edit(h, 0, changes.clone()), Some(1));
    let mut other = changes;
    let up = other.iter_mut().find(|change| change.key == key).unwrap();
    up.after = Some("sealed".to_owned());
    let rewording = |expected| Rewording {
        expected,
        settings: vec![StoredSetting {
            key: key.clone(),
            version: 1,
            body: "sealed".to_owned(),
        }],
        history: vec![(1, other.clone())],
    };
    let reword = |h: &Harness, expected| h.store().reword_settings(rewording(expected)).wait();
    assert_eq!(reword(h, 2), Ok(false), "made for another version");
    assert_eq!(now(h), first);
    assert_eq!(reword(h, 1), Ok(true));
    h.reopen();
    let settings = h.store().settings().wait().unwrap();
    assert_eq!(settings.version, 1, "it is the same configuration");
    assert_eq!(settings.get(&key).unwrap().version, 1);
    let mut second = first;
    second.insert(key, "sealed".to_owned());
    assert_eq!(settings.resources(), second);
    let history = h
        .store()
        .settings_versions(VersionQuery::ALL)
        .wait()
        .unwrap();
    assert_eq!((history[0].version, &history[0].changes), (1, &other));
    assert_eq!(history[0].who, "who 0");
}
