//! The layers of docs/developers/architecture.md, checked in the source: arrows never point up, only some files
//! name actix, files stay small and have a header, and no test file is forgotten.

#[path = "architecture/circles.rs"]
mod circles;
#[path = "architecture/rooms.rs"]
mod rooms;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Which other modules each module of the root package may name; crates have the names that `src/lib.rs`
/// gives them. The dependencies of crates are in their Cargo.toml.
const LAYERS: &[(&str, &[&str])] = &[
    ("clock", &[]),
    (
        "actors",
        &[
            // The Admin actor answers with the structs that HTTP writes.
            "api",
            "archive",
            "domain",
            "pb",
            "smpp",
            "sms",
            "content",
            "firewall",
            "gsup",
            "map",
            "sctp",
            "sigtran",
            "carrier",
            "cmpp",
            "sgip",
            "smgp",
            "store",
            "config",
            "telemetry",
            "clock",
            "tls",
            "files",
            "users",
            "socket",
            "numbers",
        ],
    ),
    (
        "http",
        &[
            "api",
            "domain",
            "numbers",
            "pb",
            "content",
            "actors",
            "config",
            "telemetry",
            "clock",
            "tls",
            "xml_rpc",
            "manual",
        ],
    ),
    (
        "app",
        &[
            "domain",
            "pb",
            "smpp",
            "content",
            "store",
            "config",
            "telemetry",
            "clock",
            "tls",
            "files",
            "socket",
            "actors",
            "http",
        ],
    ),
    (
        "cli",
        &[
            "api",
            "domain",
            "pb",
            "firewall",
            "sctp",
            "smpp",
            "sigtran",
            "sms",
            "files",
            "store",
            "config",
            "telemetry",
            "clock",
            "http",
            "simulator",
            "gateway",
            "gsm_core",
            "load",
            "map_core",
            "archive",
            "convert",
            "decode",
            "tls",
            "app",
        ],
    ),
];

/// Where actix may be named: the actors, the HTTP side, the composition root, the message table,
/// and the command that starts the actix system.
const KNOW_ACTIX: &[&str] = &[
    "src/actors",
    "src/http",
    "src/app.rs",
    "src/app/starter.rs",
    "src/cli/serve.rs",
    "crates/proto",
];

/// The only file that reads the wall clock.
const READS_THE_CLOCK: &str = "crates/host/src/clock.rs";

/// Longest file.
const LINES: usize = 800;

/// A source file: its path in the repository, and its text without comments.
struct Source {
    path: String,
    text: String,
    code: String,
}

