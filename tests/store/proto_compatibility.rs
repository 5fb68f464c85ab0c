//! The next release must understand stored messages, messages between nodes, and programs on the same machine of
//! earlier ones: the protobuf definitions are compared with those of every release in `proto/released`.
//!
//! `SMSC_RELEASE=1 cargo test --test store proto_compatibility` adds those of this release.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet};
use smsc::pb::{Message, MessageState, OperatorReceipt};

/// The messages of `smsc/v1` that are encoded, for the store or through it for another node. They stay, with all that
/// they contain. The others pass between the actors of one process, and a release may change or drop them.
const ENCODED: [&str; 8] = [
    // Rows of messages.
    "Message",
    // What nodes hand off to one another.
    "Enqueue",
    // Orders of one node to another.
    "Order",
    // Changes of a message.
    "Moved",
    "Replacement",
    // Receipts that match no message.
    "OperatorReceipt",
    // Events before the end of a message.
    "EarlyEvents",
    // Answers to requests with an Idempotency-Key.
    "IdempotentAnswer",
];

#[test]
fn this_release_understands_every_earlier_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto");
    let folders = [
        "smsc/v1",
        "smsc/local/v1",
        "smsc/events/v1",
        "smsc/dispatch/v1",
    ];
    let folders = folders.map(|folder| proto_files(&root.join(folder)));
    let current = compile(&root, &folders.concat());
    let released = root.join("released");
    if std::env::var_os("SMSC_RELEASE").is_some() {
        let name = format!("smsc-{}.binpb", env!("CARGO_PKG_VERSION"));
        // Definitions of a release never change.
        let mut file = File::create_new(released.join(name)).expect("a new version number");
        file.write_all(&current.encode_to_vec()).unwrap();
    }
    let mut releases = 0;
    let mut found = Vec::new();
    for entry in fs::read_dir(&released).unwrap() {
        let path = entry.unwrap().path();
        let octets = fs::read(&path).unwrap();
        let before = FileDescriptorSet::decode(&octets[..]).expect("a descriptor set");
        assert!(!before.file.is_empty(), "{} is empty", path.display());
        let release = path.file_stem().unwrap().to_string_lossy().into_owned();
        let problems = problems(&encoded(before), &current).into_iter();
        found.extend(problems.map(|problem| format!("{release}: {problem}")));
        releases += 1;
    }
    assert!(releases > 0, "no release in {}", released.display());
    assert!(
        found.is_empty(),
        "two releases would not understand each other:\n{}",
        found.join("\n")
    );
}

/// What is decoded has been encoded, perhaps by an earlier release.
#[test]
fn everything_that_is_decoded_counts_as_encoded() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let current = compile(
        &root.join("proto"),
        &proto_files(&root.join("proto/smsc/v1")),
    );
    let kept = encoded(current.clone());
    let names = |set: &FileDescriptorSet| -> BTreeSet<String> {
        let messages = set.file.iter().flat_map(|file| &file.message_type);
        messages.map(|message| message.name().to_owned()).collect()
    };
    let (all, kept) = (names(&current), names(&kept));
    let code = source_below(root, "src") + &source_below(root, "crates");
    let decoded: BTreeSet<&str> = (code.match_indices("::decode("))
        .filter_map(|(at, _)| {
            let before = code[..at].trim_end_matches(" as prost::Message>");
            before.rsplit(|sign: char| !sign.is_alphanumeric()).next()
        })
        .filter(|name| all.contains(*name))
        .collect();
    let forgotten: Vec<_> = decoded
        .iter()
        .filter(|name| !kept.contains(**name))
        .collect();
    assert!(
        forgotten.is_empty(),
        "decoded, and not guarded: {forgotten:?}"
    );
    let missing: Vec<_> = ENCODED
        .iter()
        .filter(|name| !decoded.contains(*name))
        .collect();
    assert!(missing.is_empty(), "never decoded: {missing:?}");
}

#[test]
fn what_a_newer_node_adds_is_passed_over() {
    let message = Message {
        id: 1 << 60,
        sender: 3,
        destination: Bytes::from_static(b"447700900123"),
        short_message: Bytes::from_static(b"hello"),
        ..Message::default()
    };
    assert_eq!(Message::decode(&with_more(&message)[..]), Ok(message));
    let receipt = OperatorReceipt {
        sequence: 7,
        operator_message_id: Bytes::from_static(b"1a2b"),
        state: MessageState::Delivered.into(),
        ..OperatorReceipt::default()
    };
    assert_eq!(
        OperatorReceipt::decode(&with_more(&receipt)[..]),
        Ok(receipt)
    );
}

