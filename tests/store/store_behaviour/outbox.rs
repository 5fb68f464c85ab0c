//! Cases about events and who reads them.

use bytes::Bytes;
use smsc::pb::{EarlyEvent, EarlyKind, MessageState};
use smsc::store::outbox::{
    CdrRow, EventClaim, EventReader, ReaderBacklog, ReaderOutcome, TakeEvents, TakenEvents,
};
use smsc::store::sinks::{ENDED, SinkEvent, Wants, bit};
use smsc::store::{FinRow, Stored, WriteBatch};

use super::{Harness, fin_row, id, sent_row};

/// Larger than any row.
const TOO_LARGE: usize = 1024 * 1024 + 1;

fn read_cdr(h: &Harness) {
    h.store().write_events_for(&[EventReader::Cdr]);
}

fn take(h: &Harness, limit: usize) -> Option<TakenEvents> {
    let take = TakeEvents {
        reader: EventReader::Cdr,
        holder: "here".to_owned(),
        now: 1_000_000,
        abandoned: 0,
        limit,
        only_own: false,
    };
    h.store().take_events(take).wait().expect("answers")
}

fn finish(h: &Harness, claim: &EventClaim, outcome: ReaderOutcome) -> bool {
    let finished = h.store().finish_events(claim.clone(), outcome);
    finished.wait().expect("answers")
}

fn read(h: &Harness, taken: &TakenEvents) -> Vec<Option<Stored>> {
    let read = h.store().read_ended(taken.ids.clone());
    read.wait().expect("answers")
}

fn backlog(h: &Harness) -> Vec<ReaderBacklog> {
    h.store().backlog().wait().expect("answers")
}

fn cdr(n: u64, from: &str, to: &str) -> CdrRow {
    CdrRow {
        id: id(n),
        from: from.to_owned(),
        to: to.to_owned(),
        final_at: fin_row(id(n), 0).at,
        state: MessageState::Delivered,
        client_reference: "theirs".to_owned(),
        ..CdrRow::default()
    }
}

pub fn written_with_ends(h: &mut Harness) {
    h.accept((1..=6).map(id));
    h.fin([id(1)], 0);
    assert_eq!(take(h, 100), None, "nobody reads");
    read_cdr(h);
    // The first one has ended before.
    h.fin((1..=3).map(id), 0);
    let taken = take(h, 100).expect("events");
    assert_eq!(taken.ids, [id(2), id(3)]);
    for (id, stored) in taken.ids.iter().zip(read(h, &taken)) {
        let stored = stored.expect("a message");
        assert_eq!(stored.fin, Some(fin_row(*id, 0)));
    }
    h.reopen();
    read_cdr(h);
    assert_eq!(take(h, 100), Some(taken.clone()), "not finished");
    h.fin([id(4)], 0);
    assert!(finish(h, &taken.claim, ReaderOutcome::Elsewhere));
    assert!(
        !finish(h, &taken.claim, ReaderOutcome::Elsewhere),
        "only once"
    );
    h.reopen();
    let rest = take(h, 100).expect("events");
    assert_eq!(rest.ids, [id(4)]);
    assert!(finish(h, &rest.claim, ReaderOutcome::Elsewhere));
    h.fin([id(5)], 0);
    assert_eq!(take(h, 100), None, "nobody reads after the restart");
}

pub fn bad_row(h: &mut Harness) {
    h.accept((1..=3).map(id));
    read_cdr(h);
    let bad = FinRow {
        error: Bytes::from(vec![b'x'; TOO_LARGE]),
        ..fin_row(id(2), 0)
    };
    let written = h.write(WriteBatch {
        fin: vec![fin_row(id(1), 0), bad, fin_row(id(3), 0)],
        ..WriteBatch::default()
    });
    assert_eq!(written.rejected.len(), 1);
    let taken = take(h, 100).expect("events");
    assert_eq!(taken.ids, [id(1), id(3)]);
}

pub fn backlogs(h: &mut Harness) {
    h.accept((1..=5).map(id));
    read_cdr(h);
    assert_eq!(backlog(h), []);
    for n in 1..=5 {
        h.fin([id(n)], 0);
    }
    let oldest = |n| fin_row(id(n), 0).at;
    let waiting = |events, n| ReaderBacklog {
        reader: EventReader::Cdr,
        events,
        oldest_at: oldest(n),
    };
    assert_eq!(backlog(h), [waiting(5, 1)]);
    let taken = take(h, 2).expect("events");
    assert_eq!(taken.ids, [id(1), id(2)]);
    assert!(taken.is_full);
    assert_eq!(backlog(h), [waiting(5, 1)], "taken is not finished");
    assert!(finish(h, &taken.claim, ReaderOutcome::Elsewhere));
    assert_eq!(backlog(h), [waiting(3, 3)]);
    let drop_events = |before| h.store().drop_events(before, 100).wait();
    assert_eq!(drop_events(oldest(4)), Ok(1));
    assert_eq!(backlog(h), [waiting(2, 4)]);
    // What is dropped while it is read has no outcome.
    let taken = take(h, 100).expect("events");
    assert_eq!(drop_events(oldest(5)), Ok(1));
    let records = vec![cdr(4, "A", "44"), cdr(5, "A", "44")];
    assert!(!finish(h, &taken.claim, ReaderOutcome::Records(records)));
    assert_eq!(backlog(h), [waiting(1, 5)]);
    assert_eq!(h.store().forget_records(i64::MAX, 100).wait(), Ok(0));
}

