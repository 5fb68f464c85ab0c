//! What is counted of operators and accounts, and how long it is known.

use super::*;

const MINUTE: i64 = 60_000;

fn only(log: &mut OutcomeLog, now_ms: i64) -> SeenOutcomes {
    let mut pairs = log.look(now_ms);
    assert_eq!(pairs.len(), 1);
    pairs.remove(0).seen
}

#[test]
fn counts_move_from_now_to_the_hour_before_and_are_forgotten() {
    let mut log = OutcomeLog::new(MINUTE);
    log.at(1, 2, 0).note_refused(0x0A, 20);
    log.at(1, 2, MINUTE).note_taken(true, 40);
    let seen = only(&mut log, MINUTE);
    assert_eq!((seen.last.refused, seen.current.taken), (1, 1));
    assert_eq!(seen.now().statuses.most(), Some(0x0A));
    assert_eq!((seen.now().answers, seen.now().answer_ms), (2, 60));
    let seen = only(&mut log, 3 * MINUTE);
    assert_eq!((seen.now().answers, seen.before.answers), (0, 2));
    assert_eq!(seen.known_for, 3);
    assert!(log.look((KEPT + 1) * MINUTE).is_empty());
}

#[test]
fn receipts_are_compared_with_messages_of_some_minutes_before() {
    let mut log = OutcomeLog::new(MINUTE);
    for minute in 0..30 {
        let mut counts = log.at(1, 2, minute * MINUTE);
        counts.note_taken(true, 1);
        counts.note_receipt(None, minute % 2 == 0);
    }
    let seen = only(&mut log, 29 * MINUTE);
    assert_eq!((seen.awaited_lately, seen.receipts_lately), (5, 5));
    assert_eq!((seen.awaited_before, seen.receipts_before), (20, 10));
    assert_eq!(seen.now().receipts, 2, "those of other nodes as well");
}

#[test]
fn memory_is_bounded() {
    let mut log = OutcomeLog::new(MINUTE);
    for minute in 0..3 * KEPT {
        for status in 0..100 {
            log.at(0, 0, minute * MINUTE).note_refused(status, 1);
        }
    }
    let buckets = &log.pairs[&(0, 0)].buckets;
    assert_eq!(buckets.len() as i64, KEPT);
    assert_eq!(buckets[0].counts.statuses.0.len(), MOST_CAUSES);
    let now = (3 * KEPT + NOW) * MINUTE;
    for account in 1..=MOST_PAIRS as u32 {
        log.at(1, account, now).note_taken(false, 1);
    }
    assert_eq!(log.pairs.len(), MOST_PAIRS);
    assert!(!log.pairs.contains_key(&(0, 0)), "the longest idle one");
}

#[test]
fn operators_are_counted_in_full_with_more_accounts_than_there_is_room_for() {
    let mut log = OutcomeLog::new(MINUTE);
    let (operators, accounts) = (20, 1_000);
    for now in [0, MINUTE] {
        for account in 1..=accounts {
            for operator in 1..=operators {
                let account = 1_000 + account;
                log.at(operator, account, now).note_taken(false, 1);
            }
        }
    }
    assert!(log.pairs.len() <= MOST_PAIRS + operators as usize);
    for operator in 1..=operators {
        let pairs = log.look(MINUTE).into_iter();
        let of_operator = pairs.filter(|pair| pair.operator == operator);
        let taken: u32 = of_operator.map(|pair| pair.seen.now().taken).sum();
        assert_eq!(taken, 2 * accounts, "operator {operator}");
    }
    // Nor does the history mix accounts up for whose pairs there is no room.
    let told = block(&mut log);
    for account in 1..=accounts {
        let of_account = told.of_account(1_000 + account).unwrap();
        assert_eq!(of_account.accepted, u64::from(2 * operators), "{account}");
        assert_eq!(of_account.answer_ms, u64::from(2 * operators));
    }
    assert!(told.of_account(NO_ACCOUNT).is_none(), "nothing is left");
    assert!(log.take_traffic().is_empty(), "it was taken");
}

