//! `smsc send`: one message from a terminal, its id, and what became of it.
//!
//! The first thing a newcomer does after `smsc serve`, so errors say what to do. Binds as
//! transceiver, submits, waits for the answer and the receipt, unbinds.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use bytes::{BufMut, Bytes, BytesMut};
use tokio::time::timeout;

use crate::clock;
use crate::domain::state;
use crate::load::bind::{Role, Target, connect};
use crate::simulator::options::parse_duration;
use crate::simulator::wire::Wire;
use crate::smpp::codec::{Decoded, decode};
use crate::smpp::{
    Body, CommandId, CommandStatus, Leniency, Pdu, SubmitSm, SubmitSmResp, Tlvs,
    encode_deliver_sm_resp, encode_empty_resp, encode_submit_sm, receipt, tag,
};

/// The file with the demo account's password, in the data folder.
const PASSWORD_FILE: &str = "demo-password";
/// Longest short_message that every SMSC takes (SMPP 3.4 §5.2.22).
const SHORT_MAX: usize = 254;
/// Longest message_payload: the PDU stays within 64 KiB.
const PAYLOAD_MAX: usize = 60_000;
/// data_coding of UCS-2 (§5.2.19).
const UCS2: u8 = 8;
/// sequence_number of our submit_sm; the bind had 1.
const SUBMIT_SEQUENCE: u32 = 2;
/// sequence_number of our unbind.
const UNBIND_SEQUENCE: u32 = 3;
/// How long the SMSC may take to answer the unbind.
const FAREWELL: Duration = Duration::from_secs(1);
/// TON and NPI of an international E.164 number, of a short code, and of a name.
const INTERNATIONAL: (u8, u8) = (1, 1);
const UNKNOWN: (u8, u8) = (0, 0);
const ALPHANUMERIC: (u8, u8) = (5, 0);
/// Digits from which a sender counts as an international number.
const SHORT_CODE_MAX: usize = 8;

/// Send one message and show what becomes of it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The recipient's number in international form, digits only.
    #[arg(long, value_name = "NUMBER")]
    to: String,
    /// The text.
    text: String,
    /// The sender: a number, a short code, or up to 11 letters.
    #[arg(long, value_name = "ADDRESS", default_value = "12345")]
    from: String,
    /// Address and port of the SMSC.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:2775")]
    host: String,
    /// The account to bind as.
    #[arg(long, value_name = "NAME", default_value = "demo")]
    system_id: String,
    /// Its password; the demo account's is read from the data folder when absent.
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
    /// Ask for no receipt: ends with the SMSC's answer.
    #[arg(long)]
    no_receipt: bool,
    /// How long to wait for the answer and the receipt together.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    timeout: Duration,
}

/// Sends and waits.
///
/// # Errors
/// When the message cannot be sent, is refused, has no receipt in time, or was not delivered.
pub fn run(args: Args) -> anyhow::Result<()> {
    let password = password(&args)?;
    let message = message(&args)?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(send(&args, password, &message))
}

