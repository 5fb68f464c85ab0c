//! A log of the embedded store that was damaged after its messages were acknowledged stops the next start; a torn last
//! transaction, which nobody was told of, does not.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::{Peer, Smsc, free_port, submit};

/// EX_DATAERR of sysexits.h.
const DAMAGED: i32 = 65;
const MESSAGES: usize = 80;
/// Octets of the log's header, of the head of a frame, and of a frame.
const HEADER: usize = 32;
const HEAD: usize = 24;
const FRAME: usize = HEAD + 4096;

/// A server that was killed with acknowledged messages, and their ids.
fn killed() -> (Smsc, Vec<String>) {
    let mut smsc = Smsc::new()
        .relaying_to(([127, 0, 0, 1], free_port()).into())
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let text = "a message of some length ".repeat(5);
    let ids = (0..MESSAGES)
        .map(|_| esme.submit(submit("447700900123", &text)))
        .collect();
    smsc.kill();
    (smsc, ids)
}

fn log_of(smsc: &Smsc) -> PathBuf {
    smsc.data_dir().join("smsc.db-wal")
}

fn number(octets: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(octets[at..at + 4].try_into().unwrap())
}

/// Page and commit mark of each frame of the log.
fn frames(log: &[u8]) -> Vec<(u32, u32)> {
    let salts = &log[16..24];
    log[HEADER..]
        .chunks_exact(FRAME)
        .take_while(|frame| &frame[8..16] == salts)
        .map(|frame| (number(frame, 0), number(frame, 4)))
        .collect()
}

/// Flips a bit in a page in the middle of the log that no later frame has; the number of its frame.
fn flip(log: &Path) -> usize {
    let mut octets = fs::read(log).unwrap();
    let frames = frames(&octets);
    let last: BTreeMap<u32, usize> = (0..frames.len()).map(|at| (frames[at].0, at)).collect();
    let middle = frames.len() / 3..frames.len() * 3 / 4;
    let at = last.into_values().filter(|at| middle.contains(at)).max();
    let at = at.expect("a page that is not written again");
    octets[HEADER + at * FRAME + HEAD + 3000] ^= 4;
    fs::write(log, octets).unwrap();
    at + 1
}

fn copies(smsc: &Smsc) -> Vec<PathBuf> {
    let files = fs::read_dir(smsc.data_dir()).unwrap();
    files
        .map(|file| file.unwrap().path())
        .filter(|path| path.to_string_lossy().contains("smsc.db-wal.damaged-"))
        .collect()
}

/// The content of the store's files.
fn content(smsc: &Smsc) -> Vec<Option<Vec<u8>>> {
    let path = |end: &str| smsc.data_dir().join(format!("smsc.db{end}"));
    let ends = ["", "-wal", "-shm"];
    ends.map(|end| fs::read(path(end)).ok()).to_vec()
}

