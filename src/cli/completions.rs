//! `smsc completions`: shell completion scripts.
//!
//! Commands and options are in the scripts; names of queues, accounts and the like they ask for (`cli/names.rs`).

use std::io::{self, Write as _};

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Arg, Command};
use clap_complete::Shell;

use super::grammar::options_of_most;

/// How the function of bash and zsh begins that completes a line.
const FUNCTION: &str = "_smsc() {\n";

/// Bash cuts words at colons, which names of queues have: what is in front of the last one stays as it is.
const ASK_IN_BASH: &str = r#"    local line="${COMP_LINE:0:COMP_POINT}" words names=() name last front
    IFS=$' \t' read -r -a words <<< "$line"
    [[ "$line" == *[[:blank:]] ]] && words+=("")
    last="${words[${#words[@]} - 1]}"
    front="${last%"${last##*[$COMP_WORDBREAKS]}"}"
    while IFS= read -r name; do
        names+=("${name#"$front"}")
    done < <("${COMP_WORDS[0]}" complete-names -- "${words[@]:1}" 2> /dev/null)
    if [[ ${#names[@]} -gt 0 ]]; then
        COMPREPLY=("${names[@]}")
        return 0
    fi

"#;

const ASK_IN_ZSH: &str = r#"    local -a names
    names=("${(@f)$("${(Q)words[1]}" complete-names -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2> /dev/null)}")
    if [[ -n "$names[1]" ]]; then
        compadd -a names
        return 0
    fi

"#;

const ASK_IN_FISH: &str = r#"
function __fish_smsc_has_names
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    set -g __fish_smsc_names ($words[1] complete-names -- $words[2..-1] "$last" 2> /dev/null)
    test -n "$__fish_smsc_names"
end
complete -c smsc -n __fish_smsc_has_names -f -a '$__fish_smsc_names'
"#;

/// Shells that packages install completions for.
const PACKAGED: [&str; 3] = ["bash", "zsh", "fish"];

/// Arguments of `smsc completions`.
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// The shell; its script is printed.
    #[arg(value_parser = PossibleValuesParser::new(PACKAGED).try_map(|name| name.parse::<Shell>()))]
    shell: Shell,
}

/// Prints the script.
///
/// # Errors
/// Standard output cannot be written.
pub fn run(args: &CompletionsArgs) -> anyhow::Result<()> {
    let shell = args.shell;
    // Into memory first: the generator panics when its writer fails.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut commands(), "smsc", &mut script);
    io::stdout()
        .lock()
        .write_all(asking(shell, &String::from_utf8(script)?).as_bytes())?;
    Ok(())
}

/// The commands, with the options of most of them also in front, where lines may have them (`cli/grammar.rs`): zsh and fish complete
/// nothing behind an option that their script does not know there.
fn commands() -> Command {
    let root = super::command();
    let most = options_of_most();
    let is_own = |arg: &Arg| root.get_arguments().any(|own| own.get_id() == arg.get_id());
    let others = most.get_arguments().filter(|arg| !is_own(arg));
    let others: Vec<Arg> = others.cloned().collect();
    root.args(others)
}

/// The script with what asks for names.
fn asking(shell: Shell, script: &str) -> String {
    let in_front = |ask: &str| script.replacen(FUNCTION, &format!("{FUNCTION}{ask}"), 1);
    match shell {
        Shell::Bash => in_front(ASK_IN_BASH),
        Shell::Zsh => in_front(ASK_IN_ZSH),
        Shell::Fish => format!("{script}{ASK_IN_FISH}"),
        _ => script.to_owned(),
    }
}
