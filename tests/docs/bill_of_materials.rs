//! What a release brings beside the binary: the bill of materials of scripts/sbom, the labels of the image, and scripts that are
//! not run here.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::harness::{debian_tool, python_script, run, run_reading};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sbom() -> String {
    let said =
        run(Command::new(root().join("scripts/sbom")).env("SOURCE_DATE_EPOCH", "1750000000"));
    assert!(said.success, "{}", said.stderr);
    said.stdout
}

#[test]
fn the_bill_of_materials_is_valid_and_has_every_crate_of_the_binary() {
    let bill = sbom();
    assert_eq!(bill, sbom(), "the same commit, another text");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("smsc.cdx.json");
    std::fs::write(&file, &bill).unwrap();
    let said = run_reading(&mut python_script("sbom.py", &[]), &file);
    assert!(said.success, "{}", said.stdout);
    let read: Value = serde_json::from_str(said.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(read["licences"], serde_json::json!({}));
    assert_eq!(read["loose"], serde_json::json!([]));
    let components = read["components"].as_array().unwrap();
    let listed: BTreeSet<&str> = components.iter().filter_map(Value::as_str).collect();
    // What a build of the binary compiles on this platform, and nothing of the tests.
    let mut tree = Command::new("cargo");
    tree.args(["tree", "--locked", "--package", "smsc", "--prefix", "none"])
        .args(["--edges", "normal,build", "--format", "{p}"])
        .args(["--target", "x86_64-unknown-linux-gnu"])
        .current_dir(root());
    let tree = run(&mut tree);
    assert!(tree.success, "{}", tree.stderr);
    for line in tree.stdout.lines().filter(|line| !line.is_empty()) {
        let mut words = line.split(' ');
        let (name, version) = (words.next().unwrap(), words.next().unwrap());
        let crate_of = format!("{name} {}", version.trim_start_matches('v'));
        assert!(
            name == "smsc" || listed.contains(&*crate_of),
            "{crate_of} is missing"
        );
    }
    assert!(
        listed.iter().any(|one| one.starts_with("sqlite ")),
        "{listed:?}"
    );
    assert!(!listed.iter().any(|one| one.starts_with("mock-collector ")));
}

#[test]
fn scripts_for_real_containers_and_clusters_are_sound() {
    let scripts = [
        "celllib/init",
        "clusterlib/build",
        "clusterlib/inside",
        "cluster",
        "container",
        "kind",
    ];
    let mut shellcheck = debian_tool("shellcheck");
    shellcheck
        .arg("--external-sources")
        .args(scripts.map(|script| root().join("scripts").join(script)))
        .current_dir(root());
    for folder in ["celllib", "clusterlib"] {
        let entries = std::fs::read_dir(root().join("scripts").join(folder)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        shellcheck.args(paths.filter(|path| path.extension().is_some_and(|ext| ext == "sh")));
    }
    let said = run(&mut shellcheck);
    assert!(said.success, "{}", said.stdout);
    let text = std::fs::read_to_string(root().join("scripts/kind")).unwrap();
    assert!(text.contains("NEVER RUN BY THIS PROJECT"));
}
