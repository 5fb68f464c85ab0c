//! One server uses a data folder, whatever becomes of the lock file in it.

use std::fs::{self, File};

use crate::harness::{Smsc, free_port, until};

/// EX_UNAVAILABLE of sysexits.h.
const TAKEN: i32 = 69;

fn smsc() -> Smsc {
    Smsc::new()
        .relaying_to(([127, 0, 0, 1], free_port()).into())
        .start()
}

#[test]
fn without_its_lock_file_a_folder_is_in_use_all_the_same() {
    let smsc = smsc();
    let lock = smsc.data_dir().join("smsc.lock");
    fs::remove_file(&lock).unwrap();
    let mut other = smsc.config();
    for (address, port) in [("smpp", smsc.smpp()), ("http", smsc.http())] {
        let of_its_own = format!("127.0.0.1:{}", free_port());
        assert!(other.contains(&port.to_string()), "{address}");
        other = other.replace(&port.to_string(), &of_its_own);
    }
    fs::write(smsc.file("other.toml"), other).unwrap();
    for arguments in [
        &["serve", "--config", "other.toml"][..],
        &["repair-ids", "--config", "other.toml", "--dry-run"],
    ] {
        let refused = smsc.run(arguments);
        assert_eq!(refused.code, Some(1), "{arguments:?}: {}", refused.stderr);
        assert!(
            refused.stderr.contains("in use by another smsc process"),
            "{}",
            refused.stderr
        );
    }
    // For releases that know nothing but the file.
    until("the lock file to be there again", || {
        let file = File::open(&lock).ok()?;
        file.try_lock().is_err().then_some(())
    });
    assert!(smsc.log().contains("it was taken again"), "{}", smsc.log());
    smsc.fsck();
}

#[test]
fn a_server_whose_lock_another_process_has_stops_at_once() {
    let mut smsc = smsc();
    let lock = smsc.data_dir().join("smsc.lock");
    // What a release does that knows nothing but the file, without the moment between both steps.
    let theirs = smsc.file("theirs");
    let file = File::create(&theirs).unwrap();
    file.lock().unwrap();
    fs::rename(&theirs, &lock).unwrap();
    assert_eq!(smsc.wait().code(), Some(TAKEN));
    let said = smsc.log();
    assert!(said.contains("another smsc process has taken it"), "{said}");
    drop(file);
    smsc.start_again();
    smsc.terminate();
    smsc.fsck();
}
