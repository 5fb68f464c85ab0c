//! The `smsc` binary: everything is in the library but the commit that it was built from.

use std::process::ExitCode;

smsc_commit::version!();

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    smsc::cli::main(VERSION)
}
