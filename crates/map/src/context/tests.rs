//! Versions, and what is remembered of them.

use super::*;

fn offer(context: u8, version: u8) -> Option<ApplicationContext> {
    Some(ApplicationContext { context, version })
}

/// TS 29.002 §17.3.3.
#[test]
fn version_1_has_no_context() {
    assert_eq!(MapVersion::V1.context(SHORT_MSG_MT_RELAY), None);
    let context = MapVersion::V3.context(SHORT_MSG_MT_RELAY);
    assert_eq!(context, offer(25, 3));
    let operations = [MapVersion::V1, MapVersion::V2, MapVersion::V3].map(MapVersion::mt_forward);
    assert_eq!(operations.map(|operation| operation.0), [46, 46, 44]);
    for number in 0..=u8::MAX {
        let version = MapVersion::of(number);
        assert_eq!(version.is_some(), (1..=3).contains(&number));
        assert!(version.is_none_or(|version| version.number() == number));
    }
}

#[test]
fn an_earlier_version_is_tried_until_there_is_none() {
    for (refused, alternative, next) in [
        (MapVersion::V3, None, Some(MapVersion::V2)),
        (MapVersion::V3, offer(25, 2), Some(MapVersion::V2)),
        (MapVersion::V3, offer(25, 1), Some(MapVersion::V1)),
        (MapVersion::V2, None, Some(MapVersion::V1)),
        (MapVersion::V1, None, None),
        // What is offered would be refused again.
        (MapVersion::V2, offer(25, 3), Some(MapVersion::V1)),
        (MapVersion::V2, offer(25, 2), Some(MapVersion::V1)),
        (MapVersion::V3, offer(25, 9), Some(MapVersion::V2)),
    ] {
        assert_eq!(
            fallback(refused, alternative),
            next,
            "{refused:?} {alternative:?}"
        );
    }
}

#[test]
fn a_version_is_remembered_for_a_while() {
    let (memory, now) = (Duration::from_secs(60), Instant::now());
    let mut versions = PeerVersions::new(memory);
    let latest = MapVersion::V3;
    assert_eq!(versions.of(25, "491720010", latest, now), latest);
    versions.remember(25, "491720010", MapVersion::V2, now);
    assert_eq!(versions.of(25, "491720010", latest, now), MapVersion::V2);
    assert_eq!(versions.of(20, "491720010", latest, now), latest);
    assert_eq!(versions.of(25, "491720011", latest, now), latest);
    // Ours may be set lower meanwhile.
    let of_ours = versions.of(25, "491720010", MapVersion::V1, now);
    assert_eq!(of_ours, MapVersion::V1);
    let later = now + memory;
    assert_eq!(versions.of(25, "491720010", latest, later), latest);
}

#[test]
fn memory_is_bounded() {
    let (memory, now) = (Duration::from_secs(60), Instant::now());
    let mut versions = PeerVersions::new(memory);
    for peer in 0..=PEERS_MAX {
        versions.remember(25, &peer.to_string(), MapVersion::V2, now);
    }
    assert_eq!(versions.len(), PEERS_MAX);
    versions.remember(25, "new", MapVersion::V2, now + memory);
    assert_eq!(versions.len(), 1, "old ones make room");
    let mut none = PeerVersions::new(Duration::ZERO);
    none.remember(25, "1", MapVersion::V2, now);
    assert_eq!(none.len(), 0);
}
