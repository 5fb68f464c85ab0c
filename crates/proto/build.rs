//! Compiles the folders of `proto/smsc` with protox, so that no `protoc` is needed on the build host.

/// Messages between actors, those of programs on the same machine, and events and commands of brokers.
const FOLDERS: [&str; 4] = [
    "../../proto/smsc/v1",
    "../../proto/smsc/local/v1",
    "../../proto/smsc/events/v1",
    "../../proto/smsc/dispatch/v1",
];

use prost_build::Config;
use protox::prost_reflect::prost_types::FileDescriptorSet;
use protox::prost_reflect::prost_types::field_descriptor_proto::Type;

/// Octets that few messages have. As `Vec<u8>` each takes 8 octets less of every message than as `Bytes`; with them a
/// message would not fit into the 512 octets that the allocator gives it.
const RARE: [&str; 5] = [
    ".smsc.v1.Message.service_type",
    ".smsc.v1.Message.schedule_delivery_time",
    ".smsc.v1.Message.validity_period",
    ".smsc.v1.Message.trace_context",
    ".smsc.v1.Message.tpdu",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|ext| ext == "proto") {
                files.push(path);
            }
        }
    }
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../../proto");
    let descriptors = protox::compile(files, ["../../proto"])?;
    Config::new()
        .bytes(octets_in(&descriptors))
        // Few messages have one, and every message in memory has the room for it.
        .boxed(".smsc.v1.Message.composition")
        .boxed(".smsc.v1.Message.original")
        .boxed(".smsc.v1.Message.replay_of")
        .boxed(".smsc.v1.Message.client_data")
        .boxed(".smsc.v1.Message.ruled_by")
        .boxed(".smsc.v1.Message.copied")
        .boxed(".smsc.v1.OperatorReceipt.extras")
        // A message has 512 octets and goes through a dozen hands: they pass on where it is.
        .boxed(".smsc.v1.Submission.message")
        .boxed(".smsc.v1.QueueItem.message")
        .boxed(".smsc.v1.Delivery.message")
        .boxed(".smsc.v1.Sent.message")
        .boxed(".smsc.v1.Failed.message")
        .boxed(".smsc.v1.Final.message")
        .boxed(".smsc.v1.Resolved.message")
        .compile_fds(descriptors)?;
    Ok(())
}

/// The fields of type `bytes`, but for the rare ones: these share what they were read from.
fn octets_in(descriptors: &FileDescriptorSet) -> Vec<String> {
    let mut found = Vec::new();
    for file in &descriptors.file {
        for message in &file.message_type {
            let octets = message.field.iter();
            for field in octets.filter(|field| field.r#type() == Type::Bytes) {
                let path = format!(".{}.{}.{}", file.package(), message.name(), field.name());
                if !RARE.contains(&path.as_str()) {
                    found.push(path);
                }
            }
        }
    }
    found
}
