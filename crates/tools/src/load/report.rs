//! One HTML page about a run: the numbers, throughput over time, and the latency distribution.
//!
//! Written by `smsc load --report FILE.html`. Self-contained (inline SVG and CSS, no script, nothing
//! fetched), follows the reader's light or dark setting, and fits a phone.

mod chart;

use std::fmt::Write;

use self::chart::{Axis, Chart, Series};
use super::Summary;
use super::summary::grouped;

/// Most points of a throughput line: one per few pixels.
const POINTS_MAX: usize = 120;
/// The percentile axis ends at 99.99 %; the slowest message is in the table.
const NINES_MAX: f64 = 4.0;
/// The latency axis starts no lower than this: a microsecond is what is measured.
const MILLIS_MIN: f64 = 0.001;

/// Styles: colours are variables, so that dark mode is one block.
const CSS: &str = "\
:root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--ink:#1b2430;--soft:#5b6776;--line:#e1e5ea;\
--one:#1f6fd1;--two:#c2560c;--bad:#b3261e;--good:#1a7f42}\
@media(prefers-color-scheme:dark){:root{--page:#11161d;--card:#1a212b;--ink:#e8edf3;--soft:#9aa7b6;\
--line:#2d3743;--one:#6cabff;--two:#f59b57;--bad:#ff8a80;--good:#6fd394}}\
*{box-sizing:border-box}\
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.45 system-ui,sans-serif}\
main{max-width:1120px;margin:0 auto;padding:24px 16px 48px}\
h1{font-size:1.5rem;margin:0}h2{font-size:1.05rem;margin:0 0 4px}\
p{margin:4px 0 0;color:var(--soft)}\
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:20px 0}\
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 16px}\
.tile b{display:block;font-size:1.6rem;font-weight:650;font-variant-numeric:tabular-nums;line-height:1.2}\
.tile span{color:var(--soft);font-size:.875rem}.bad b{color:var(--bad)}.good b{color:var(--good)}\
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:12px;\
margin-bottom:12px}\
.key{display:flex;flex-wrap:wrap;gap:4px 16px;color:var(--soft);font-size:.875rem;margin-bottom:6px}\
.key i{display:inline-block;width:18px;height:3px;border-radius:2px;margin-right:6px;\
vertical-align:middle;background:var(--one)}.key .two{background:var(--two)}\
svg{display:block;width:100%;height:auto}\
svg text{fill:var(--soft);font-size:14px;font-family:system-ui,sans-serif}\
.grid{stroke:var(--line);stroke-width:1}.line{fill:none;stroke:var(--one);stroke-width:4;\
stroke-linejoin:round;stroke-linecap:round}.line.two{stroke:var(--two);stroke-width:2}\
.dot{fill:var(--one)}.dot.two{fill:var(--two)}.hit{fill:transparent}.hit:hover{fill:var(--line);opacity:.5}\
table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}\
th{font-weight:500;text-align:left;color:var(--soft)}td,th{padding:5px 0;border-top:1px solid var(--line)}\
tr:first-child>*{border-top:0}td,thead th+th{text-align:right;padding-left:10px}\
code{font-size:.875rem;overflow-wrap:anywhere}";

/// The page.
pub fn html(summary: &Summary) -> String {
    let mut page = String::with_capacity(32 * 1024);
    page.push_str("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n");
    page.push_str("<title>SMSC load report</title>\n<style>");
    page.push_str(CSS);
    page.push_str("</style>\n<main>\n<h1>SMSC load report</h1>\n<p>");
    page.push_str(&escaped(&summary.shape));
    page.push_str("</p>\n<div class=\"tiles\">\n");
    tiles(&mut page, summary);
    page.push_str("</div>\n<div class=\"pair\">\n");
    throughput(&mut page, summary);
    latency(&mut page, summary);
    page.push_str("</div>\n<div class=\"pair\">\n");
    counts_table(&mut page, summary);
    latency_table(&mut page, summary);
    page.push_str("</div>\n</main>\n</html>\n");
    page
}

