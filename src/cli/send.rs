//! `smsc send`: sends a text from a terminal, and shows its parts, its ids, and its final state.
//!
//! New users run this first after `smsc serve`, so errors say what to do. Composes the messages
//! (`compose.rs`) and shows them, binds as transceiver, submits, waits for the answers and the
//! receipts (`converse.rs`), unbinds; or the same over a UNIX socket (`local.rs`).

mod compose;
mod converse;
mod local;

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use tokio::time::timeout;

use super::exit::WrongCommandLine;
use crate::load::bind::{BindTarget, LoadBindRole, connect, farewell};
use crate::simulator::options::parse_duration;
use crate::smpp::SubmitSm;
use crate::sms::language::Language;
use compose::{Long, SendAlphabet, Writing, compose};
use converse::Conversation;

/// The file with the demo account's password, in the data folder.
pub(super) const PASSWORD_FILE: &str = "demo-password";
/// How long the SMSC may take to answer the unbind.
const FAREWELL: Duration = Duration::from_secs(1);
/// TON and NPI of an international E.164 number, of a short code, and of a name.
const INTERNATIONAL: (u8, u8) = (1, 1);
const UNKNOWN: (u8, u8) = (0, 0);
const ALPHANUMERIC: (u8, u8) = (5, 0);
/// Digits from which a sender counts as an international number.
const SHORT_CODE_MAX: usize = 8;

/// Send a text and show what becomes of it.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("message").required(true)))]
pub struct SendArgs {
    /// The recipient's number in international form, digits only.
    #[arg(long, value_name = "NUMBER")]
    to: String,
    /// The text.
    #[arg(group = "message", value_name = "TEXT")]
    text: Option<String>,
    /// The text as an option; - reads standard input.
    #[arg(
        long = "text",
        group = "message",
        value_name = "TEXT",
        allow_hyphen_values = true
    )]
    named_text: Option<String>,
    /// A file with the text, in UTF-8; with --alphabet binary, the raw data.
    #[arg(long, group = "message", value_name = "FILE")]
    file: Option<PathBuf>,
    /// The sender: a number, a short code, or up to 11 letters.
    #[arg(long, value_name = "ADDRESS", default_value = "12345")]
    from: String,
    /// Address and port of the SMSC.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:2775")]
    host: String,
    /// Send over the server's UNIX socket (local.socket) as this user's account, without a password.
    #[arg(
        long,
        value_name = "PATH",
        conflicts_with_all = ["host", "system_id", "data_dir", "language", "long"]
    )]
    socket: Option<PathBuf>,
    /// The account to bind as.
    #[arg(long, value_name = "NAME", default_value = "demo")]
    system_id: String,
    /// Its password [default: the demo account's from the data folder].
    #[arg(
        long,
        value_name = "PASSWORD",
        env = "SMSC_SEND_PASSWORD",
        hide_env_values = true
    )]
    password: Option<String>,
    /// Where `smsc serve` keeps its data, and the demo account's password.
    #[arg(long, value_name = "FOLDER", default_value = "./smsc-data")]
    data_dir: PathBuf,
    /// Alphabet of the text [default: the one that takes the fewest messages].
    #[arg(long, value_enum)]
    alphabet: Option<SendAlphabet>,
    /// National languages whose 7-bit tables the phone knows: turkish,hindi.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    language: Vec<Language>,
    /// How to send a text that does not fit into one message.
    #[arg(long, value_enum, default_value = "udh")]
    long: Long,
    /// Flash: the phone shows the text at once (class 0).
    #[arg(long)]
    flash: bool,
    /// Only show the alphabet and the parts; send nothing.
    #[arg(long)]
    dry_run: bool,
    /// Ask for no receipt.
    #[arg(long)]
    no_receipt: bool,
    /// How long to wait for answers and receipts.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    timeout: Duration,
}

/// Sends and waits.
///
/// # Errors
/// When the message cannot be sent, is refused, has no receipt in time, or was not delivered.
pub fn run(args: SendArgs) -> anyhow::Result<()> {
    let envelope = envelope(&args)?;
    let composed = compose(&text(&args)?, &writing(&args))?;
    super::client::print_line(&composed.lines().join("\n"))?;
    if args.dry_run {
        return Ok(());
    }
    if let Some(path) = &args.socket {
        return local::run(&args, path);
    }
    let password = password(&args)?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(send(&args, password, &composed.messages(&envelope)))
}

fn writing(args: &SendArgs) -> Writing {
    Writing {
        alphabet: args.alphabet,
        languages: args.language.clone(),
        flash: args.flash,
        long: args.long,
        reference: rand::random(),
    }
}

/// The text from wherever it is; data as hexadecimal digits.
fn text(args: &SendArgs) -> anyhow::Result<String> {
    if let Some(path) = &args.file {
        let octets = std::fs::read(path)
            .with_context(|| format!("--file: {} cannot be read", path.display()))?;
        if args.alphabet == Some(SendAlphabet::Binary) {
            return Ok(octets.iter().map(|octet| format!("{octet:02X}")).collect());
        }
        let text = String::from_utf8(octets).with_context(|| {
            format!(
                "--file: {} is not UTF-8; convert it, or send it as it is with --alphabet binary",
                path.display()
            )
        })?;
        return Ok(without_last_line_end(text));
    }
    match (&args.text, args.named_text.as_deref()) {
        (_, Some("-")) => {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .context("--text -: standard input is not UTF-8")?;
            Ok(without_last_line_end(text))
        }
        (Some(text), _) => Ok(text.clone()),
        (None, named) => Ok(named.unwrap_or_default().to_owned()),
    }
}

