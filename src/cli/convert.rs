//! `smsc convert`: converts the configuration of another product; standard error lists what has no
//! counterpart.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::convert::{self, Converted, SourceText};

/// Arguments of `smsc convert`.
#[derive(Debug, clap::Args)]
pub struct ConvertArgs {
    #[command(subcommand)]
    from: From,
}

#[derive(Debug, clap::Subcommand)]
enum From {
    /// Convert kannel.conf, and the files that it includes or names.
    Kannel {
        /// kannel.conf; the file of an opensmppbox too, if it is another one.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Convert captured output of Jasmin's jcli: smppccm -s, user -s, mtrouter -l, morouter -l, filter -l.
    Jasmin {
        /// The captures, together.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
}

/// Prints the configuration and the report.
///
/// # Errors
/// A file cannot be read, or is not what it should be; the text says what to give instead.
pub fn run(args: &ConvertArgs) -> anyhow::Result<()> {
    let converted = match &args.from {
        From::Kannel { files } => convert::kannel::convert(sources(files)?, &mut beside)?,
        From::Jasmin { files } => convert::jasmin::convert(&sources(files)?)?,
    };
    report(&converted)?;
    io::stdout().lock().write_all(converted.toml.as_bytes())?;
    Ok(())
}

fn report(converted: &Converted) -> io::Result<()> {
    let mut out = io::stderr().lock();
    for note in &converted.notes {
        writeln!(out, "{note}")?;
    }
    match converted.notes.len() {
        0 => writeln!(out, "everything has a counterpart"),
        1 => writeln!(out, "1 thing to look at, see above and docs/coming-from.md"),
        count => writeln!(
            out,
            "{count} things to look at, see above and docs/coming-from.md"
        ),
    }
}

fn sources(files: &[PathBuf]) -> anyhow::Result<Vec<SourceText>> {
    files
        .iter()
        .map(|file| open(file).with_context(|| format!("{} cannot be read", file.display())))
        .collect()
}

/// A file that another one names: there, or beside the one that names it.
fn beside(name: &str, named_in: &str) -> io::Result<SourceText> {
    let named = Path::new(name);
    let folder = Path::new(named_in).parent().unwrap_or(Path::new(""));
    let moved = named
        .file_name()
        .map_or_else(PathBuf::new, |name| folder.join(name));
    [named.to_owned(), folder.join(named), moved]
        .iter()
        .find(|path| path.is_file())
        .map_or_else(|| open(named), |path| open(path))
}

fn open(path: &Path) -> io::Result<SourceText> {
    // Old files are not always UTF-8; what matters in them is ASCII.
    Ok(SourceText {
        name: path.display().to_string(),
        text: String::from_utf8_lossy(&fs::read(path)?).into_owned(),
    })
}