#[test]
fn arrows_never_point_up() {
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|source| !is_test(&source.path)) {
        let Some(module) = module_of(&source.path) else {
            continue;
        };
        let allowed = LAYERS.iter().find(|(name, _)| *name == module);
        let Some((_, allowed)) = allowed else {
            wrong.push(format!(
                "{}: {module} is no layer of tests/architecture.rs",
                source.path
            ));
            continue;
        };
        for named in modules_named(&source.code) {
            if named != module && !allowed.contains(&named.as_str()) {
                wrong.push(format!("{}: {module} must not name {named}", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_some_files_know_actix() {
    let knows = |path: &str| {
        KNOW_ACTIX.iter().any(|known| {
            path == *known
                || path == format!("{known}.rs")
                || path.starts_with(&format!("{known}/"))
        })
    };
    let wrong: Vec<String> = sources()
        .iter()
        .filter(|source| !knows(&source.path))
        .filter(|source| {
            // A path or an import; a log filter may name the target in a string.
            ["actix::", "actix_web::", "actix_rt::", "use actix"]
                .iter()
                .any(|named| source.code.contains(named))
        })
        .map(|source| format!("{} names actix", source.path))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_the_clock_reads_the_wall_clock() {
    let wrong: Vec<String> = sources()
        .iter()
        .filter(|source| source.path != READS_THE_CLOCK)
        .filter(|source| {
            ["SystemTime::now", "Timestamp::now", "Zoned::now"]
                .iter()
                .any(|call| source.code.contains(call))
        })
        .map(|source| format!("{} reads the wall clock; use smsc_host::clock", source.path))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_are_small_and_say_what_they_are() {
    let mut wrong = Vec::new();
    for source in sources() {
        let lines = source.text.lines().count();
        if lines > LINES {
            wrong.push(format!(
                "{} has {lines} lines; split it at {LINES}",
                source.path
            ));
        }
        if !source.text.starts_with("//! ") {
            wrong.push(format!(
                "{} does not open with //! and what it is",
                source.path
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_file_of_tests_is_part_of_a_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let mut files = Vec::new();
    collect(&root.join("tests"), &mut files);
    assert!(files.len() > 100, "{} files are too few", files.len());
    let is_named = |file: &Path| {
        let (folder, name) = (file.parent().unwrap(), file.file_stem().unwrap());
        let name = name.to_str().unwrap();
        if folder == root.join("tests") {
            return manifest.contains(&format!("name = \"{name}\"\n"));
        }
        if name == "main" {
            let path = file.strip_prefix(root).unwrap().display();
            return manifest.contains(&format!("path = \"{path}\"\n"));
        }
        let owner = [folder.join("main.rs"), folder.with_extension("rs")];
        let owner = owner.iter().find_map(|file| fs::read_to_string(file).ok());
        owner.is_some_and(|owner| owner.contains(&format!("mod {name};\n")))
    };
    // Each program includes the harness, so the compiler reports missing files of it.
    let of_tests = files
        .iter()
        .filter(|file| !file.starts_with(root.join("tests/harness")));
    let forgotten: Vec<&PathBuf> = of_tests.filter(|file| !is_named(file)).collect();
    assert!(forgotten.is_empty(), "in no program: {forgotten:?}");
}

#[test]
fn the_layers_hold_no_circle() {
    for (place, (module, allowed)) in LAYERS.iter().enumerate() {
        for lower in *allowed {
            let at = LAYERS.iter().position(|(name, _)| name == lower);
            assert!(
                at.is_none_or(|at| at < place),
                "{module} names {lower}, which is not below it"
            );
        }
    }
}

#[test]
fn the_reader_of_source_understands_it() {
    let code = without_comments(
        "use crate::{store::Store, smpp::{codec, Pdu}};\n// crate::http\nlet x = crate::pb::Fin;",
    );
    let named: Vec<String> = modules_named(&code).into_iter().collect();
    assert_eq!(named, ["pb", "smpp", "store"]);
    assert_eq!(module_of("src/http/v1.rs").as_deref(), Some("http"));
    assert_eq!(module_of("src/app.rs").as_deref(), Some("app"));
    assert_eq!(module_of("src/lib.rs"), None);
}

// === reading source ===

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    collect(&root.join("src"), &mut files);
    for package in fs::read_dir(root.join("crates")).unwrap() {
        collect(&package.unwrap().path().join("src"), &mut files);
    }
    files.sort();
    assert!(
        files.len() > 50,
        "{} source files are too few to be all",
        files.len()
    );
    files
        .into_iter()
        .map(|file| {
            let text = fs::read_to_string(&file).unwrap();
            Source {
                path: file
                    .strip_prefix(root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned(),
                code: without_comments(&text),
                text,
            }
        })
        .collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Removes line comments, including documentation: a link to a higher layer is not an import.
fn without_comments(text: &str) -> String {
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Files that contain only tests may use everything.
fn is_test(path: &str) -> bool {
    path.ends_with("tests.rs") || path.contains("tests/")
}

/// The top-level module of a file of the root package; `None` for lib.rs and main.rs.
fn module_of(path: &str) -> Option<String> {
    let first = path
        .strip_prefix("src/")?
        .split('/')
        .next()?
        .trim_end_matches(".rs");
    (!["lib", "main"].contains(&first)).then(|| first.to_owned())
}

/// Top-level modules named as `crate::x` or inside `crate::{x::…, y::…}`.
fn modules_named(code: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(group) => named.extend(first_of_each(group)),
            None => named.extend(
                words(rest)
                    .next()
                    .filter(|_| starts_a_word(rest))
                    .map(str::to_owned),
            ),
        }
    }
    // Macros and items at the root of the crate are not modules.
    named.retain(|name| name.starts_with(|c: char| c.is_ascii_lowercase()) && name != "include");
    named
}

/// The first name of every element of a `{…}` group whose opening brace has been read.
fn first_of_each(group: &str) -> Vec<String> {
    let (mut depth, mut element, mut names) = (0, String::new(), Vec::new());
    for character in group.chars() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(std::mem::take(&mut element)),
            other if depth == 0 => element.push(other),
            _ => {}
        }
    }
    names.push(element);
    names
        .iter()
        .filter_map(|element| words(element).next().map(str::to_owned))
        .collect()
}

fn starts_a_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}