fn tiles(page: &mut String, summary: &Summary) {
    let mut tile = |class: &str, value: String, name: &str| {
        append(
            page,
            format_args!(
                "<div class=\"card tile {class}\"><b>{value}</b><span>{name}</span></div>\n"
            ),
        );
    };
    let rate = |per_second: f64| grouped(per_second.round() as u64);
    tile("", rate(summary.accepted_per_second), "accepted a second");
    if summary.receipts_wanted {
        tile(
            "",
            rate(summary.end_to_end_per_second),
            "end to end a second",
        );
    }
    tile(
        "",
        millis(summary.answer_latency.p99),
        "submit_sm_resp, p99",
    );
    if summary.receipts_wanted {
        tile("", millis(summary.receipt_latency.p99), "receipt, p99");
        let bad = |count: u64| if count > 0 { "bad" } else { "good" };
        tile(
            bad(summary.missing),
            grouped(summary.missing),
            "receipts missing",
        );
        tile(
            bad(summary.duplicated),
            grouped(summary.duplicated),
            "receipts duplicated",
        );
    }
}

fn throughput(page: &mut String, summary: &Summary) {
    let points = rates(summary);
    let top = points
        .iter()
        .fold(0.0f64, |top, point| top.max(point.1).max(point.2));
    let end = points.last().map_or(1.0, |last| last.0).max(0.1);
    let mut lines = vec![Series {
        name: "accepted",
        second: false,
        points: points.iter().map(|point| (point.0, point.1)).collect(),
    }];
    if summary.receipts_wanted {
        lines.push(Series {
            name: "receipts",
            second: true,
            points: points.iter().map(|point| (point.0, point.2)).collect(),
        });
    }
    let chart = Chart {
        title: "Throughput over time",
        unit: "messages a second; seconds since the start",
        x: Axis::linear(0.0, end, |seconds| format!("{seconds} s")).ending_at(end),
        y: Axis::linear(0.0, top.max(1.0), thousands),
        tip: |x, y| format!("{} a second at {x:.1} s", grouped(y.round() as u64)),
        lines,
    };
    chart.draw(page);
}

fn latency(page: &mut String, summary: &Summary) {
    let latencies = summary.latencies();
    let all = || latencies.iter().flat_map(|(_, latency)| &latency.curve);
    let (mut low, mut high) = (f64::MAX, MILLIS_MIN);
    for (_, millis) in all() {
        low = low.min(millis.max(MILLIS_MIN));
        high = high.max(*millis);
    }
    let lines = latencies
        .iter()
        .zip([false, true])
        .map(|((name, latency), second)| Series {
            name,
            second,
            points: latency
                .curve
                .iter()
                .map(|(percent, millis)| (nines(*percent), millis.max(MILLIS_MIN).log10()))
                .collect(),
        })
        .collect();
    let ticks = [50.0, 90.0, 99.0, 99.9, 99.99];
    let chart = Chart {
        title: "Latency distribution",
        unit: "milliseconds, logarithmic; share of messages that were at least as fast",
        x: Axis::fixed(
            (0.0, NINES_MAX),
            ticks
                .map(|percent| (nines(percent), format!("{percent}%")))
                .into(),
        ),
        y: decades(low.min(high), high),
        tip: |x, y| {
            let percent = 100.0 - 100.0 / 10f64.powf(x);
            format!("{percent:.2}% within {}", millis(10f64.powf(y)))
        },
        lines,
    };
    chart.draw(page);
}

fn counts_table(page: &mut String, summary: &Summary) {
    page.push_str("<section class=\"card\"><h2>Numbers</h2>\n<table>\n");
    for (name, value) in summary.lines() {
        let (name, value) = (escaped(&name), escaped(&value));
        append(
            page,
            format_args!("<tr><th>{name}</th><td>{value}</td></tr>\n"),
        );
    }
    page.push_str("</table>\n");
    if !summary.missing_examples.is_empty() {
        let examples = escaped(&summary.missing_examples.join(" "));
        append(
            page,
            format_args!("<p>Without a receipt: <code>{examples}</code></p>\n"),
        );
    }
    page.push_str("</section>\n");
}

