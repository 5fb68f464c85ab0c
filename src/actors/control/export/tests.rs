//! Tests of the task Export: records after a crash, from memory and from the store, and what waits.

use bytes::Bytes;

use super::*;
use crate::actors::multipart::stage;
use crate::actors::test_support::{self, TestNode};
use crate::config::CdrFormat;
use crate::pb::{Final, Message, MessageState};
use crate::store::{FinRow, WriteBatch};

async fn node(folder: &std::path::Path, format: CdrFormat) -> TestNode {
    let dir = folder.join("cdr");
    let node = test_support::node_with(1, None, |config| {
        config.cdr.dir = Some(dir);
        config.cdr.format = format;
    });
    let node = node.await;
    let context = &node.context;
    context.store.write_events_for(&readers(&context.config()));
    node
}

/// Accepts and ends messages.
async fn end(node: &TestNode, ids: &[u64]) {
    let message = |id: &u64| Message {
        id: *id,
        sender: node.account,
        queue: node.operator,
        destination: Bytes::from_static(b"447700900123"),
        ..Message::default()
    };
    let fin = |id: &u64| FinRow {
        id: *id,
        at: 1_800_000_000_000,
        state: MessageState::Delivered,
        error: Bytes::new(),
        operator: node.operator,
        tell: 0,
        done_at: 0,
        remote_item: Bytes::new(),
        remote_part: 0,
    };
    let rows = WriteBatch {
        accept: ids.iter().map(message).collect(),
        fin: ids.iter().map(fin).collect(),
        ..WriteBatch::default()
    };
    node.context.store.write(rows).await.expect("written");
}

fn start(node: &TestNode) -> Cdr {
    let store = Arc::clone(&node.context.store);
    let just_ended = Arc::new(JustEnded::new(&[EventReader::Cdr]));
    let started = Cdr::start(&node.context.config(), store, just_ended);
    started.expect("a folder").0.expect("enabled")
}

fn lines(folder: &std::path::Path) -> Vec<u64> {
    let files = files::all(&folder.join("cdr")).expect("a folder");
    let read = |name: &String| std::fs::read(folder.join("cdr").join(name)).expect("read");
    let text = files.iter().map(read);
    let text: Vec<u8> = text.flatten().collect();
    let lines = text.split(|octet| *octet == b'\n');
    lines.filter_map(record::id_of).collect()
}

async fn all(cdr: &mut Cdr, node: &TestNode) {
    while cdr.step(&node.context).await.expect("written") {}
}

#[actix::test]
async fn what_a_crash_has_left_written_is_not_written_again() {
    for format in [CdrFormat::Jsonl, CdrFormat::Csv] {
        let folder = tempfile::tempdir().expect("a folder");
        let node = node(folder.path(), format).await;
        end(&node, &[11, 12, 13]).await;
        // Killed after two records and half of the third, before the events were finished.
        let Output::Files(files, _) = start(&node).output else {
            panic!("no files");
        };
        let mut written = Vec::new();
        for id in [11, 12, 13] {
            let row = CdrRow {
                id,
                ..Default::default()
            };
            record::line(format, &mut written, &row);
        }
        written.truncate(written.len() - 5);
        let append = files.call(move |files| files.append(&written));
        append.await.expect("written");
        drop(files);
        let mut cdr = start(&node);
        all(&mut cdr, &node).await;
        assert_eq!(lines(folder.path()), [11, 12, 13]);
        end(&node, &[14]).await;
        all(&mut cdr, &node).await;
        assert_eq!(lines(folder.path()), [11, 12, 13, 14]);
        let waiting = node.context.store.backlog().await.expect("answers");
        assert_eq!(waiting, []);
    }
}

#[actix::test]
async fn a_record_says_the_same_from_memory_as_from_the_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = node(folder.path(), CdrFormat::Jsonl).await;
    let context = &node.context;
    end(&node, &[11]).await;
    let rows = WriteBatch {
        sent: vec![stage::handed_to(11, node.operator, Bytes::new(), 1)],
        ..WriteBatch::default()
    };
    context.store.write(rows).await.expect("written");
    let read = context.store.read_ended(vec![11]).await.expect("answers");
    let read = read[0].as_ref().expect("a message");
    let fin = read.fin.clone().expect("it has ended");
    let just_ended = JustEnded::new(&[EventReader::Cdr]);
    just_ended.keep(vec![Final {
        id: 11,
        state: fin.state.into(),
        at: fin.at,
        operator: fin.operator,
        attempts: 1,
        message: Some(Box::new(read.message.clone())),
        ..Final::default()
    }]);
    let kept = just_ended.take(EventReader::Cdr, &[11]);
    let kept = kept[0].as_ref().expect("it was kept");
    let plan = context.plan();
    let record = record::record(&plan, kept);
    assert_eq!(record, record::record(&plan, read));
    assert_eq!(record.expect("a record").attempts, 1);
}

#[actix::test]
async fn a_file_that_cannot_be_written_loses_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = node(folder.path(), CdrFormat::Jsonl).await;
    let mut cdr = start(&node);
    end(&node, &[11]).await;
    let (dir, away) = (folder.path().join("cdr"), folder.path().join("away"));
    std::fs::rename(&dir, &away).expect("renamed");
    assert!(cdr.step(&node.context).await.is_err());
    let oldest = oldest_unread(&node.context).await;
    assert_eq!(oldest, Ok(Some(1_800_000_000_000)), "its message stays");
    std::fs::rename(&away, &dir).expect("renamed");
    all(&mut cdr, &node).await;
    assert_eq!(lines(folder.path()), [11]);
    assert_eq!(oldest_unread(&node.context).await, Ok(None));
}