pub fn deleted_message(h: &mut Harness) {
    h.accept((1..=2).map(id));
    read_cdr(h);
    h.fin((1..=2).map(id), 0);
    let before = fin_row(id(2), 0).at;
    assert_eq!(h.store().retire(before, 100).wait(), Ok(1));
    let taken = take(h, 100).expect("events");
    assert_eq!(taken.ids, [id(1), id(2)]);
    let there: Vec<bool> = read(h, &taken).iter().map(Option::is_some).collect();
    assert_eq!(there, [false, true]);
}

pub fn records(h: &mut Harness) {
    h.accept((1..=3).map(id));
    read_cdr(h);
    h.fin((1..=3).map(id), 0);
    let taken = take(h, 100).expect("events");
    let rows = vec![
        cdr(1, "ACME", "447700900123"),
        cdr(2, "+447700900123", "4477009001234"),
        cdr(3, "ACME", "4477009001234"),
    ];
    assert!(finish(
        h,
        &taken.claim,
        ReaderOutcome::Records(rows.clone())
    ));
    assert!(!finish(h, &taken.claim, ReaderOutcome::Records(rows)));
    h.reopen();
    let erase = || h.store().erase_records("447700900123".to_owned()).wait();
    assert_eq!(erase(), Ok(2));
    assert_eq!(erase(), Ok(0), "nothing is left");
    let forget = |before, limit| h.store().forget_records(before, limit).wait();
    assert_eq!(forget(fin_row(id(2), 0).at, 100), Ok(1));
    assert_eq!(forget(i64::MAX, 1), Ok(1));
    assert_eq!(forget(i64::MAX, 100), Ok(1));
}

/// What sinks that want everything are told: ids, and `None` for an end.
fn told(h: &Harness, reader: i16) -> Vec<(u64, Option<EarlyKind>)> {
    let read = h.store().read_sink(reader, 100).wait().expect("answers");
    let events = read.map(|read| read.events).unwrap_or_default();
    let each = |event: SinkEvent| match event {
        SinkEvent::Ended(id) => (id, None),
        SinkEvent::Early(id, event) => (id, Some(event.kind())),
    };
    events.into_iter().map(each).collect()
}

pub fn early_events(h: &mut Harness) {
    let wants = |reader, kinds| Wants { reader, kinds };
    let early = bit(EarlyKind::Accepted) | bit(EarlyKind::Sent) | bit(EarlyKind::Bound);
    let sinks = vec![wants(101, early | ENDED), wants(102, ENDED)];
    h.accept([id(1)]);
    h.store().write_for_sinks(sinks.clone());
    assert_eq!(told(h, 101), [], "nobody wanted it");
    h.accept([id(2)]);
    h.write(WriteBatch {
        sent: vec![sent_row(id(2), 1, 8, ""), sent_row(id(2), 2, 0, "theirs")],
        fin: vec![fin_row(id(1), 0), fin_row(id(2), 0)],
        ..WriteBatch::default()
    });
    let bound = EarlyEvent {
        kind: EarlyKind::Bound.into(),
        at: 7,
        ..EarlyEvent::default()
    };
    h.store().add_early(vec![bound]).wait().expect("written");
    let all = [
        (id(2), Some(EarlyKind::Accepted)),
        (id(2), Some(EarlyKind::Sent)),
        (id(1), None),
        (id(2), None),
        (0, Some(EarlyKind::Bound)),
    ];
    assert_eq!(told(h, 101), all);
    assert_eq!(told(h, 102), [(id(1), None), (id(2), None)]);
    let attempts = h.store().accepted_attempts(vec![id(1), id(2)]).wait();
    let attempts = attempts.expect("answers");
    assert_eq!(attempts.len(), 1);
    assert_eq!(&attempts[0].operator_message_id[..], b"theirs");
    h.reopen();
    h.store().write_for_sinks(sinks);
    assert_eq!(told(h, 101), all, "it is durable");
    let waiting = h.store().sink_backlog(vec![101, 102, 103]).wait();
    let waiting: Vec<_> = (waiting.expect("answers").iter())
        .map(|one| (one.reader, one.events))
        .collect();
    assert_eq!(waiting, [(101, 5), (102, 2)]);
    let read = h
        .store()
        .read_sink(101, 1)
        .wait()
        .expect("answers")
        .expect("events");
    assert!(read.is_full);
    assert_eq!(
        h.store().finish_sink(102, read.rows.clone()).wait(),
        Ok(0),
        "another's"
    );
    assert_eq!(h.store().finish_sink(101, read.rows.clone()).wait(), Ok(1));
    assert_eq!(h.store().finish_sink(101, read.rows).wait(), Ok(0));
    assert_eq!(told(h, 101), all[1..]);
    assert_eq!(h.store().drop_events(i64::MAX, 100).wait(), Ok(6));
}
