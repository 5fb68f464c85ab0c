//! `smsc load`: simulates ESMEs, measures, and fails if an acknowledged message has no receipt.
//!
//! Turns flags into [`LoadOptions`], runs, prints the table, and writes JSON when asked.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};

use crate::cli::client::print_line;
use crate::cli::exit::WrongCommandLine;
use crate::cli::send::demo_password;
use crate::cli::serve::DEMO_ACCOUNT;
use crate::load::reference::REFERENCE;
use crate::load::{Destinations, LoadBindType, LoadOptions, LoadSummary};
use crate::simulator::in_flight::MAX_WINDOW;
use crate::simulator::options::parse_duration;

/// Longest text: message_payload and the rest of the PDU fit 64 KiB.
const LENGTH_MAX: usize = 60_000;
/// The account, or the first letters of several, where nothing says another; and its password.
const TEST: &str = "test";

/// Send messages to an SMSC at a given rate, and check every answer and receipt.
#[derive(Debug, clap::Args)]
pub struct LoadArgs {
    #[command(flatten)]
    shape: LoadShape,
    /// Fail on duplicated receipts too.
    #[arg(long)]
    strict: bool,
    /// Write the numbers as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a line per answer and receipt, for a checker.
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
}

/// What is sent, by whom and how fast; shared with `smsc bench`.
#[derive(Debug, clap::Args)]
pub struct LoadShape {
    /// Address and port of the SMSC; several nodes with commas between.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:2775")]
    host: String,
    /// The account to bind as [default: demo if its password is in the data folder, else test].
    #[arg(long, value_name = "NAME")]
    system_id: Option<String>,
    /// Share the binds among this many accounts, NAME1, NAME2 and so on, with the same password.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    accounts: Option<u16>,
    /// Its password [default: the demo account's from the data folder, else test].
    #[arg(
        long,
        value_name = "PASSWORD",
        env = "SMSC_LOAD_PASSWORD",
        hide_env_values = true
    )]
    password: Option<String>,
    /// Where `smsc serve` keeps its data, and the demo account's password.
    #[arg(long, value_name = "FOLDER", default_value = "./smsc-data")]
    data_dir: PathBuf,
    /// How many binds; with transmitter+receiver, of each kind.
    #[arg(long, value_name = "COUNT", default_value = "4", value_parser = clap::value_parser!(u16).range(1..))]
    binds: u16,
    /// One connection for both directions, or two.
    #[arg(long, value_enum, default_value = "transceiver")]
    bind_type: LoadBindType,
    /// Unanswered submits on one bind.
    #[arg(long, value_name = "COUNT", default_value = "250")]
    window: usize,
    /// Send this many messages.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Send for this long: 5m [default: 10s without --count].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,
    /// Messages per second, without waiting for the SMSC [default: what the windows allow].
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<f64>,
    /// Octets of each text.
    #[arg(long, value_name = "OCTETS", default_value = "60")]
    length: usize,
    /// Ask for receipts and wait for them (the default).
    #[arg(long, overrides_with = "no_receipts")]
    receipts: bool,
    /// Ask for no receipts.
    #[arg(long)]
    no_receipts: bool,
    /// The numbers to send to: the first, and how many.
    #[arg(long, value_name = "FIRST+COUNT", default_value = "447700900000+10000")]
    destinations: Destinations,
    /// The sender.
    #[arg(long, value_name = "ADDRESS", default_value = "12345")]
    from: String,
    /// Add the user_message_reference TLV to each message.
    #[arg(long)]
    user_message_reference: bool,
    /// Repeat unanswered messages after a lost connection.
    #[arg(long, value_enum, value_name = "on|off", default_value = "on")]
    resubmit: Switch,
    /// How long to wait for missing answers and receipts.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    settle: Duration,
    /// Share the binds among this many threads.
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Switch {
    On,
    Off,
}

/// Runs the load and prints its numbers.
///
/// # Errors
/// When flags make no sense, no bind succeeds, a file cannot be written, a message that was
/// acknowledged has no receipt, or (with `--strict`) a receipt came twice.
pub fn run(args: LoadArgs) -> anyhow::Result<()> {
    let (json, strict) = (args.json, args.strict);
    let options = LoadOptions {
        journal: args.journal,
        ..options(args.shape)?
    };
    let summary = measure(options)?;
    print_line(summary.to_string().trim_end())?;
    if let Some(path) = json {
        std::fs::write(&path, serde_json::to_string_pretty(&summary)?)
            .with_context(|| format!("cannot write {}; check --json", path.display()))?;
    }
    judge(&summary, strict)
}

/// Runs one load to its end.
pub(super) fn measure(options: LoadOptions) -> anyhow::Result<LoadSummary> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(crate::load::run(options, interrupted()))?)
}

fn judge(summary: &LoadSummary, strict: bool) -> anyhow::Result<()> {
    if summary.missing > 0 {
        bail!(
            "{} acknowledged messages have no receipt; if they may still come, wait longer with \
             --settle",
            summary.missing
        );
    }
    if strict && summary.duplicated > 0 {
        bail!("{} receipts came twice", summary.duplicated);
    }
    Ok(())
}

