//! Every message that ends is in the archive once, whatever is killed or full; until then it stays in the store.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::harness::{Cluster, Peer, PrivatePostgres, Simulator, Smsc, submit, until};
use crate::records_are_exact::{assert_one_each, counted, ended, finish, load};

const MOST_KILLS: usize = 8;
/// The load ends by itself; on a slow machine after fewer kills.
const LEAST_KILLS: usize = 2;
const MESSAGES: usize = 40_000;
const EACH: usize = 20;

/// The rows of all files in a folder, also of those that are being written.
fn rows(folder: &Path) -> Vec<Value> {
    let files = fs::read_dir(folder).into_iter().flatten();
    let paths = files.map(|file| file.unwrap().path());
    let of_messages = paths.filter(|path| path.to_string_lossy().contains("/archive-"));
    // One that is renamed meanwhile is read the next time.
    let texts = of_messages.filter_map(|path| fs::read_to_string(path).ok());
    let text = texts.collect::<String>();
    let lines = text.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

fn id_of(row: &Value) -> String {
    row["id"].as_str().unwrap().to_owned()
}

fn archived(smsc: &Smsc) -> Vec<Value> {
    rows(&smsc.data_dir().join("archive"))
}

/// Submits messages, which end at once.
fn send(esme: &mut Peer, from: usize, count: usize) -> Vec<String> {
    (from..from + count)
        .map(|at| esme.submit(submit(&format!("4477009{at:05}"), "hello")))
        .collect()
}

#[test]
fn each_message_is_in_the_files_once_after_kills_at_load() {
    let operator = Simulator::new().start();
    let mut smsc = Smsc::new()
        .account_with("test", "test", "window = 500")
        .operator_with("up", operator.address(), "binds = 2\nwindow = 250")
        .route("", "up")
        .toml("[archive]\nenabled = true\nrotate_mib = 1")
        .start();
    let mut load = load(&smsc, smsc.smpp(), MESSAGES, "3000");
    let mut kills = 0;
    while kills < MOST_KILLS && load.is_running() {
        let before = archived(&smsc).len();
        until("messages to be archived", || {
            (archived(&smsc).len() > before + 500).then_some(())
        });
        smsc.kill();
        smsc.start_again();
        kills += 1;
    }
    assert!(kills >= LEAST_KILLS, "only {kills} kills in that load");
    finish(&mut load);
    assert_one_each(&ended(&smsc), || counted(archived(&smsc).iter().map(id_of)));
    let names = fs::read_dir(smsc.data_dir().join("archive")).unwrap();
    let names = names.map(|file| file.unwrap().file_name().into_string().unwrap());
    let parts = names.filter(|name| name.ends_with(".part")).count();
    assert!(parts <= 1, "what a kill has left has its final name");
    smsc.assert_no_panic();
}

#[test]
fn a_full_disk_holds_messages_back_and_loses_none() {
    // The archive is on the small disk, the store is not.
    let smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .on_a_small_disk(8)
        .env("SMSC_DATA_DIR", "store")
        .env("SMSC_STORE__RETENTION", "1s")
        .env("SMSC_ARCHIVE__DIR", "data/archive")
        .toml("[archive]\nenabled = true\n[cdr]\nenabled = false")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let admin = smsc.admin();
    smsc.disk().fill();
    let mut sent = send(&mut esme, 0, EACH);
    until("writes to fail", || {
        let failed = admin.metric("smsc_archive_failures_total").unwrap_or(0.0);
        (failed >= 2.0).then_some(())
    });
    let status = admin.get("/v1/archive");
    assert_eq!(status["waiting"], EACH, "{status}");
    for id in &sent {
        assert_eq!(admin.get(&format!("/v1/messages/{id}"))["id"], id.as_str());
    }
    smsc.disk().empty();
    sent.extend(send(&mut esme, EACH, EACH));
    let nothing = |status: &Value| status["waiting"] == 0 && status["messages"] == 2 * EACH;
    until("all messages to be archived", || {
        nothing(&admin.get("/v1/archive")).then_some(())
    });
    let copy = smsc.file("copied");
    smsc.disk().copy_folder_to("archive", &copy);
    let sent: BTreeSet<String> = sent.into_iter().collect();
    assert_one_each(&sent, || counted(rows(&copy).iter().map(id_of)));
}

#[test]
fn a_second_database_that_goes_away_gets_each_message_once() {
    let mut target = PrivatePostgres::start();
    let smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .toml(&format!(
            "[archive]\nenabled = true\nformat = \"database\"\ndatabase_url = {:?}\ndatabase_timeout = \"2s\"",
            target.url()
        ))
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let in_table = |target: &PrivatePostgres| {
        let rows = target.rows("SELECT id::text FROM sms_archive");
        counted(rows.iter().map(|row| row.get(0)))
    };
    let admin = smsc.admin();
    let mut sent = send(&mut esme, 0, EACH);
    until("the first messages", || {
        (admin.get("/v1/archive")["messages"] == EACH).then_some(())
    });
    target.kill9();
    sent.extend(send(&mut esme, EACH, EACH));
    until("writes to fail", || {
        (admin.get("/v1/archive")["failures"].as_u64() >= Some(1)).then_some(())
    });
    target.restart();
    sent.extend(send(&mut esme, 2 * EACH, EACH));
    until("all messages", || {
        (admin.get("/v1/archive")["messages"] == 3 * EACH).then_some(())
    });
    let sent: BTreeSet<String> = sent.into_iter().collect();
    assert_one_each(&sent, || in_table(&target));
    let whole = target.rows(
        "SELECT text, details->'attempts'->0->>'operator' FROM sms_archive ORDER BY id LIMIT 1",
    );
    assert_eq!(whole[0].get::<_, &str>(0), "hello");
    assert_eq!(whole[0].get::<_, &str>(1), "test:delivered");
}

#[test]
fn three_nodes_archive_each_message_once_when_the_one_that_writes_is_killed() {
    let mut cluster = Cluster::of(3)
        .short_lease()
        .each(|smsc| {
            smsc.account("test", "test")
                .route("", "test:delivered")
                .toml("[archive]\nenabled = true")
        })
        .start();
    let writer = |cluster: &Cluster| {
        until("a node that archives", || {
            (0..3).find(|node| !archived(&cluster.nodes[*node]).is_empty())
        })
    };
    let mut esme = Peer::bind(cluster.nodes[2].smpp(), "test", "test");
    let mut sent = send(&mut esme, 0, EACH);
    let first = writer(&cluster);
    cluster.nodes[first].kill();
    let other = (first + 1) % 3;
    let mut esme = Peer::bind(cluster.nodes[other].smpp(), "test", "test");
    sent.extend(send(&mut esme, EACH, EACH));
    // What the lost node had taken waits for it; what ended since does not.
    until("another node to archive", || {
        (0..3)
            .any(|node| node != first && !archived(&cluster.nodes[node]).is_empty())
            .then_some(())
    });
    cluster.nodes[first].start_again();
    let sent: BTreeSet<String> = sent.into_iter().collect();
    assert_one_each(&sent, || {
        let nodes = cluster.nodes.iter().flat_map(|node| archived(node));
        counted(nodes.map(|row| id_of(&row)))
    });
}

#[cfg(feature = "parquet")]
#[test]
fn a_file_of_parquet_is_whole_and_has_what_waited() {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    let mut smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .toml("[archive]\nenabled = true\nformat = \"parquet\"\nrotate_every = \"1s\"")
        .start();
    let mut sent = BTreeSet::new();
    let read = |smsc: &Smsc| -> Vec<String> {
        let files = fs::read_dir(smsc.data_dir().join("archive")).unwrap();
        let paths = files.map(|file| file.unwrap().path());
        let whole = paths.filter(|path| path.extension().is_some_and(|one| one == "parquet"));
        let mut ids = Vec::new();
        for path in whole {
            let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
            for row in reader.get_row_iter(None).unwrap() {
                let columns = row.unwrap().into_columns();
                ids.push(columns[0].1.to_string());
                let last = &columns.last().unwrap().0;
                assert_eq!(last, "details");
            }
        }
        ids
    };
    for round in 0..3 {
        let mut esme = Peer::bind(smsc.smpp(), "test", "test");
        sent.extend(send(&mut esme, round * EACH, EACH));
        smsc.kill();
        smsc.start_again();
    }
    assert_one_each(&sent, || counted(read(&smsc).into_iter()));
}

#[test]
fn an_archived_message_is_whole_and_can_be_erased() {
    let mut smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .toml("[archive]\nenabled = true")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello"));
    let row = until("the row", || archived(&smsc).into_iter().next());
    assert_eq!(id_of(&row), id);
    assert_eq!(row["destination"], "447700900123");
    assert_eq!(row["text"], "hello");
    assert_eq!(row["state"], "DELIVERED");
    assert_eq!(row["details"]["attempts"][0]["operator"], "test:delivered");
    let admin = smsc.admin();
    let seen = admin.with_role("read", "watcher").get("/v1/archive");
    assert_eq!(seen["format"], "jsonl");
    assert_eq!(seen["writes_here"], true);
    let shown = smsc.command(&["archive", "status"]);
    assert!(shown.stdout.contains("jsonl in "), "{}", shown.stdout);
    // Only its owner may read it.
    let file = fs::read_dir(smsc.data_dir().join("archive")).unwrap();
    let mode = |file: fs::DirEntry| {
        use std::os::unix::fs::PermissionsExt as _;
        file.metadata().unwrap().permissions().mode() & 0o077
    };
    assert!(file.map(|file| mode(file.unwrap())).all(|mode| mode == 0));

    esme.deliver();
    let erased = smsc.command(&["erase", "--msisdn", "447700900123", "--yes"]);
    assert!(erased.success, "{}", erased.stderr);
    let row = archived(&smsc).into_iter().next().unwrap();
    assert_eq!(row["destination"], "(erased)");
    assert!(row["text"].is_null(), "{row}");
    // The file is whole, and the next message goes into another one.
    let next = esme.submit(submit("447700900124", "next"));
    smsc.kill();
    smsc.start_again();
    let both = BTreeSet::from([id, next]);
    assert_one_each(&both, || counted(archived(&smsc).iter().map(id_of)));
}
