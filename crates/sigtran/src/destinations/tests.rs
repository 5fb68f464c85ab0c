//! What gateways say of destinations.

use proptest::prelude::*;

use super::*;

fn affected(mask: u8, point: u32) -> AffectedPoints {
    AffectedPoints::of_number(u32::from(mask) << 24 | point)
}

fn set<const COUNT: usize>(affected: [AffectedPoints; COUNT]) -> AffectedSet {
    affected.into_iter().collect()
}

#[test]
fn a_mask_names_a_region() {
    // §3.4.1: the mask counts the lowest bits that do not count.
    let mut states = DestinationStates::default();
    assert!(states.is_available(PointCode(185)));
    states.set_available(&set([affected(3, 185)]), false);
    for point in 184..=191 {
        assert!(states.is_unreachable(PointCode(point)), "{point}");
    }
    assert!(states.is_available(PointCode(183)));
    assert!(states.is_available(PointCode(192)));
    states.set_available(&set([affected(0, 185)]), true);
    assert!(states.is_available(PointCode(185)));
    assert!(states.is_unreachable(PointCode(184)));
    // All.
    for mask in [14, 24, 255] {
        states.set_available(&set([affected(mask, 0)]), false);
        assert!(states.is_unreachable(PointCode(0)));
        assert!(states.is_unreachable(PointCode(PointCode::MAX)));
        states.set_available(&set([affected(mask, 77)]), true);
        assert!(states.is_available(PointCode(PointCode::MAX)));
    }
}

#[test]
fn a_missing_user_part_is_tried_again() {
    let now = Instant::now();
    let mut states = DestinationStates::default();
    states.set_without_user(affected(0, 185), now);
    assert!(!states.is_available(PointCode(185)));
    assert!(!states.is_unreachable(PointCode(185)));
    states.expire(now + REMEMBERED / 2);
    assert!(!states.is_available(PointCode(185)));
    states.expire(now + REMEMBERED);
    assert!(states.is_available(PointCode(185)));
    states.set_without_user(affected(0, 185), now);
    states.set_available(&set([affected(0, 185)]), true);
    assert!(states.is_available(PointCode(185)));
}

#[test]
fn what_is_kept_is_bounded_by_the_number_of_point_codes() {
    let now = Instant::now();
    let mut states = DestinationStates::default();
    for point in (0..1 << 24).step_by(7) {
        states.set_without_user(affected(0, point), now);
    }
    states.set_available(&set([affected(0, 0x00FF_FFFF)]), false);
    assert!(states.without_user.len() <= PointCode::MAX as usize + 1);
    assert_eq!(states.unavailable.len(), WORDS);
    let mut written = WrittenDestinations::default();
    (0..5_000).for_each(|point| written.note(PointCode(point)));
    assert_eq!(written.points().count(), WRITTEN_MAX);
}

#[test]
fn changes_of_what_we_write_to_are_told_once() {
    let now = Instant::now();
    let mut written = WrittenDestinations::default();
    written.note(PointCode(1));
    written.note(PointCode(2));
    let is_available = |point| point == PointCode(2);
    assert_eq!(written.update(is_available), [(PointCode(1), false)]);
    assert_eq!(written.update(is_available), []);
    written.note(PointCode(1));
    assert_eq!(written.update(|_| true), [(PointCode(1), true)]);
    let congested = set([affected(0, 2), affected(0, 3), affected(0, 2)]);
    let told = written.set_congested(&congested, 2, now);
    assert_eq!(told, [PointCode(2)]);
    // Said again, it lasts longer, and that is all.
    assert_eq!(written.set_congested(&congested, 2, now), []);
    assert_eq!(written.congestion(PointCode(2)), 2);
    assert_eq!(written.expire(now), []);
    assert_eq!(written.expire(now + REMEMBERED), [PointCode(2)]);
    assert_eq!(written.congestion(PointCode(2)), 0);
}

#[test]
fn many_destinations_in_a_message_are_looked_for_at_once() {
    let now = Instant::now();
    let mut states = DestinationStates::default();
    for point in 1_024..=PointCode::MAX {
        states.set_without_user(affected(0, point), now);
    }
    let all = || (0..1_024).map(|point| affected(0, point));
    for _ in 0..200 {
        states.set_available(&all().collect(), true);
    }
    assert_eq!(states.without_user.len(), PointCode::MAX as usize - 1_023);
    // Of each pair of them, this would be three thousand million looks.
    assert!(now.elapsed() < Duration::from_secs(10));
}

proptest! {
    #[test]
    fn regions_are_as_if_each_point_code_was_set(
        steps in prop::collection::vec((any::<u8>(), 0_u32..1 << 15, any::<bool>()), 1..8),
    ) {
        let mut states = DestinationStates::default();
        let mut simple = vec![true; PointCode::MAX as usize + 1];
        for (mask, point, is_available) in steps {
            let affected = affected(mask % 16, point);
            states.set_available(&set([affected]), is_available);
            let (first, last) = affected.bounds();
            for (point, state) in (0..).zip(&mut simple) {
                if (first..=last).contains(&point) {
                    *state = is_available;
                }
            }
        }
        for (point, state) in (0..).zip(simple) {
            prop_assert_eq!(states.is_available(PointCode(point)), state);
        }
    }
}