#[test]
fn a_flip_in_the_log_stops_the_next_start_until_its_loss_is_accepted() {
    let (mut smsc, ids) = killed();
    let data = smsc.data_dir();
    let frame = flip(&log_of(&smsc));
    let damaged = content(&smsc);

    // Commands say so, and leave everything as it is.
    let folder = data.to_str().unwrap();
    let where_it_is = format!("smsc.db-wal is damaged: frame {frame}, at offset ");
    let range = ["--since", "2020-01-01", "--until", "2021-01-01"];
    let to = smsc.file("copy.db");
    for arguments in [
        &["fsck", folder][..],
        &["backup", "--data-dir", folder, to.to_str().unwrap()],
        &[&["export", "--data-dir", folder][..], &range].concat(),
        &["repair-ids", "--data-dir", folder, "--dry-run"],
    ] {
        let done = smsc.run(arguments);
        let said = format!("{}{}", done.stdout, done.stderr);
        assert!(
            !done.success && said.contains(&where_it_is),
            "{arguments:?}: {said}"
        );
        assert_eq!(content(&smsc), damaged, "{arguments:?}");
    }
    assert!(!to.exists() && copies(&smsc).is_empty());

    // So does the server, which keeps one copy of the log however often it is started.
    for _ in 0..2 {
        assert_eq!(smsc.start_again_in_vain().code(), Some(DAMAGED));
        let said = smsc.log();
        for words in [
            &where_it_is,
            "A start would lose ",
            "smsc serve --accept-loss",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
        assert_eq!(content(&smsc), damaged);
        let copies = copies(&smsc);
        assert_eq!(copies.len(), 1);
        assert!(said.contains(copies[0].to_str().unwrap()), "{said}");
        assert_eq!(fs::read(&copies[0]).ok(), damaged[1]);
    }

    smsc.start_again_with(&["--accept-loss"]);
    let said = smsc.log();
    let lost = said.split("Lost: ").nth(1).expect("what is lost");
    let told: Vec<u64> = lost
        .split(|sign: char| !sign.is_ascii_digit())
        .filter_map(|word| word.parse().ok())
        .collect();
    let (count, first, last) = (told[0] as usize, told[1], told[2]);
    let admin = smsc.admin();
    let is_there = |id: &&String| admin.text(&format!("/v1/messages/{id}")).unwrap().0 == 200;
    let (left, gone): (Vec<&String>, Vec<&String>) = ids.iter().partition(is_there);
    assert!(!left.is_empty() && !gone.is_empty(), "{} left", left.len());
    assert_eq!(gone.len(), count, "{said}");
    let range = first..=last;
    assert!(
        gone.iter().all(|id| range.contains(&id.parse().unwrap())),
        "{said}"
    );
    // It is over.
    smsc.terminate();
    smsc.fsck();
    smsc.start_again();
    assert_eq!(smsc.log().matches("Lost: ").count(), 1);
    assert!(left.iter().all(is_there));
}

#[test]
fn a_power_cut_in_the_middle_of_a_commit_stops_nothing() {
    let (mut smsc, ids) = killed();
    let log = log_of(&smsc);
    let whole = fs::read(&log).unwrap();
    let frames = frames(&whole);
    let before = frames[..frames.len() - 1]
        .iter()
        .rposition(|(_, mark)| *mark > 0);
    let first = before.unwrap() + 1;
    // A power cut leaves an older index, or none.
    let _ = fs::remove_file(smsc.data_dir().join("smsc.db-shm"));
    let mut torn = whole;
    torn[HEADER + first * FRAME..][..FRAME].fill(0);
    fs::write(&log, torn).unwrap();
    smsc.start_again();
    assert!(!smsc.log().contains("damaged"), "{}", smsc.log());
    assert!(copies(&smsc).is_empty());
    let admin = smsc.admin();
    let status = |id: &String| admin.text(&format!("/v1/messages/{id}")).unwrap().0;
    assert_eq!(status(&ids[MESSAGES - 2]), 200);
    smsc.terminate();
    smsc.fsck();
    // The flag of an administrator who is too careful changes nothing.
    smsc.start_again_with(&["--accept-loss"]);
    assert!(smsc.log().contains("--accept-loss changes nothing"));
}

#[test]
fn what_a_later_commit_has_as_well_is_not_lost() {
    let (mut smsc, ids) = killed();
    let log = log_of(&smsc);
    let mut octets = fs::read(&log).unwrap();
    // The header: SQLite would take no frame at all.
    octets[9] ^= 0x20;
    fs::write(&log, octets).unwrap();
    assert_eq!(smsc.start_again_in_vain().code(), Some(DAMAGED));
    assert!(
        smsc.log().contains("its header, at offset 0"),
        "{}",
        smsc.log()
    );
    smsc.start_again_with(&["--accept-loss"]);
    assert!(smsc.log().contains("Nothing is lost"), "{}", smsc.log());
    let admin = smsc.admin();
    for id in ids {
        assert_eq!(admin.text(&format!("/v1/messages/{id}")).unwrap().0, 200);
    }
}

#[test]
fn without_room_for_a_copy_nothing_is_changed() {
    let (mut smsc, _) = killed();
    flip(&log_of(&smsc));
    let damaged = content(&smsc);
    // As on a full disk, a file cannot grow beyond 64 KiB.
    let limit = "ulimit -f 64; trap '' XFSZ; exec \"$0\" \"$@\"";
    let serve = |flags: &[&str]| {
        let mut command = std::process::Command::new("bash");
        command
            .args(["-c", limit])
            .arg(crate::harness::binary())
            .args(["serve", "--config", "smsc.toml"])
            .args(flags)
            .current_dir(smsc.file(""));
        crate::harness::run(&mut command)
    };
    let refused = serve(&[]);
    assert_eq!(refused.code, Some(DAMAGED), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("No copy of the log could be made"),
        "{}",
        refused.stderr
    );
    let refused = serve(&["--accept-loss"]);
    assert_eq!(refused.code, Some(DAMAGED), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("It was left as it is"),
        "{}",
        refused.stderr
    );
    assert_eq!(content(&smsc), damaged);
    assert!(copies(&smsc).is_empty(), "no half copy");
    assert!(!smsc.data_dir().join("smsc.db-look").exists());
    smsc.start_again_with(&["--accept-loss"]);
}

#[test]
fn a_log_without_its_database_is_not_deleted() {
    let (mut smsc, ids) = killed();
    let main = smsc.data_dir().join("smsc.db");
    let aside = smsc.file("aside.db");
    fs::rename(&main, &aside).unwrap();
    for _ in 0..2 {
        assert_eq!(smsc.start_again_in_vain().code(), Some(DAMAGED));
        let said = smsc.log();
        assert!(
            said.contains("smsc.db is missing or empty, but its log"),
            "{said}"
        );
        // It is the same where a file was made by touching it.
        fs::write(&main, "").unwrap();
    }
    fs::rename(&aside, &main).unwrap();
    smsc.start_again();
    let admin = smsc.admin();
    let there = |id: &String| admin.text(&format!("/v1/messages/{id}")).unwrap().0 == 200;
    assert!(ids.iter().all(there));
}
