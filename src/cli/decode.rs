//! `smsc decode HEX`: explains octets of SMPP, of a radio network, of an SS7 network or of Chinese carriers.
//!
//! Contacts no server. Turns flags into what the octets are read as; the explanations are in `crate::decode`.

use std::io::{self, Read as _};

use anyhow::{Context as _, bail};
use bytes::Bytes;

use super::client;
use crate::decode::carrier::{self, CarrierProtocol};
use crate::decode::report::DecodeReport;
use crate::decode::text::UserDataHints;
use crate::decode::{explain, gsup, hex, looks_like_a_pdu, map, show, tpdu, user_data};

/// Flags that say what the octets of SMPP are.
const OTHERS: [&str; 5] = ["pdu", "user_data", "data_coding", "header", "packed"];

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
    /// data_coding of user data, as 8 or 0x08 [default: every encoding that fits].
    #[arg(long, value_name = "N", value_parser = octet)]
    data_coding: Option<u8>,
    /// Whether user data begins with a header; without it, if it looks like one.
    #[arg(long, value_name = "yes|no", value_parser = yes_or_no)]
    header: Option<bool>,
    /// Whether septets of user data are packed; without it, if an octet is above 7F.
    #[arg(long, value_name = "yes|no", value_parser = yes_or_no)]
    packed: Option<bool>,
    /// Read it as a TPDU (3GPP TS 23.040) of that kind; reports of errors are those in RP-ERROR.
    #[arg(long, value_name = "KIND", value_parser = which(), conflicts_with_all = OTHERS)]
    tpdu: Option<String>,
    /// Read it as a relay layer message (3GPP TS 24.011) with its TPDU.
    #[arg(long, conflicts_with_all = OTHERS, conflicts_with = "tpdu")]
    rp: bool,
    /// Read it as one or several frames of GSUP, with the TPDUs in them.
    #[arg(long, conflicts_with_all = OTHERS, conflicts_with_all = ["tpdu", "rp"])]
    gsup: bool,
    /// Read it as messages of M3UA, or one of SCCP or TCAP, with MAP and TPDUs in them.
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