/// An encoded message between fields of every wire type that this release does not know.
fn with_more(message: &impl prost::Message) -> Vec<u8> {
    let mut octets = Vec::new();
    prost::encoding::bytes::encode(2000, &Bytes::from_static(&[0, 255, 8]), &mut octets);
    octets.extend(message.encode_to_vec());
    prost::encoding::uint64::encode(2001, &u64::MAX, &mut octets);
    prost::encoding::fixed64::encode(2002, &5, &mut octets);
    prost::encoding::fixed32::encode(2003, &5, &mut octets);
    octets
}

#[test]
fn every_kind_of_change_is_judged() {
    const BEFORE: &str = "
        message Told { uint32 one = 1; repeated bytes two = 2; reserved 9;
          oneof which { uint32 three = 3; uint32 four = 4; } State state = 5; }
        enum State { NONE = 0; GOOD = 1; BAD = 2; }";
    for (from, to, problem) in [
        ("uint32 one = 1;", "uint32 one = 1; bytes more = 10;", None),
        ("BAD = 2;", "BAD = 2; WORSE = 3;", None),
        (
            "message Told",
            "message More { uint32 one = 1; } message Told",
            None,
        ),
        ("uint32 one = 1;", "reserved 1;", None),
        ("BAD = 2;", "reserved 2;", None),
        (
            "uint32 one = 1;",
            "",
            Some("one = 1 is gone and not reserved"),
        ),
        (
            "uint32 one = 1;",
            "uint32 one = 11;",
            Some("one = 1 is gone"),
        ),
        ("uint32 one = 1;", "uint64 one = 1;", Some("type")),
        ("uint32 one = 1;", "uint32 uno = 1;", Some("is called uno")),
        (
            "uint32 one = 1;",
            "repeated uint32 one = 1;",
            Some("cardinality"),
        ),
        (
            "uint32 one = 1;",
            "optional uint32 one = 1;",
            Some("cardinality"),
        ),
        ("repeated bytes two", "bytes two", Some("cardinality")),
        ("uint32 four = 4; }", "} uint32 four = 4;", Some("oneof")),
        ("oneof which", "oneof what", Some("oneof")),
        (
            "State state = 5;",
            "Other state = 5; enum Other { O = 0; }",
            Some("type"),
        ),
        (
            "reserved 9;",
            "uint32 nine = 9;",
            Some("number 9 was given up"),
        ),
        ("BAD = 2;", "", Some("BAD = 2 is gone and not reserved")),
        ("BAD = 2;", "EVIL = 2;", Some("is called EVIL")),
        ("message Told", "message Said", Some("is gone")),
    ] {
        let after = BEFORE.replacen(from, to, 1);
        assert_ne!(after, BEFORE, "{from}");
        let found = problems(&compiled(BEFORE), &compiled(&after));
        match problem {
            None => assert!(found.is_empty(), "{to}: {found:?}"),
            Some(text) => assert!(
                found.iter().any(|one| one.contains(text)),
                "{from} to {to}: {found:?}"
            ),
        }
    }
}

// === comparing ===

/// The parts of `before` that `after` does not understand.
fn problems(before: &FileDescriptorSet, after: &FileDescriptorSet) -> Vec<String> {
    let (before, after) = (Types::of(before), Types::of(after));
    let mut found = Vec::new();
    for (name, old) in &before.messages {
        match after.messages.get(name) {
            None => found.push(format!("message {name} is gone")),
            Some(new) => compare_messages(name, old, new, &mut found),
        }
    }
    for (name, old) in &before.enums {
        match after.enums.get(name) {
            None => found.push(format!("enum {name} is gone")),
            Some(new) => compare_enums(name, old, new, &mut found),
        }
    }
    found
}

fn compare_messages(
    name: &str,
    old: &DescriptorProto,
    new: &DescriptorProto,
    found: &mut Vec<String>,
) {
    let field = |number| new.field.iter().find(|field| field.number() == number);
    // The end of a range is exclusive here.
    let is_reserved = |number| {
        let mut ranges = new.reserved_range.iter();
        ranges.any(|range| (range.start()..range.end()).contains(&number))
    };
    for before in &old.field {
        let number = before.number();
        let what = format!("{name}.{} = {number}", before.name());
        let Some(after) = field(number) else {
            if !is_reserved(number) {
                found.push(format!("{what} is gone and not reserved"));
            }
            continue;
        };
        if before.name() != after.name() {
            found.push(format!("{what} is called {}", after.name()));
        }
        if (before.r#type(), before.type_name()) != (after.r#type(), after.type_name()) {
            found.push(format!("{what} has another type"));
        }
        if cardinality(before) != cardinality(after) {
            found.push(format!("{what} has another cardinality"));
        }
        if oneof(old, before) != oneof(new, after) {
            found.push(format!("{what} is in another oneof"));
        }
    }
    for range in &old.reserved_range {
        for after in &new.field {
            if (range.start()..range.end()).contains(&after.number()) {
                let number = after.number();
                found.push(format!("{name}: the number {number} was given up for ever"));
            }
        }
    }
}

