//! The commit that a program is built from, as a macro: after a commit only the file that uses it is
//! compiled again, where a build script would have its whole package compiled.
//!
//! One commit gives one text wherever it is built: no date, no host, no user.

use std::path::{Path, PathBuf};
use std::process::Command;

use proc_macro::TokenStream;

/// Defines `VERSION: &str`, such as `0.2.0 (1a2b3c4d5e6f)`: the release of the package, and the commit.
///
/// The commit is what `SMSC_COMMIT` says (for builds from an archive), else the one that is checked out,
/// else `unknown`.
#[proc_macro]
pub fn version(_: TokenStream) -> TokenStream {
    let named = std::env::var("SMSC_COMMIT").unwrap_or_default();
    let (commit, watched) = match named.trim() {
        "" => checked_out().unwrap_or_else(|| ("unknown".to_owned(), Vec::new())),
        named => (named.to_owned(), Vec::new()),
    };
    // Has the compiler look at the variable and the files again.
    let watched: String = watched
        .iter()
        .map(|path| format!("const _: &[u8] = include_bytes!({path:?});\n"))
        .collect();
    let items = format!(
        "const VERSION: &str = concat!(env!(\"CARGO_PKG_VERSION\"), \" (\", {commit:?}, \")\");\n\
         const _: Option<&str> = option_env!(\"SMSC_COMMIT\");\n{watched}"
    );
    items.parse().expect("items")
}

/// The commit that is checked out, and the files that change with it.
fn checked_out() -> Option<(String, Vec<PathBuf>)> {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR")?);
    // An archive that was unpacked inside somebody else's repository is not that commit.
    let top = git(&here, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != here.canonicalize().ok()? {
        return None;
    }
    let commit = git(&here, &["rev-parse", "--short=12", "HEAD"])?;
    let mut names = vec!["HEAD".to_owned(), "logs/HEAD".to_owned()];
    names.extend(git(&here, &["symbolic-ref", "--quiet", "HEAD"]));
    let paths = names.iter().filter_map(|name| {
        let path = here.join(git(&here, &["rev-parse", "--git-path", name])?);
        path.is_file().then_some(path)
    });
    Some((commit, paths.collect()))
}

fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
