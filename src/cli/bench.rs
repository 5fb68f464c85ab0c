//! `smsc bench`: the load of `smsc load` several times, and the same against another SMSC or an earlier measurement.
//!
//! Two SMSCs are measured in turns, so that what else the machine does meanwhile hits both; what is told is the ratio
//! of each round. Absolute figures of two machines, or of two days, say little.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::client::{ListOutput, OutputPage, OutputTable, TableCell};
use super::exit::WrongCommandLine;
use super::load::{self, LoadShape};
use crate::load::LoadSummary;

/// Arguments of `smsc bench`.
#[derive(Debug, clap::Args)]
pub struct BenchArgs {
    #[command(flatten)]
    shape: LoadShape,
    /// How often to measure.
    #[arg(long, value_name = "COUNT", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Compare with another SMSC, measured in turns, or with a file of --save.
    #[arg(long, value_name = "HOST:PORT|FILE")]
    compare: Option<String>,
    /// Write the figures of all rounds into a file, to compare with later.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    #[command(flatten)]
    output: ListOutput,
}

/// The figures of a round: the name of each, where it is in the JSON, and its decimals.
const MEASURES: [(&str, &str, usize); 6] = [
    ("accepted/s", "/accepted_per_second", 0),
    ("end to end/s", "/end_to_end_per_second", 0),
    ("answer p50 ms", "/answer_latency/p50", 2),
    ("answer p99 ms", "/answer_latency/p99", 2),
    ("receipt p50 ms", "/receipt_latency/p50", 2),
    ("receipt p99 ms", "/receipt_latency/p99", 2),
];

/// Measures, prints the medians and ratios.
///
/// # Errors
/// As `smsc load`; a file cannot be read or written.
pub fn run(args: BenchArgs) -> anyhow::Result<()> {
    let options = load::options(args.shape)?;
    let (mut other, saved) = match &args.compare {
        None => (None, None),
        Some(given) if Path::new(given).is_file() => (None, Some(saved(given)?)),
        Some(given) if is_address(given) => {
            let mut other = options.clone();
            other.to.clone_from(given);
            (Some((other, Vec::new())), None)
        }
        Some(given) => bail!(WrongCommandLine(format!(
            "--compare {given} is neither a file of --save nor HOST:PORT"
        ))),
    };
    let mut rounds = Vec::new();
    for round in 1..=args.rounds {
        eprintln!("round {round} of {}: {}", args.rounds, options.to);
        rounds.push(figures(&load::measure(options.clone())?)?);
        if let Some((options, rounds)) = &mut other {
            eprintln!("round {round} of {}: {}", args.rounds, options.to);
            rounds.push(figures(&load::measure(options.clone())?)?);
        }
    }
    let others = other.map(|(_, rounds)| rounds).or(saved);
    let json = json!({ "rounds": rounds, "compared_with": others });
    if let Some(file) = &args.save {
        let text = serde_json::to_string_pretty(&json)?;
        std::fs::write(file, text)
            .with_context(|| format!("{} cannot be written; check --save", file.display()))?;
    }
    args.output
        .print(&json, || page(&rounds, others.as_deref()))
}

fn is_address(text: &str) -> bool {
    let port = text.rsplit_once(':').map(|(_, port)| port);
    port.is_some_and(|port| port.parse::<u16>().is_ok())
}

/// The figures of a run; one that lost something is no measurement.
fn figures(summary: &LoadSummary) -> anyhow::Result<Value> {
    if summary.missing > 0 {
        bail!(
            "{} acknowledged messages have no receipt: this is no measurement; wait longer with --settle",
            summary.missing
        );
    }
    Ok(serde_json::to_value(summary)?)
}

/// The rounds of a file.
fn saved(file: &str) -> anyhow::Result<Vec<Value>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{file} cannot be read"))?;
    let mut json: Value =
        serde_json::from_str(&text).with_context(|| format!("{file} is no JSON"))?;
    match json["rounds"].take() {
        Value::Array(rounds) if !rounds.is_empty() => Ok(rounds),
        _ => bail!("{file} has no rounds: it is no file of smsc bench --save"),
    }
}

/// A row per measure: the medians, and how they compare.
fn page(rounds: &[Value], others: Option<&[Value]>) -> OutputPage {
    let titles = match others {
        None => vec!["measure", "median", "least", "most"],
        Some(_) => vec!["measure", "this", "other", "ratio", "least", "most"],
    };
    let mut table = OutputTable::new(&titles).dropping(&["least", "most"]);
    for (name, pointer, decimals) in MEASURES {
        let own = values(rounds, pointer);
        // Without receipts there is nothing to tell of them.
        if own.iter().all(|value| *value == 0.0) {
            continue;
        }
        let shown = |value: f64| TableCell::right(format!("{value:.decimals$}"));
        let ratio = |value: f64| TableCell::right(format!("{value:.2}"));
        let mut row = vec![TableCell::from(name), shown(median(&own))];
        match others {
            None => row.extend([shown(least(&own)), shown(most(&own))]),
            Some(others) => {
                let others = values(others, pointer);
                let ratios = ratios(&own, &others);
                row.extend([
                    shown(median(&others)),
                    ratio(median(&ratios)),
                    ratio(least(&ratios)),
                    ratio(most(&ratios)),
                ]);
            }
        }
        table.row(row);
    }
    table.into()
}

fn values(rounds: &[Value], pointer: &str) -> Vec<f64> {
    let value = |round: &Value| round.pointer(pointer)?.as_f64();
    rounds.iter().filter_map(value).collect()
}

/// Round by round where both have as many; else of each with the median of the others.
fn ratios(own: &[f64], others: &[f64]) -> Vec<f64> {
    let others = if own.len() == others.len() {
        others.to_vec()
    } else {
        vec![median(others); own.len()]
    };
    own.iter()
        .zip(others)
        .filter(|(_, other)| *other > 0.0)
        .map(|(value, other)| value / other)
        .collect()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        even if even.is_multiple_of(2) => f64::midpoint(sorted[middle - 1], sorted[middle]),
        _ => sorted[middle],
    }
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().reduce(f64::min).unwrap_or_default()
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().reduce(f64::max).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::Screen;

    fn round(rate: f64) -> Value {
        json!({"accepted_per_second": rate, "end_to_end_per_second": 0.0,
            "answer_latency": {"p50": 2.0, "p99": 4.0}, "receipt_latency": {"p50": 0.0, "p99": 0.0}})
    }

    #[test]
    fn rounds_are_compared_one_by_one() {
        let own = [round(100.0), round(400.0), round(90.0)];
        let others = [round(50.0), round(200.0), round(90.0)];
        let text = page(&own, Some(&others)).render(Screen::default());
        let row = text
            .lines()
            .find(|line| line.starts_with("accepted/s"))
            .unwrap();
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words, ["accepted/s", "100", "90", "2.00", "1.00", "2.00"]);
        // No receipts were asked for.
        assert!(!text.contains("receipt"), "{text}");
        // Another number of rounds: with their median.
        assert_eq!(ratios(&[10.0, 20.0], &[5.0]), [2.0, 4.0]);
        assert_eq!(median(&[1.0, 3.0]), 2.0);
    }

    #[test]
    fn what_is_compared_with_is_an_address_or_a_file() {
        assert!(is_address("127.0.0.1:2775") && is_address("[::1]:2775") && !is_address("smsc"));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("before.json");
        std::fs::write(&file, "{}").unwrap();
        let error = saved(&file.display().to_string()).unwrap_err().to_string();
        assert!(error.contains("smsc bench --save"), "{error}");
    }
}
