//! Tells the binary which commit it was built from.
//!
//! Keeps true that the same commit gives the same binary: no date, no host, no user in it.

use std::path::Path;
use std::process::Command;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=SMSC_COMMIT={}", commit());
    Ok(())
}

/// What `SMSC_COMMIT` says (for builds from an archive), else the commit that is checked out, else
/// `unknown`.
fn commit() -> String {
    println!("cargo:rerun-if-env-changed=SMSC_COMMIT");
    if let Ok(named) = std::env::var("SMSC_COMMIT")
        && !named.trim().is_empty()
    {
        return named.trim().to_owned();
    }
    checked_out().unwrap_or_else(|| "unknown".to_owned())
}

fn checked_out() -> Option<String> {
    // An archive that was unpacked inside somebody else's repository is not that commit.
    let top = git(&["rev-parse", "--show-toplevel"])?;
    let here = std::env::current_dir().ok()?.canonicalize().ok()?;
    if Path::new(&top).canonicalize().ok()? != here {
        return None;
    }
    // What changes with a commit or a checkout. Cargo runs this again at every build for a path that
    // is not there, so only those that are; a new loose ref changes its folder.
    for name in ["HEAD", "logs/HEAD", "refs/heads", "packed-refs"] {
        let path = git(&["rev-parse", "--git-path", name])?;
        if Path::new(&path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
