//! Has the store compiled again when a migration is added: the binary embeds them all.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../../migrations");
}