/// What the flags say.
///
/// # Errors
/// Flags that make no sense.
pub(super) fn options(args: LoadShape) -> Result<LoadOptions, WrongCommandLine> {
    let refused = |said: String| Err(WrongCommandLine(said));
    if !(REFERENCE..=LENGTH_MAX).contains(&args.length) {
        return refused(format!(
            "--length {} is out of range; give {REFERENCE} to {LENGTH_MAX}",
            args.length
        ));
    }
    if args
        .host
        .split(',')
        .any(|address| address.trim().is_empty())
    {
        return refused(
            "--host has an empty address; give HOST:PORT, and a comma only between two of them"
                .to_owned(),
        );
    }
    // The demo account is one.
    let several = args.accounts.map(|_| TEST.to_owned());
    let system_id = args.system_id.or(several);
    let (system_id, password) = login(system_id, args.password, &args.data_dir);
    if !(1..=MAX_WINDOW).contains(&args.window) {
        return refused(format!(
            "--window {} is out of range; give 1 to {MAX_WINDOW}",
            args.window
        ));
    }
    if args
        .rate
        .is_some_and(|rate| !(rate > 0.0 && rate.is_finite()))
    {
        return refused(
            "--rate must be above 0; leave it out to send as fast as possible".to_owned(),
        );
    }
    if args.from.len() > 20 {
        return refused("--from has more than 20 characters; SMPP carries 20 at most".to_owned());
    }
    let number = args.accounts.map(|accounts| accounts.to_string());
    if system_id.len() + number.map_or(0, |number| number.len()) > 15 {
        return refused(
            "--system-id has more than 15 characters; SMPP carries 15 at most".to_owned(),
        );
    }
    if args.accounts.is_some_and(|accounts| accounts > args.binds) {
        return refused("--accounts is more than --binds; each account needs a bind".to_owned());
    }
    let duration = match (args.count, args.duration) {
        (None, None) => Some(Duration::from_secs(10)),
        (_, duration) => duration,
    };
    Ok(LoadOptions {
        to: args.host,
        system_id,
        accounts: args.accounts.map(usize::from),
        password,
        binds: usize::from(args.binds),
        bind_type: args.bind_type,
        window: args.window,
        count: args.count,
        duration,
        rate: args.rate,
        length: args.length,
        receipts: !args.no_receipts,
        destinations: args.destinations,
        source: args.from,
        user_message_reference: args.user_message_reference,
        resubmit: args.resubmit == Switch::On,
        settle: args.settle,
        journal: None,
        threads: usize::from(args.threads),
        progress: true,
    })
}

/// Who binds, with which password: the demo account where nothing else is said and its password is there, as for
/// `smsc send`.
fn login(system_id: Option<String>, password: Option<String>, data_dir: &Path) -> (String, String) {
    let may_be_demo = system_id.as_deref().is_none_or(|name| name == DEMO_ACCOUNT);
    let of_demo = match &password {
        None if may_be_demo => demo_password(data_dir).ok(),
        _ => None,
    };
    let usual = if of_demo.is_some() {
        DEMO_ACCOUNT
    } else {
        TEST
    };
    (
        system_id.unwrap_or_else(|| usual.to_owned()),
        password.or(of_demo).unwrap_or_else(|| TEST.to_owned()),
    )
}

/// Completes on the first Ctrl-C; the second one ends the process.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        return std::future::pending().await;
    }
    eprintln!("no more is sent; waiting for receipts, Ctrl-C again ends at once");
    tokio::spawn(async {
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(130);
        }
    });
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, FromArgMatches as _};

    use super::*;

    #[test]
    fn the_demo_account_binds_where_its_password_is() {
        let folder = tempfile::tempdir().unwrap();
        let some = |text: &str| Some(text.to_owned());
        let pair = |name: &str, password: &str| (name.to_owned(), password.to_owned());
        let demo = folder.path();
        assert_eq!(login(None, None, demo), pair("test", "test"));
        std::fs::write(demo.join("demo-password"), "s3cret\n").unwrap();
        assert_eq!(login(None, None, demo), pair("demo", "s3cret"));
        assert_eq!(login(some("demo"), None, demo), pair("demo", "s3cret"));
        assert_eq!(login(some("shop"), None, demo), pair("shop", "test"));
        assert_eq!(login(None, some("x"), demo), pair("test", "x"));
    }

    #[test]
    fn an_empty_address_is_refused_with_what_to_give() {
        let given = |to: &str| {
            let command = LoadShape::augment_args(Command::new("load"));
            let matches = command
                .try_get_matches_from(["load", "--host", to])
                .unwrap();
            options(LoadShape::from_arg_matches(&matches).unwrap())
        };
        assert_eq!(given("a:1, b:2").unwrap().to, "a:1, b:2");
        for to in ["", ",a:1", "a:1,", "a:1,,b:2"] {
            let WrongCommandLine(said) = given(to).unwrap_err();
            assert!(said.contains("--host has an empty address"), "{said}");
        }
    }
}