/// Editors and `echo` end a text with a line end that is not part of it.
fn without_last_line_end(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

fn password(args: &SendArgs) -> anyhow::Result<String> {
    if let Some(password) = &args.password {
        return Ok(password.clone());
    }
    demo_password(&args.data_dir).with_context(|| {
        format!(
            "no password: {} cannot be read; start `smsc serve` in this folder, name its data \
             folder with --data-dir, or give --password",
            args.data_dir.join(PASSWORD_FILE).display()
        )
    })
}

/// The password of the demo account, which the server has left in its data folder.
///
/// # Errors
/// There is none, or it cannot be read.
pub(super) fn demo_password(data_dir: &Path) -> io::Result<String> {
    let text = std::fs::read_to_string(data_dir.join(PASSWORD_FILE))?;
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// The message without its text.
fn envelope(args: &SendArgs) -> anyhow::Result<SubmitSm> {
    let to = args.to.strip_prefix('+').unwrap_or(&args.to);
    if to.is_empty() || to.len() > 20 || !to.bytes().all(|octet| octet.is_ascii_digit()) {
        bail!(WrongCommandLine(format!(
            "--to `{}` is not a number; write digits only, like 447700900123",
            args.to
        )));
    }
    let from = args.from.strip_prefix('+').unwrap_or(&args.from);
    let number = from.bytes().all(|octet| octet.is_ascii_digit());
    if from.len() > 20 || !from.is_ascii() || (!number && from.len() > 11) {
        bail!(WrongCommandLine(format!(
            "--from `{}` is too long; 20 digits or 11 letters are possible",
            args.from
        )));
    }
    let (ton, npi) = if !number {
        ALPHANUMERIC
    } else if from.len() > SHORT_CODE_MAX {
        INTERNATIONAL
    } else {
        UNKNOWN
    };
    Ok(SubmitSm {
        source_addr_ton: ton,
        source_addr_npi: npi,
        source_addr: Bytes::copy_from_slice(from.as_bytes()),
        dest_addr_ton: INTERNATIONAL.0,
        dest_addr_npi: INTERNATIONAL.1,
        destination_addr: Bytes::copy_from_slice(to.as_bytes()),
        registered_delivery: u8::from(!args.no_receipt),
        ..SubmitSm::default()
    })
}

async fn send(args: &SendArgs, password: String, messages: &[SubmitSm]) -> anyhow::Result<()> {
    let target = BindTarget {
        to: args.host.clone(),
        system_id: args.system_id.clone(),
        password,
    };
    let mut wire = connect(&target, LoadBindRole::Transceiver).await?;
    let mut conversation = Conversation::new(&args.to, messages, !args.no_receipt);
    let waited = timeout(args.timeout, conversation.run(&mut wire)).await;
    // The outcome is known: a farewell that fails changes nothing.
    let _ = timeout(FAREWELL, farewell(&mut wire, conversation.next_sequence())).await;
    waited.unwrap_or_else(|_| {
        Err(anyhow::anyhow!(
            "nothing more was heard within {:?}; wait longer with --timeout, or see what holds the \
             message with `smsc queue list`",
            args.timeout
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(to: &str, text: &str, from: &str) -> SendArgs {
        SendArgs {
            to: to.to_owned(),
            text: Some(text.to_owned()),
            named_text: None,
            file: None,
            from: from.to_owned(),
            host: "127.0.0.1:2775".to_owned(),
            socket: None,
            system_id: "demo".to_owned(),
            password: Some("secret".to_owned()),
            data_dir: PathBuf::from("./smsc-data"),
            alphabet: None,
            language: Vec::new(),
            long: Long::Udh,
            flash: false,
            dry_run: false,
            no_receipt: false,
            timeout: Duration::from_secs(5),
        }
    }

    #[test]
    fn addresses_find_their_fields() {
        let built = envelope(&args("+447700900123", "hi", "Bank")).unwrap();
        assert_eq!(&built.destination_addr[..], b"447700900123");
        assert_eq!((built.source_addr_ton, built.source_addr_npi), ALPHANUMERIC);
        let short_code = envelope(&args("44", "x", "12345")).unwrap();
        assert_eq!(short_code.source_addr_ton, 0);
        let error = envelope(&args("12ab", "x", "1")).unwrap_err().to_string();
        assert!(error.contains("--to"), "{error}");
        let error = envelope(&args("12", "x", "a long sender")).unwrap_err();
        assert!(error.to_string().contains("--from"));
    }

    #[test]
    fn only_the_last_line_end_is_no_part_of_the_text() {
        for (given, kept) in [
            ("a\n", "a"),
            ("a\r\n", "a"),
            ("a\n\n", "a\n"),
            ("a", "a"),
            ("", ""),
        ] {
            assert_eq!(without_last_line_end(given.to_owned()), kept);
        }
    }

    #[test]
    fn without_a_password_the_error_names_file_and_flags() {
        let folder = tempfile::tempdir().unwrap();
        let mut args = args("44", "x", "1");
        args.password = None;
        args.data_dir = folder.path().to_owned();
        let error = password(&args).unwrap_err().to_string();
        assert!(
            error.contains("demo-password") && error.contains("--data-dir"),
            "{error}"
        );
        std::fs::write(folder.path().join(PASSWORD_FILE), "s3cret\n").unwrap();
        assert_eq!(password(&args).unwrap(), "s3cret");
    }
}
