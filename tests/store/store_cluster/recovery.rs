//! The active messages of a partition: the rules of a restart, by queue and partition.

use smsc::domain::partition::WHOLE;
use smsc::store::cluster::{ClusterStore, LeasedResource, Partition};
use smsc::store::{Active, MessageStage, Store as _};

use super::database::{Database, Node};

/// Queue 7 is an operator's, 8 another's, 20 and 21 are accounts'. Each row: the id, and its state.
const MESSAGES: &str = "
INSERT INTO msg SELECT id, 0, 2, queue, part, 1, 5, 99, '', '', 0, 1, '' FROM (VALUES
  (101, 7, 3),  -- waits
  (102, 7, 4),  -- another partition
  (103, 7, 3),  -- handed over, waits for its receipt
  (104, 7, 3),  -- failed once, tried again, handed over
  (105, 7, 3),  -- failed once, retry
  (106, 7, 3),  -- a try without an answer
  (107, 7, 3),  -- a try and an answer without a status
  (108, 7, 3),  -- a try that was answered
  (109, 7, 3),  -- moved to 8 and back and to 8
  (110, 8, 3),  -- moved to 7
  (111, 7, 3),  -- final, nobody to tell
  (112, 7, 3),  -- final, 20 must be told
  (113, 7, 3),  -- final, 20 was told
  (114, 7, 3),  -- handed over, final, 21 must be told
  (115, 20, 9), -- for an account
  (116, 8, 3)   -- waits elsewhere
) m(id, queue, part);
INSERT INTO sent SELECT id, attempt, 1, 7, status, 'x', 1, 0 FROM (VALUES
  (103, 1, 0), (104, 1, 8), (104, 2, 0), (105, 1, 8), (107, 1, -1), (108, 1, 8), (114, 1, 0)
) s(id, attempt, status);
INSERT INTO tries VALUES(106, 1, 1, 7), (107, 1, 1, 7), (108, 1, 1, 7);
INSERT INTO retry VALUES(105, 50, 2), (108, 60, 1);
INSERT INTO change SELECT id, seq, 1, kind, queue, '' FROM (VALUES
  (109, 1, 1, 8), (109, 2, 1, 7), (109, 3, 1, 8), (109, 4, 2, 7), (110, 1, 1, 7), (101, 1, 2, 0)
) c(id, seq, kind, queue);
INSERT INTO change SELECT 105, 1, 1, 2, 7, 'ended the session';
INSERT INTO fin SELECT id, 1, 2, '', 7, tell FROM (VALUES
  (111, 0), (112, 20), (113, 20), (114, 21)) f(id, tell);
INSERT INTO told VALUES(113);
";

fn row(id: u64, queue: u32, part: u8) -> Active {
    Active {
        id,
        sender: 2,
        queue,
        part,
        priority: 1,
        due_at: 5,
        expires_at: 99,
        attempts: 0,
        ended: 0,
        stage: MessageStage::Waiting,
    }
}

fn take_over(node: &Node, queue: u32, parts: &[u8]) -> Vec<Active> {
    let partitions: Vec<Partition> = parts
        .iter()
        .map(|&part| Partition { queue, part })
        .collect();
    let resources: Vec<LeasedResource> = partitions
        .iter()
        .copied()
        .map(LeasedResource::Queue)
        .collect();
    node.store
        .declare(resources.clone())
        .wait()
        .expect("declares");
    node.store.claim(resources).wait().expect("claims");
    node.take_over(partitions).expect("takes over")
}

fn give_back(node: &Node, queue: u32, parts: &[u8]) {
    let resources = parts
        .iter()
        .map(|&part| LeasedResource::Queue(Partition { queue, part }));
    node.store
        .release(resources.collect())
        .wait()
        .expect("releases");
}

fn expected() -> Vec<Active> {
    vec![
        row(101, 7, 3),
        Active {
            due_at: 50,
            attempts: 2,
            ended: 1,
            ..row(105, 7, 3)
        },
        Active {
            stage: MessageStage::OutcomeUnknown,
            ..row(106, 7, 3)
        },
        Active {
            attempts: 1,
            stage: MessageStage::OutcomeUnknown,
            ..row(107, 7, 3)
        },
        Active {
            due_at: 60,
            attempts: 1,
            ..row(108, 7, 3)
        },
        row(110, 7, 3),
    ]
}

#[test]
fn a_partition_has_what_a_restart_would_find() {
    // All above the mark, all carried over it, and some of each.
    for mark in [0, 1000, 107] {
        let database = Database::new();
        let session = database.session();
        session.run(MESSAGES);
        session.run(&format!(
            "INSERT INTO carry SELECT id FROM msg WHERE id < {mark};
             INSERT INTO meta VALUES('low_water', {mark})
             ON CONFLICT(key) DO UPDATE SET value = excluded.value"
        ));
        let node = database.node();
        taken_over(&node, mark);
        // Rows of `carry` have their owners from here on, and none lacks its message.
        node.store.advance_low_water().wait().expect("advances");
        let unowned = session.value("SELECT count(*) FROM carry WHERE queue IS NULL");
        assert_eq!(unowned, "0", "mark {mark}");
        taken_over(&node, mark);
    }
}

/// The whole of [`MESSAGES`], by its owners.
fn taken_over(node: &Node, mark: u64) {
    assert_eq!(take_over(node, 7, &[3]), expected(), "mark {mark}");
    let both = take_over(node, 7, &[3, 4]);
    assert_eq!(both.len(), expected().len() + 1);
    assert_eq!(both[1], row(102, 7, 4));
    assert_eq!(take_over(node, 7, &[5]), []);
    assert_eq!(take_over(node, 8, &[3]), [row(109, 8, 3), row(116, 8, 3)]);

    let untold = |id, tell, attempts| Active {
        attempts,
        stage: MessageStage::Untold { tell, at: 1 },
        ..row(id, 7, WHOLE)
    };
    let account = take_over(node, 20, &[WHOLE]);
    assert_eq!(account, [untold(112, 20, 0), row(115, 20, WHOLE)]);
    assert_eq!(take_over(node, 21, &[WHOLE]), [untold(114, 21, 1)]);
    // The same in parts.
    give_back(node, 20, &[WHOLE]);
    let part = |part, active: Active| Active { part, ..active };
    let account = take_over(node, 20, &[3, 4]);
    assert_eq!(account, [part(3, untold(112, 20, 0))]);
    assert_eq!(take_over(node, 20, &[9]), [row(115, 20, 9)]);
    give_back(node, 20, &[3, 4, 9]);
}