fn latency_table(page: &mut String, summary: &Summary) {
    page.push_str("<section class=\"card\"><h2>Latency in milliseconds</h2>\n<table>\n");
    page.push_str("<thead><tr><th></th>");
    let latencies = summary.latencies();
    for (name, _) in &latencies {
        append(page, format_args!("<th>{name}</th>"));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for (row, (name, _)) in summary.answer_latency.columns().iter().enumerate() {
        append(page, format_args!("<tr><th>{name}</th>"));
        for (_, latency) in &latencies {
            append(
                page,
                format_args!("<td>{:.2}</td>", latency.columns()[row].1),
            );
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table>\n<p>Counted from the moment a message should have been ");
    page.push_str("sent; the receipt's includes everything up to its arrival.</p></section>\n");
}

/// Middle of each interval in seconds, accepted a second, receipts a second.
fn rates(summary: &Summary) -> Vec<(f64, f64, f64)> {
    let per_point = summary.samples.len().div_ceil(POINTS_MAX).max(1);
    let width = summary.sample_seconds() * per_point as f64;
    summary
        .samples
        .chunks(per_point)
        .enumerate()
        .filter_map(|(number, chunk)| {
            let from = number as f64 * width;
            // The last interval ends with the run; a sliver of one would be noise.
            let length = width.min(summary.seconds - from);
            if length < width * 0.3 && number > 0 {
                return None;
            }
            let length = length.max(summary.sample_seconds() * 0.01);
            let total = |of: fn(&(u32, u32)) -> u32| {
                chunk
                    .iter()
                    .map(|sample| f64::from(of(sample)))
                    .sum::<f64>()
                    / length
            };
            Some((from + length / 2.0, total(|one| one.0), total(|one| one.1)))
        })
        .collect()
}

/// How many nines: 90 % is 1, 99 % is 2.
fn nines(percent: f64) -> f64 {
    let above = (1.0 - percent / 100.0).max(1e-9);
    (-above.log10()).clamp(0.0, NINES_MAX)
}

/// A logarithmic axis from the decade (or third of one) below to the one above.
fn decades(low: f64, high: f64) -> Axis {
    let steps: Vec<f64> = (-3..=7)
        .flat_map(|decade| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(decade)))
        .collect();
    let first = steps.iter().rposition(|step| *step <= low).unwrap_or(0);
    let last = steps.iter().position(|step| *step >= high);
    let last = last
        .unwrap_or(steps.len() - 1)
        .max(first + 2)
        .min(steps.len() - 1);
    let wide = last - first > 7;
    let ticks = (first..=last)
        .filter(|index| !wide || index % 3 == 0)
        .map(|index| (steps[index].log10(), millis(steps[index])))
        .collect();
    Axis::fixed((steps[first].log10(), steps[last].log10()), ticks)
}

/// `0.25 ms`, `12 ms`, `1.5 s`.
fn millis(value: f64) -> String {
    let (value, unit) = if value >= 1000.0 {
        (value / 1000.0, "s")
    } else {
        (value, "ms")
    };
    let decimals = match value {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 0.1 => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text} {unit}")
}

/// `0`, `500`, `20k`, `1.5M`.
fn thousands(value: f64) -> String {
    if value >= 1e6 {
        format!("{}M", value / 1e6)
    } else if value >= 1e3 {
        format!("{}k", value / 1e3)
    } else {
        format!("{value}")
    }
}

fn append(page: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a String does not fail.
    let _ = page.write_fmt(arguments);
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::summary::Percentiles;

    #[test]
    fn axes_and_numbers_read_well() {
        assert_eq!(millis(0.25), "0.25 ms");
        assert_eq!(millis(100.0), "100 ms");
        assert_eq!(millis(0.001), "0.001 ms");
        assert_eq!(millis(1500.0), "1.5 s");
        assert_eq!(thousands(1_500_000.0), "1.5M");
        assert_eq!((nines(0.0), nines(100.0)), (0.0, NINES_MAX));
        assert!((nines(99.9) - 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_page_is_whole_with_and_without_data() {
        let mut summary = Summary::sample();
        summary.samples = vec![(5_000, 4_900); 300];
        summary.seconds = 30.0;
        summary.answer_latency = Percentiles {
            curve: vec![(0.0, 0.1), (99.0, 5.0), (100.0, 80.0)],
            ..Percentiles::default()
        };
        let page = html(&summary);
        assert_eq!(rates(&summary).len(), 100);
        assert!((rates(&summary)[0].1 - 50_000.0).abs() < 1.0);
        assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
        assert!(page.contains("50k") && page.contains("99.9%"), "{page}");
        assert!(!page.contains("NaN") && !page.contains("inf"));
        assert!(!page.contains("http"), "nothing is fetched");

        summary.samples = Vec::new();
        summary.answer_latency = Percentiles::default();
        let page = html(&summary);
        assert!(!page.contains("NaN") && !page.contains("inf"));
    }
}