/// The label, whether presence is tracked, and the encoding of repeated fields.
fn cardinality(field: &FieldDescriptorProto) -> (Label, bool, Option<bool>) {
    let packable = !matches!(field.r#type(), Type::String | Type::Bytes | Type::Message);
    let packed = field.options.as_ref().and_then(|options| options.packed);
    let is_packed = field.label() == Label::Repeated && packable;
    (
        field.label(),
        field.proto3_optional(),
        is_packed.then_some(packed.unwrap_or(true)),
    )
}

fn oneof<'m>(message: &'m DescriptorProto, field: &FieldDescriptorProto) -> Option<&'m str> {
    // The compiler invents one for an optional field.
    let index = field.oneof_index.filter(|_| !field.proto3_optional())?;
    Some(message.oneof_decl[index as usize].name())
}

fn compare_enums(
    name: &str,
    old: &EnumDescriptorProto,
    new: &EnumDescriptorProto,
    found: &mut Vec<String>,
) {
    for before in &old.value {
        let number = before.number();
        let what = format!("{name}.{} = {number}", before.name());
        let mut ranges = new.reserved_range.iter();
        match new.value.iter().find(|value| value.number() == number) {
            Some(after) if after.name() == before.name() => {}
            Some(after) => found.push(format!("{what} is called {}", after.name())),
            // The end of a range is inclusive here.
            None if ranges.any(|range| (range.start()..=range.end()).contains(&number)) => {}
            None => found.push(format!("{what} is gone and not reserved")),
        }
    }
}

/// All definitions, by their full names.
#[derive(Default)]
struct Types<'s> {
    messages: BTreeMap<String, &'s DescriptorProto>,
    enums: BTreeMap<String, &'s EnumDescriptorProto>,
}

// === impl Types ===

impl<'s> Types<'s> {
    fn of(set: &'s FileDescriptorSet) -> Self {
        let mut types = Self::default();
        for file in &set.file {
            types.add(file.package(), &file.message_type, &file.enum_type);
        }
        types
    }

    fn add(
        &mut self,
        scope: &str,
        messages: &'s [DescriptorProto],
        enums: &'s [EnumDescriptorProto],
    ) {
        for one in enums {
            self.enums.insert(format!("{scope}.{}", one.name()), one);
        }
        for message in messages {
            let name = format!("{scope}.{}", message.name());
            self.add(&name, &message.nested_type, &message.enum_type);
            self.messages.insert(name, message);
        }
    }
}

/// Without the messages and enums of `smsc/v1` that no encoded message contains.
fn encoded(mut set: FileDescriptorSet) -> FileDescriptorSet {
    let is_own = |package: &str| package == "smsc.v1";
    let messages: BTreeMap<&str, &DescriptorProto> = (set.file.iter())
        .filter(|file| is_own(file.package()))
        .flat_map(|file| &file.message_type)
        .map(|message| (message.name(), message))
        .collect();
    let mut kept = BTreeSet::new();
    let mut next: Vec<String> = ENCODED.map(str::to_owned).into();
    while let Some(name) = next.pop() {
        if let Some(message) = messages
            .get(name.as_str())
            .filter(|_| !kept.contains(&name))
        {
            add_named(message, &mut next);
        }
        kept.insert(name);
    }
    for file in set.file.iter_mut().filter(|file| is_own(file.package())) {
        file.message_type.retain(|one| kept.contains(one.name()));
        file.enum_type.retain(|one| kept.contains(one.name()));
    }
    set
}

/// The types of its fields: the outermost ones of those that are nested.
fn add_named(message: &DescriptorProto, names: &mut Vec<String>) {
    let types = message.field.iter().map(FieldDescriptorProto::type_name);
    let own = types.filter_map(|name| name.strip_prefix(".smsc.v1."));
    names.extend(own.filter_map(|name| name.split('.').next().map(str::to_owned)));
    for nested in &message.nested_type {
        add_named(nested, names);
    }
}

fn source_below(root: &Path, folder: &str) -> String {
    let mut code = String::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                code += &fs::read_to_string(path).unwrap();
            }
        }
    }
    code
}

// === compiling ===

fn proto_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "proto")
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no definitions in {}", folder.display());
    files
}

/// Without comments and source positions, which may differ between equivalent definitions.
fn compile(root: &Path, files: &[PathBuf]) -> FileDescriptorSet {
    let mut compiler = protox::Compiler::new([root]).unwrap();
    compiler.include_imports(true).include_source_info(false);
    compiler.open_files(files).unwrap();
    compiler.file_descriptor_set()
}

fn compiled(definitions: &str) -> FileDescriptorSet {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.proto");
    fs::write(
        &file,
        format!("syntax = \"proto3\"; package t; {definitions}"),
    )
    .unwrap();
    compile(folder.path(), &[file])
}