fn block(log: &mut OutcomeLog) -> TrafficBlock {
    log.take_traffic().into_block(|_| true, |_| true)
}

#[test]
fn errors_that_are_too_many_are_counted_together() {
    let mut log = OutcomeLog::new(MINUTE);
    let (statuses, errors) = (MOST_CAUSES as u32 + 5, MOST_END_ERRORS + 7);
    for status in 0..statuses {
        log.at(1, 2, 0).note_refused(0x400 + status, 1);
    }
    for error in 0..errors {
        log.at(1, 2, 0).note_end(Some(&format!("{error:03}")));
    }
    let told = block(&mut log);
    assert_eq!(told.of_error("0x00000400").unwrap().refused, 1);
    assert_eq!(told.of_error("000").unwrap().failed, 1);
    let others = told.of_error(OTHER_ERRORS).unwrap();
    assert_eq!((others.refused, others.failed), (5, 7));
}

#[test]
fn what_is_refused_again_and_again_is_of_the_history_alone() {
    let mut log = OutcomeLog::new(MINUTE);
    log.at(1, 2, 0).note_refused(0x0A, 20);
    for _ in 0..3 {
        log.at(1, 2, 0).note_refused_again(0x08, 10);
    }
    let seen = only(&mut log, 0).now();
    assert_eq!((seen.refused, seen.answers), (1, 1));
    assert_eq!(seen.statuses.most(), Some(0x0A));
    let told = block(&mut log);
    let of_operator = told.of_operator(1).unwrap();
    assert_eq!((of_operator.refused, of_operator.answer_ms), (4, 50));
    assert_eq!(told.of_account(2), Some(of_operator));
    assert_eq!(told.of_error("ESME_RSYSERR").unwrap().refused, 3);
}

#[test]
fn messages_from_operators_to_accounts_are_not_of_the_history() {
    let mut log = OutcomeLog::new(MINUTE);
    let (operator, account, accounts_queue) = (1, 2, 3);
    log.at(accounts_queue, operator, 0)
        .note_end(Some("EXPIRED"));
    log.at(0, operator, 0).note_end(Some("EXPIRED"));
    assert!(of(&mut log, operator, account).is_empty());
    // From an account to another one, to an operator, and to none.
    for queue in [accounts_queue, operator, 0] {
        log.at(queue, account, 0).note_end(Some("EXPIRED"));
    }
    let told = of(&mut log, operator, account);
    assert_eq!(told.of_account(account).unwrap().failed, 3);
    assert_eq!(told.of_error("EXPIRED").unwrap().failed, 3);
    assert_eq!(told.of_operator(operator).unwrap().failed, 1);
    assert_eq!(told.of_operator(0).unwrap().failed, 1);
    assert!(told.of_operator(accounts_queue).is_none());
}

fn of(log: &mut OutcomeLog, operator: u32, account: u32) -> TrafficBlock {
    let untold = log.take_traffic();
    untold.into_block(|number| number == operator, |number| number == account)
}

#[test]
fn what_goes_untold_is_bounded_and_complete() {
    let (mut gone, ended) = (UntoldPairs::default(), failed_once());
    for account in 1..=MOST_GONE as u32 + 100 {
        put_away(&mut gone, (1, account), failed_once());
    }
    put_away(&mut gone, (1, 1), UntoldTraffic::default());
    assert_eq!(gone.len(), MOST_GONE + 1);
    let untold = UntoldMessages {
        pairs: gone.into_iter().collect(),
        ..UntoldMessages::default()
    };
    let told = untold.into_block(|_| true, |_| true);
    let all = MOST_GONE as u64 + 100;
    assert_eq!(
        told.of_operator(1).unwrap().failed,
        ended.counts.failed * all
    );
    assert_eq!(told.of_error("069").unwrap().failed, all);
}

