//! The table of a resource in the user's editor, until the server accepts what was written.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context as _, bail};
use serde_json::{Map, Value};

use crate::cli::ask::confirm;
use crate::cli::exit::WrongCommandLine;
use crate::cli::said;
use crate::config;
use crate::domain::settings::ResourceKind;
use crate::files;

/// A file in the folder for temporary ones, for its owner alone, which is gone with this.
struct DraftFile(PathBuf);

/// Has the settings edited until `look` accepts them, and gives its answer.
///
/// # Errors
/// There is no terminal or no editor, nothing was changed, or the user gives up.
pub(super) fn until_accepted(
    kind: ResourceKind,
    name: &str,
    settings: &mut Map<String, Value>,
    look: impl Fn(&Map<String, Value>) -> anyhow::Result<Value>,
) -> anyhow::Result<Value> {
    if !std::io::stdin().is_terminal() {
        bail!(WrongCommandLine(
            "nothing to change: give --set, --set-file, --unset or --file; without a terminal there is no editor"
                .to_owned()
        ));
    }
    let before = config::page(kind, &Value::Object(settings.clone()));
    let draft = DraftFile::new(&before)?;
    loop {
        draft.edit()?;
        let text = fs::read_to_string(&draft.0).context("the draft cannot be read")?;
        if text == before {
            bail!("nothing was changed");
        }
        let looked = config::read_page(kind, &text)
            .map_err(|why| anyhow::anyhow!("what was written {why}"))
            .and_then(|written| {
                *settings = written;
                look(settings)
            });
        match looked {
            Ok(answer) => return Ok(answer),
            Err(error) => {
                eprintln!("error: {}", said(&error));
                let question = format!("Edit {name} again?");
                confirm(&question, false, "nothing was changed")?;
            }
        }
    }
}

// === impl DraftFile ===

impl DraftFile {
    fn new(text: &str) -> anyhow::Result<Self> {
        let name = format!("smsc-{:016x}.toml", rand::random::<u64>());
        let draft = Self(env::temp_dir().join(name));
        let written =
            files::create_new(&draft.0).and_then(|mut file| file.write_all(text.as_bytes()));
        written.with_context(|| format!("{} cannot be written", draft.0.display()))?;
        Ok(draft)
    }

    /// `$VISUAL`, `$EDITOR` or vi; a shell reads it, for it may have arguments.
    fn edit(&self) -> anyhow::Result<()> {
        let given = |name| {
            env::var(name)
                .ok()
                .filter(|editor| !editor.trim().is_empty())
        };
        let editor = given("VISUAL").or_else(|| given("EDITOR"));
        let editor = editor.unwrap_or_else(|| "vi".to_owned());
        let path: &Path = &self.0;
        let status = Command::new("sh")
            .args(["-c", &format!("{editor} \"$1\""), "sh"])
            .arg(path)
            .status()
            .with_context(|| format!("the editor {editor:?} cannot be run; set EDITOR"))?;
        if status.success() {
            Ok(())
        } else {
            bail!("the editor {editor:?} ended with {status}; nothing was changed")
        }
    }
}

impl Drop for DraftFile {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = fs::remove_file(&self.0);
    }
}
