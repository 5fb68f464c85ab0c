//! What a change makes of the stored resources, and what it refuses.

use serde_json::json;

use super::*;
use crate::domain::settings::difference;
use crate::store::settings::StoredSetting;

fn settings(version: u64, list: &[(ResourceKind, &str, Value)]) -> StoredSettings {
    let mut settings: Vec<StoredSetting> = list
        .iter()
        .map(|(kind, name, body)| StoredSetting {
            key: ResourceKey::new(*kind, *name),
            version,
            body: body.to_string(),
        })
        .collect();
    settings.sort_by(|one, other| one.key.cmp(&other.key));
    StoredSettings { version, settings }
}

fn two() -> StoredSettings {
    settings(
        2,
        &[
            (
                ResourceKind::Account,
                "a",
                json!({"password": "p", "system_id": "a"}),
            ),
            (
                ResourceKind::Operator,
                "up",
                json!({"address": "h:1", "id": "up", "rate": 50}),
            ),
        ],
    )
}

#[test]
fn a_merge_changes_only_what_it_names() {
    let config_change = ConfigChange::Merge {
        key: ResourceKey::new(ResourceKind::Operator, "up"),
        given: Map::from_iter([("rate".to_owned(), json!(10))]),
    };
    let after = config_change.apply(&two(), &[]).unwrap();
    let body: Value =
        serde_json::from_str(&after[&ResourceKey::new(ResourceKind::Operator, "up")]).unwrap();
    assert_eq!(body, json!({"address": "h:1", "id": "up", "rate": 10}));
    let config_change = ConfigChange::Merge {
        key: ResourceKey::new(ResourceKind::Operator, "gone"),
        given: Map::new(),
    };
    assert!(matches!(
        config_change.apply(&two(), &[]),
        Err(SettingsError::NotFound(_))
    ));
}

#[test]
fn an_order_keeps_its_numbers_unless_some_are_the_same() {
    let rules = |numbers: [u32; 3]| {
        let rule = |name, number| {
            (
                ResourceKind::MoRule,
                name,
                json!({"name": name, "order": number}),
            )
        };
        let [one, two, three] = numbers;
        settings(3, &[rule("a", one), rule("b", two), rule("c", three)])
    };
    let order = |names: &[&str], numbers| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let kind = ResourceKind::MoRule;
        ConfigChange::Order { kind, names }.apply(&rules(numbers), &[])
    };
    let number = |after: &Resources, name: &str| {
        let body = &after[&ResourceKey::new(ResourceKind::MoRule, name)];
        config::shown(ResourceKind::MoRule, body)["order"]
            .as_u64()
            .unwrap()
    };
    let numbers = |after: Resources| ["a", "b", "c"].map(|name| number(&after, name));
    let after = order(&["c", "a", "b"], [5, 7, 90]).unwrap();
    assert_eq!(numbers(after), [7, 90, 5]);
    let after = order(&["b", "a", "c"], [100, 100, 7]).unwrap();
    assert_eq!(numbers(after), [20, 10, 30]);
    for (names, key, said) in [
        (vec!["a", "b"], "order", "lacks \"c\""),
        (vec!["a", "b", "x", "c"], "order[2]", "no mo_rule \"x\""),
        (vec!["a", "b", "c", "a"], "order[3]", "twice"),
    ] {
        match order(&names, [1, 2, 3]) {
            Err(SettingsError::Invalid(found)) => {
                assert_eq!(found[0].key, key);
                assert!(found[0].message.contains(said), "{found:?}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_rollback_undoes_what_came_after() {
    let before = settings(
        1,
        &[(ResourceKind::Account, "a", json!({"system_id": "a"}))],
    );
    let changes = difference(&before.resources(), &two().resources());
    let newer = [SettingsVersion {
        version: 2,
        at: 0,
        who: String::new(),
        what: String::new(),
        changes,
    }];
    let rollback = |version, only| ConfigChange::Rollback { version, only }.apply(&two(), &newer);
    assert_eq!(rollback(1, None).unwrap(), before.resources());
    for unknown in [0, 3] {
        let refused = rollback(unknown, None);
        assert!(matches!(refused, Err(SettingsError::NotFound(_))));
    }
    // Only one resource: what was not there then is removed, the rest stays.
    let (account, operator) = (
        ResourceKey::new(ResourceKind::Account, "a"),
        ResourceKey::new(ResourceKind::Operator, "up"),
    );
    let after = rollback(1, Some(operator)).unwrap();
    assert_eq!(after.len(), 1);
    assert_eq!(after[&account], two().resources()[&account]);
    let after = rollback(1, Some(account.clone())).unwrap();
    assert_eq!(after.len(), 2);
    assert_eq!(after[&account], before.resources()[&account]);
    let refused = rollback(1, Some(ResourceKey::new(ResourceKind::Route, "44")));
    assert!(matches!(refused, Err(SettingsError::NotFound(_))));
}

#[test]
fn the_whole_keeps_secrets_and_names_what_is_wrong() {
    let lists = |second: Value| {
        ConfigChange::Replace(vec![(
            ResourceKind::Account,
            vec![json!({"system_id": "a", "window": 3}), second],
        )])
    };
    let after = lists(json!({"system_id": "b", "password": "q"}))
        .apply(&two(), &[])
        .unwrap();
    assert_eq!(after.len(), 2, "{after:?}");
    assert!(after[&ResourceKey::new(ResourceKind::Account, "a")].contains("\"password\":\"p\""));
    for (wrong, key) in [
        (json!({"system_id": "a"}), "accounts[1]"),
        (json!({"password": "q"}), "accounts[1].system_id"),
        (json!({"system_id": "b", "rate": "x"}), "accounts[1].rate"),
    ] {
        match lists(wrong).apply(&two(), &[]) {
            Err(SettingsError::Invalid(found)) => assert_eq!(found[0].key, key),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn conditions_are_those_of_http() {
    let one_of = |versions: &[u64]| Condition {
        is_one_of: Some(versions.to_vec()),
        ..Condition::default()
    };
    let exists = Condition {
        exists: true,
        ..Condition::default()
    };
    let is_absent = Condition {
        is_absent: true,
        ..Condition::default()
    };
    for (condition, current, holds) in [
        (Condition::default(), None, true),
        (Condition::default(), Some(3), true),
        (one_of(&[3, 4]), Some(3), true),
        (one_of(&[4]), Some(3), false),
        (one_of(&[4]), None, false),
        (exists.clone(), Some(3), true),
        (exists, None, false),
        (is_absent.clone(), None, true),
        (is_absent, Some(3), false),
    ] {
        let checked = condition.check(current, "it");
        assert_eq!(checked.is_ok(), holds, "{condition:?} {current:?}");
    }
}