fn password(args: &Args) -> anyhow::Result<String> {
    if let Some(password) = &args.password {
        return Ok(password.clone());
    }
    let path = args.data_dir.join(PASSWORD_FILE);
    let text = std::fs::read_to_string(&path).with_context(|| {
        format!(
            "no password: {} cannot be read; start `smsc serve` in this folder, name its data \
             folder with --data-dir, or give --password",
            path.display()
        )
    })?;
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

fn message(args: &Args) -> anyhow::Result<SubmitSm> {
    let to = args.to.strip_prefix('+').unwrap_or(&args.to);
    if to.is_empty() || to.len() > 20 || !to.bytes().all(|octet| octet.is_ascii_digit()) {
        bail!(
            "--to `{}` is not a number; write digits only, like 447700900123",
            args.to
        );
    }
    let from = args.from.strip_prefix('+').unwrap_or(&args.from);
    let number = from.bytes().all(|octet| octet.is_ascii_digit());
    if from.len() > 20 || !from.is_ascii() || (!number && from.len() > 11) {
        bail!(
            "--from `{}` is too long; 20 digits or 11 letters are possible",
            args.from
        );
    }
    let (ton, npi) = match number {
        false => ALPHANUMERIC,
        true if from.len() > SHORT_CODE_MAX => INTERNATIONAL,
        true => UNKNOWN,
    };
    let (data_coding, text) = encode_text(&args.text);
    if text.len() > PAYLOAD_MAX {
        bail!(
            "the text has {} octets; {PAYLOAD_MAX} are possible",
            text.len()
        );
    }
    let mut message = SubmitSm {
        source_addr_ton: ton,
        source_addr_npi: npi,
        source_addr: Bytes::copy_from_slice(from.as_bytes()),
        dest_addr_ton: INTERNATIONAL.0,
        dest_addr_npi: INTERNATIONAL.1,
        destination_addr: Bytes::copy_from_slice(to.as_bytes()),
        registered_delivery: u8::from(!args.no_receipt),
        data_coding,
        ..SubmitSm::default()
    };
    if text.len() > SHORT_MAX {
        let mut tlvs = Tlvs::new();
        tlvs.push(tag::MESSAGE_PAYLOAD, &text);
        message.tlvs = tlvs;
    } else {
        message.short_message = text;
    }
    Ok(message)
}

/// data_coding and octets of a text: as it is when the SMSC's default alphabet has every character
/// at the same place as ASCII, UCS-2 otherwise.
fn encode_text(text: &str) -> (u8, Bytes) {
    let same_in_gsm = |character: char| match character {
        // ASCII, but elsewhere or absent in the GSM default alphabet (3GPP TS 23.038 §6.2.1).
        '$' | '@' | '[' | '\\' | ']' | '^' | '_' | '`' | '{' | '|' | '}' | '~' => false,
        ' '..='~' | '\n' | '\r' => true,
        _ => false,
    };
    if text.chars().all(same_in_gsm) {
        return (0, Bytes::copy_from_slice(text.as_bytes()));
    }
    let mut octets = BytesMut::with_capacity(text.len() * 2);
    text.encode_utf16().for_each(|unit| octets.put_u16(unit));
    (UCS2, octets.freeze())
}

async fn send(args: &Args, password: String, message: &SubmitSm) -> anyhow::Result<()> {
    let target = Target {
        to: args.host.clone(),
        system_id: args.system_id.clone(),
        password,
    };
    let mut wire = connect(&target, Role::Transceiver).await?;
    let started = Instant::now();
    encode_submit_sm(&mut wire.output, SUBMIT_SEQUENCE, message);
    let waited = timeout(args.timeout, converse(&mut wire, args, started)).await;
    // The outcome is known: a farewell that fails changes nothing.
    let _ = timeout(FAREWELL, farewell(&mut wire)).await;
    waited.unwrap_or_else(|_| {
        Err(anyhow::anyhow!(
            "nothing more was heard within {:?}; wait longer with --timeout, or see what holds the \
             message with `smsc queues`",
            args.timeout
        ))
    })
}

/// From the submit to the receipt.
async fn converse(wire: &mut Wire, args: &Args, started: Instant) -> anyhow::Result<()> {
    let mut message_id: Option<Bytes> = None;
    // A receipt may overtake the answer that says which message it is about.
    let mut early: Vec<receipt::Extracted> = Vec::new();
    loop {
        while let Some(frame) = wire.next_frame()? {
            let Decoded::Pdu(pdu) = decode(&frame, &Leniency::default()) else {
                continue;
            };
            match &pdu.body {
                Body::SubmitSmResp(answer) if pdu.sequence == SUBMIT_SEQUENCE => {
                    print_answer(args, &pdu, answer, started)?;
                    if args.no_receipt {
                        return Ok(());
                    }
                    message_id = Some(answer.message_id.clone());
                }
                Body::GenericNack if pdu.sequence == SUBMIT_SEQUENCE => {
                    bail!("the SMSC does not take submit_sm: {}", pdu.status);
                }
                Body::DeliverSm(deliver_sm) => {
                    let now_ms = clock::now_ms();
                    early.extend(receipt::extract(deliver_sm, now_ms));
                    encode_deliver_sm_resp(&mut wire.output, pdu.sequence, CommandStatus::ESME_ROK);
                }
                Body::EnquireLink => {
                    let answer = CommandId::ENQUIRE_LINK_RESP;
                    let ok = CommandStatus::ESME_ROK;
                    encode_empty_resp(&mut wire.output, answer, pdu.sequence, ok);
                }
                Body::Unbind => bail!("the SMSC ended the session; is it being stopped?"),
                _ => {}
            }
        }
        if let Some(id) = &message_id {
            let ours =
                |receipt: &receipt::Extracted| receipt.message_id == *id && !receipt.intermediate;
            if let Some(receipt) = early.iter().find(|receipt| ours(receipt)) {
                return print_receipt(args, receipt, started);
            }
            early.clear();
        }
        if !wire.receive().await.context("the connection broke")? {
            bail!("the SMSC closed the connection before the end; see its log for the reason");
        }
    }
}

fn print_answer(
    args: &Args,
    pdu: &Pdu,
    answer: &SubmitSmResp,
    started: Instant,
) -> anyhow::Result<()> {
    if !pdu.status.is_ok() {
        let cure = match pdu.status {
            CommandStatus::ESME_RINVDSTADR => {
                "no route for this number; see [[route]] in the configuration"
            }
            CommandStatus::ESME_RTHROTTLED => "the account is over its rate; try again later",
            CommandStatus::ESME_RMSGQFUL => "a queue or the disk is full; see `smsc queues`",
            _ => "see its log for the reason",
        };
        bail!("the SMSC refuses the message: {}, {cure}", pdu.status);
    }
    println!(
        "accepted   {} as {} in {:.1} ms",
        args.to,
        String::from_utf8_lossy(&answer.message_id),
        started.elapsed().as_secs_f64() * 1000.0
    );
    Ok(())
}

fn print_receipt(
    args: &Args,
    receipt: &receipt::Extracted,
    started: Instant,
) -> anyhow::Result<()> {
    let name = state::name(receipt.state);
    let done = jiff::Timestamp::from_millisecond(receipt.done_at_ms).unwrap_or_default();
    let error = String::from_utf8_lossy(&receipt.error);
    let error = match error.trim_start_matches('0') {
        "" => String::new(),
        _ => format!(", error {error}"),
    };
    println!(
        "{name:<10} {} after {:.1} ms, done {}{error}",
        args.to,
        started.elapsed().as_secs_f64() * 1000.0,
        done.strftime("%Y-%m-%d %H:%M:%S UTC"),
    );
    match receipt.state {
        state::DELIVERED | state::ACCEPTED => Ok(()),
        _ => bail!("the message was not delivered: {name}{error}"),
    }
}

async fn farewell(wire: &mut Wire) -> Option<()> {
    Pdu::request(UNBIND_SEQUENCE, Body::Unbind).encode(&mut wire.output);
    loop {
        while let Some(frame) = wire.next_frame().ok()? {
            if let Decoded::Pdu(pdu) = decode(&frame, &Leniency::default())
                && pdu.body == Body::UnbindResp
            {
                return Some(());
            }
        }
        if !wire.receive().await.ok()? {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_travel_in_the_smallest_coding_that_keeps_them() {
        assert_eq!(encode_text("hello"), (0, Bytes::from_static(b"hello")));
        assert_eq!(encode_text("ж"), (UCS2, Bytes::from_static(&[0x04, 0x36])));
        for elsewhere in ["a@b", "5 $", "{}", "~", "€"] {
            assert_eq!(encode_text(elsewhere).0, UCS2, "{elsewhere}");
        }
        assert_eq!(encode_text("😀").1.len(), 4, "a surrogate pair");
    }

    fn args(to: &str, text: &str, from: &str) -> Args {
        Args {
            to: to.to_owned(),
            text: text.to_owned(),
            from: from.to_owned(),
            host: "127.0.0.1:2775".to_owned(),
            system_id: "demo".to_owned(),
            password: Some("secret".to_owned()),
            data_dir: PathBuf::from("./smsc-data"),
            no_receipt: false,
            timeout: Duration::from_secs(5),
        }
    }

    #[test]
    fn addresses_and_long_texts_find_their_fields() {
        let long = "x".repeat(300);
        let built = message(&args("+447700900123", &long, "Bank")).unwrap();
        assert_eq!(&built.destination_addr[..], b"447700900123");
        assert_eq!((built.source_addr_ton, built.source_addr_npi), ALPHANUMERIC);
        assert!(built.short_message.is_empty());
        assert_eq!(built.payload().len(), 300);
        assert_eq!(
            message(&args("44", "x", "12345")).unwrap().source_addr_ton,
            0
        );
        let error = message(&args("12ab", "x", "1")).unwrap_err().to_string();
        assert!(error.contains("--to"), "{error}");
        let error = message(&args("12", "x", "a long sender")).unwrap_err();
        assert!(error.to_string().contains("--from"));
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