#[test]
fn a_crowd_of_hostile_pairs_and_errors_has_an_end_in_memory() {
    let mut log = OutcomeLog::new(MINUTE);
    let errors: Vec<String> = (0..1_000).map(|error| format!("{error:03}")).collect();
    let (operators, accounts, minutes) = (20, 1_000, 5);
    for minute in 0..minutes {
        for number in 0..operators * accounts {
            // Others in each minute, so that idle pairs go.
            let (operator, account) = (1 + number % operators, number / operators);
            let account = 1_000 + minute * accounts + account;
            let error = &errors[number as usize % errors.len()];
            let now = i64::from(minute) * 3 * MINUTE;
            log.at(operator, account, now).note_end(Some(error));
        }
    }
    let own_place = operators as usize;
    assert!(log.pairs.len() <= MOST_PAIRS + own_place);
    assert!(log.gone.len() <= MOST_GONE + own_place);
    assert!(log.apart.len() <= MOST_SERIES);
    let untold = log.pairs.values().map(|log| &log.untold);
    let most = untold.chain(log.gone.values()).map(|one| one.errors.len());
    assert_eq!(most.max(), Some(MOST_END_ERRORS));
    let failed = u64::from(operators * accounts * minutes);
    assert_eq!(block(&mut log).total().failed, failed, "all are counted");
}

fn failed_once() -> UntoldTraffic {
    let mut log = OutcomeLog::new(MINUTE);
    log.at(1, 1, 0).note_end(Some("069"));
    log.take_traffic().pairs.remove(0).1
}

#[test]
fn pairs_of_a_wrong_time_make_room() {
    let mut log = OutcomeLog::new(MINUTE);
    for account in 1..=MOST_PAIRS as u32 {
        log.at(1, account, 1_000 * MINUTE).note_taken(false, 1);
    }
    log.at(2, 7, 10 * MINUTE).note_taken(false, 1);
    assert!(log.pairs.contains_key(&(2, 7)));
    assert_eq!(log.pairs.len(), MOST_PAIRS - IDLE_AT_ONCE + 1);
}

#[test]
fn a_clock_that_is_set_back_stops_no_counting() {
    let mut log = OutcomeLog::new(MINUTE);
    log.at(1, 2, 1_000 * MINUTE).note_taken(false, 1);
    log.at(1, 2, 10 * MINUTE).note_taken(false, 1);
    let seen = only(&mut log, 10 * MINUTE);
    assert_eq!((seen.current.taken, seen.before.taken), (1, 1));
    assert_eq!(seen.known_for, NOW, "what was usual is still known");
}

#[test]
fn the_history_gets_everything_once_and_incidents_see_it_too() {
    let mut log = OutcomeLog::new(MINUTE);
    log.at(1, 2, 0).note_taken(true, 40);
    log.at(1, 2, 0).note_end(None);
    log.at(0, 2, 0).note_end(Some("EXPIRED"));
    assert_eq!(only_of(&mut log, 1, 0).current.taken, 1);
    // In the bucket already, but not yet told; in a new bucket; and of a pair that has to go.
    log.at(1, 2, MINUTE).note_refused(0x0A, 20);
    for account in 10..10 + MOST_PAIRS as u32 {
        log.at(1, account, MINUTE).note_taken(false, 1);
    }
    log.restart(2 * MINUTE);
    let taken = block(&mut log);
    let of_account = taken.of_account(2).unwrap();
    let expected = TrafficCounts {
        accepted: 1,
        refused: 1,
        delivered: 1,
        failed: 1,
        answer_ms: 60,
    };
    assert_eq!(of_account, &expected);
    let all = 1 + MOST_PAIRS as u64;
    assert_eq!(taken.of_operator(1).unwrap().accepted, all);
    assert_eq!(taken.of_error("ESME_RINVSRCADR").unwrap().refused, 1);
    assert_eq!(taken.of_error("EXPIRED").unwrap().failed, 1);
    assert!(log.take_traffic().is_empty(), "it was taken");
}

fn only_of(log: &mut OutcomeLog, operator: u32, now_ms: i64) -> SeenOutcomes {
    let pairs = log.look(now_ms).into_iter();
    let mut of: Vec<_> = pairs.filter(|pair| pair.operator == operator).collect();
    assert_eq!(of.len(), 1);
    of.remove(0).seen
}
