//! `smsc convert`: converts the configuration of another product; standard error lists what has no
//! counterpart. With `--compare` it routes numbers by both configurations instead ([`compare`]).

mod compare;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::config::Config;
use crate::convert::original::OriginalRouter;
use crate::convert::{self, Converted, SourceText, Urgency};
use compare::CompareArgs;

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
        #[command(flatten)]
        comparing: CompareArgs,
    },
    /// Convert captured output of Jasmin's jcli: smppccm -s, user -s, mtrouter -l, morouter -l, filter -l, httpccm -l.
    Jasmin {
        /// The captures, together.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        comparing: CompareArgs,
    },
}

/// The parts of the report: what is in each, its title, and how it is counted.
const GROUPS: [(Urgency, &str, &str); 3] = [
    (
        Urgency::Must,
        "Must be done, or something is missing that worked:",
        "that must be done",
    ),
    (
        Urgency::Should,
        "Should be looked at, it may work in another way:",
        "to look at",
    ),
    (Urgency::Nothing, "Nothing to do:", "without anything to do"),
];

/// Prints the configuration and the report, or what goes elsewhere.
///
/// # Errors
/// A file cannot be read, or is not what it should be; the text says what to give instead. Something goes elsewhere.
pub fn run(args: &ConvertArgs) -> anyhow::Result<()> {
    let (From::Kannel { comparing, .. } | From::Jasmin { comparing, .. }) = &args.from;
    let converted = || -> anyhow::Result<Converted> {
        Ok(match &args.from {
            From::Kannel { files, .. } => convert::kannel::convert(sources(files)?, &mut beside)?,
            From::Jasmin { files, .. } => convert::jasmin::convert(&sources(files)?)?,
        })
    };
    if let Some(numbers) = &comparing.compare {
        let before: Box<dyn OriginalRouter> = match &args.from {
            From::Kannel { files, .. } => {
                Box::new(convert::kannel::router(sources(files)?, &mut beside)?)
            }
            From::Jasmin { files, .. } => Box::new(convert::jasmin::router(&sources(files)?)?),
        };
        let now = match &comparing.with {
            Some(path) => Config::load(Some(path))?,
            None => Config::of_text(&converted()?.toml)?,
        };
        return compare::run(numbers, before.as_ref(), &now);
    }
    let converted = converted()?;
    report(&converted)?;
    io::stdout().lock().write_all(converted.toml.as_bytes())?;
    Ok(())
}

fn report(converted: &Converted) -> io::Result<()> {
    let mut out = io::stderr().lock();
    let mut counts = Vec::new();
    for (urgency, title, counted) in GROUPS {
        let of_group = converted
            .notes
            .iter()
            .filter(|note| note.urgency == urgency);
        let of_group: Vec<_> = of_group.collect();
        if of_group.is_empty() {
            continue;
        }
        writeln!(out, "{title}")?;
        for note in &of_group {
            writeln!(out, "  {note}")?;
        }
        writeln!(out)?;
        counts.push(format!("{} {counted}", of_group.len()));
    }
    if counts.is_empty() {
        return writeln!(out, "everything has a counterpart");
    }
    let counts = counts.join(", ");
    writeln!(out, "{counts}; docs/coming-from.md has more")
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
