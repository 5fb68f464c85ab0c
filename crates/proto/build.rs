//! Compiles the folders of `proto/smsc` with protox, so that no `protoc` is needed on the build host.

/// Messages between actors, and those of programs on the same machine.
const FOLDERS: [&str; 2] = ["../../proto/smsc/v1", "../../proto/smsc/local/v1"];

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
    prost_build::Config::new()
        .bytes(["."])
        // Few messages have one, and every message in memory has the room for it.
        .boxed(".smsc.v1.Message.composition")
        .boxed(".smsc.v1.Message.original")
        .boxed(".smsc.v1.Message.replay_of")
        .boxed(".smsc.v1.Message.client_data")
        .boxed(".smsc.v1.Message.ruled_by")
        .boxed(".smsc.v1.Message.copied")
        // A message has some 400 octets and goes through a dozen hands: they pass on where it is.
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
