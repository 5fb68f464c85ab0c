//! Compiles `proto/smsc/v1` with protox, so that no `protoc` is needed on the build host.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files: Vec<_> = std::fs::read_dir("proto/smsc/v1")?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ext| ext == "proto"))
        .collect();
    println!("cargo:rerun-if-changed=proto");
    // A new file there must reach the binary, which embeds them all.
    println!("cargo:rerun-if-changed=migrations");
    let descriptors = protox::compile(files, ["proto"])?;
    prost_build::Config::new()
        .bytes(["."])
        .compile_fds(descriptors)?;
    Ok(())
}
