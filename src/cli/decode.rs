//! `smsc decode HEX`: explains SMPP PDUs, the user data of a message, TPDUs, GSUP frames, messages of an SS7 network, or PDUs
//! of Chinese carriers, octet by octet.
//!
//! Contacts no server. Everything below is pure: [`explain`] turns octets into reports, `show` into
//! a page. Invariant: every octet that was given is in a field of a report, whatever the octets
//! are.

mod bits;
pub mod carrier;
mod causes;
mod elements;
pub mod gsup;
pub mod hex;
pub mod map;
mod pdu;
mod reader;
mod receipts;
pub mod report;
mod show;
pub mod text;
mod times;
mod tlvs;
pub mod tpdu;

use std::io::{self, Read as _};

use anyhow::{Context as _, bail};
use bytes::Bytes;

use super::client;
use crate::smpp::{CommandId, HEADER_LEN};
use carrier::CarrierProtocol;
use report::DecodeReport;
use text::UserDataHints;

/// Flags that say what the octets of SMPP are.
const OTHERS: [&str; 5] = ["pdu", "user_data", "data_coding", "header", "packed"];

/// Minimum length to distinguish a PDU from user data: command_length and command_id.
const TELLING: usize = 8;

/// Explain the octets of SMPP PDUs, of the user data of a message, of TPDUs, of GSUP frames, of MAP over M3UA, or of PDUs of CMPP,
/// SGIP or SMGP.
#[derive(Debug, clap::Args)]
pub struct DecodeArgs {
    /// Hexadecimal digits, with or without blanks, colons, commas or 0x; - reads standard input.
    #[arg(value_name = "HEX", required = true, num_args = 1..)]
    hex: Vec<String>,
    /// Read it as one or several PDUs, even if it does not look like one.
    #[arg(long, conflicts_with_all = ["user_data", "data_coding", "header", "packed"])]
    pdu: bool,
    /// Read it as user data: a text, perhaps after a header.
    #[arg(long)]
    user_data: bool,
    /// data_coding of user data, as 8 or 0x08; without it, the text is shown in every encoding that fits.
    #[arg(long, value_name = "N", value_parser = octet)]
    data_coding: Option<u8>,
    /// Whether user data begins with a header; without it, if it looks like one.
    #[arg(long, value_name = "yes|no", value_parser = yes_or_no)]
    header: Option<bool>,
    /// Whether septets of user data are packed; without it, if an octet is above 7F.
    #[arg(long, value_name = "yes|no", value_parser = yes_or_no)]
    packed: Option<bool>,
    /// Read it as a TPDU of 3GPP TS 23.040: one of that direction or kind; reports of errors are those in RP-ERROR.
    #[arg(long, value_name = "KIND", value_parser = which(), conflicts_with_all = OTHERS)]
    tpdu: Option<String>,
    /// Read it as a message of the relay layer of 3GPP TS 24.011, with the TPDU in it.
    #[arg(long, conflicts_with_all = OTHERS, conflicts_with = "tpdu")]
    rp: bool,
    /// Read it as one or several frames of GSUP, with the TPDUs in them.
    #[arg(long, conflicts_with_all = OTHERS, conflicts_with_all = ["tpdu", "rp"])]
    gsup: bool,
    /// Read it as one or several messages of M3UA, or one of SCCP or TCAP, with the MAP and the TPDUs in them.
    #[arg(long, conflicts_with_all = OTHERS, conflicts_with_all = ["tpdu", "rp", "gsup"])]
    map: bool,
    /// Read it as one or several PDUs of CMPP 2.0 or 3.0, whichever fits.
    #[arg(long, conflicts_with_all = OTHERS, conflicts_with_all = ["tpdu", "rp", "gsup", "map"])]
    cmpp: bool,
    /// Read it as one or several PDUs of SGIP 1.2 or 1.3, whichever fits.
    #[arg(long, conflicts_with_all = OTHERS, conflicts_with_all = ["tpdu", "rp", "gsup", "map", "cmpp"])]
    sgip: bool,
    /// Read it as one or several PDUs of SMGP 3.0.
    #[arg(long, conflicts_with_all = OTHERS, conflicts_with_all = ["tpdu", "rp", "gsup", "map", "cmpp", "sgip"])]
    smgp: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Explains and prints.
///
/// # Errors
/// What was given is no octets, or something is wrong with them: that is printed first.
pub fn run(args: &DecodeArgs) -> anyhow::Result<()> {
    let octets = hex::parse(&given(&args.hex)?)?;
    let reports = explained(args, &octets);
    if args.json {
        client::print_json(&serde_json::to_value(&reports)?)?;
    } else {
        let pages: Vec<String> = reports.iter().map(show::page).collect();
        client::print_line(pages.join("\n").trim_end())?;
    }
    let problems: usize = reports.iter().map(|report| report.problems.len()).sum();
    match problems {
        0 => Ok(()),
        1 => bail!("something is wrong with these octets, see above"),
        more => bail!("{more} things are wrong with these octets, see above"),
    }
}

/// Reads the octets as what they were said to be.
fn explained(args: &DecodeArgs, octets: &Bytes) -> Vec<DecodeReport> {
    let named = args.tpdu.as_ref().and_then(|kind| {
        let (_, which) = tpdu::WHICH.iter().find(|(name, _)| name == kind)?;
        Some(*which)
    });
    if let Some(which) = named {
        return vec![tpdu::explain(octets, 0, which)];
    }
    if args.rp {
        return tpdu::explain_rp(octets, 0);
    }
    if args.gsup {
        return gsup::explain(octets);
    }
    if args.map {
        return map::explain(octets);
    }
    for (is_wanted, which) in [
        (args.cmpp, CarrierProtocol::Cmpp),
        (args.sgip, CarrierProtocol::Sgip),
        (args.smgp, CarrierProtocol::Smgp),
    ] {
        if is_wanted {
            return carrier::explain(octets, which);
        }
    }
    let is_user_data = args.user_data
        || args.data_coding.is_some()
        || args.header.is_some()
        || args.packed.is_some()
        || !(args.pdu || looks_like_a_pdu(octets));
    if is_user_data && !args.pdu {
        vec![user_data(
            octets,
            UserDataHints {
                data_coding: args.data_coding,
                has_header: args.header,
                packed: args.packed,
            },
        )]
    } else {
        explain(octets)
    }
}

/// Explains one PDU after the other.
pub fn explain(octets: &Bytes) -> Vec<DecodeReport> {
    let mut reports = Vec::new();
    let mut at = 0;
    while at < octets.len() {
        let report = pdu::explain(octets, at);
        at += report.octets;
        reports.push(report);
    }
    reports
}

/// Explains user data.
pub fn user_data(octets: &Bytes, reading: UserDataHints) -> DecodeReport {
    let (user_data, problem) = text::explain(octets, 0, reading);
    let mut report = DecodeReport::new("user_data", "user data", octets, 0);
    report.user_data = Some(user_data);
    if let Some(text) = problem {
        report.problem(0, "user data header", text);
    }
    report
}

/// Whether the octets begin with a header of an operation that exists.
fn looks_like_a_pdu(octets: &[u8]) -> bool {
    let word = |at: usize| {
        let octets = octets.get(at..at + 4)?;
        Some(
            octets
                .iter()
                .fold(0, |word: u32, octet| word << 8 | u32::from(*octet)),
        )
    };
    octets.len() >= TELLING
        && word(4).is_some_and(|id| CommandId(id).is_known())
        && word(0).is_some_and(|length| length as usize >= HEADER_LEN)
}

fn given(words: &[String]) -> anyhow::Result<String> {
    if words != ["-"] {
        return Ok(words.join(" "));
    }
    let mut text = String::new();
    io::stdin()
        .read_to_string(&mut text)
        .context("standard input cannot be read as text; give hexadecimal digits")?;
    Ok(text)
}

fn octet(text: &str) -> Result<u8, String> {
    let number = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u8::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|_| "give an octet: 0 to 255, or 0x00 to 0xFF".to_owned())
}

/// The names of what `--tpdu` reads.
fn which() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(tpdu::WHICH.map(|(name, _)| name))
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("give yes or no".to_owned()),
    }
}

#[cfg(test)]
mod tests;
