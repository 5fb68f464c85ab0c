//! Explanations for a terminal: one line per field, its bits below it.

use std::fmt::Write as _;

use super::hex::counted;
use super::report::{DecodeReport, DecodedField, DecodedUserData, FieldDetail};
use smsc_domain::visible::is_hidden;

/// Where meanings begin when values are short.
const VALUE_WIDTH: usize = 20;

/// The page of one report.
pub fn page(report: &DecodeReport) -> String {
    let mut page = String::new();
    if report.kind != "user_data" {
        page = format!("{}, {}", report.title, counted(report.octets, "octet"));
        if report.at > 0 {
            // Writing to a String cannot fail.
            let _ = write!(page, ", from octet {}", report.at);
        }
        page.push('\n');
        fields(&mut page, &report.fields);
    }
    if let Some(user_data) = &report.user_data {
        if !page.is_empty() {
            page.push('\n');
        }
        text(&mut page, user_data);
    }
    if !report.receipt.is_empty() {
        page.push_str("\ndelivery receipt\n");
        details(&mut page, &report.receipt, "  ");
    }
    if !report.problems.is_empty() {
        page.push_str("\nwhat is wrong\n");
        for problem in &report.problems {
            let _ = writeln!(
                page,
                "  octet {}, {}: {}",
                problem.at, problem.field, problem.text
            );
        }
    }
    page
}

fn fields(page: &mut String, fields: &[DecodedField]) {
    let widest = |of: fn(&DecodedField) -> &str| {
        let widths = fields.iter().map(|field| of(field).chars().count());
        widths.max().unwrap_or(0)
    };
    let width = widest(|field| &field.name);
    // A column that most reports do not have.
    let sections = widest(|field| &field.section);
    let gap = if sections == 0 { "" } else { "  " };
    for field in fields {
        let line = format!(
            "{:>6}  {:<width$}{gap}{:<sections$}  {:<VALUE_WIDTH$}  {}",
            field.at, field.name, field.section, field.shown, field.meaning
        );
        page.push_str(line.trim_end());
        page.push('\n');
        details(page, &field.details, &" ".repeat(10));
    }
}

fn text(page: &mut String, user_data: &DecodedUserData) {
    let _ = writeln!(
        page,
        "user data, {} from octet {}",
        counted(user_data.octets, "octet"),
        user_data.at
    );
    if !user_data.header.is_empty() {
        page.push_str("  header\n");
        details(page, &user_data.header, "    ");
    }
    let what = match user_data.text {
        Some(_) => "character",
        None => "octet",
    };
    let _ = writeln!(
        page,
        "  {}, {}",
        user_data.alphabet,
        counted(user_data.characters, what)
    );
    for text in [&user_data.text, &user_data.data].into_iter().flatten() {
        indented(page, text, "    ");
    }
    for other in &user_data.or {
        let _ = writeln!(page, "  or as {}", other.name);
        indented(page, &other.value, "    ");
    }
}

/// Every line of a text, control characters made visible.
fn indented(page: &mut String, text: &str, margin: &str) {
    for line in text.split('\n') {
        page.push_str(margin);
        for character in line.chars() {
            if is_hidden(character) {
                page.extend(character.escape_default());
            } else {
                page.push(character);
            }
        }
        page.push('\n');
    }
}

fn details(page: &mut String, details: &[FieldDetail], margin: &str) {
    let widest = |of: fn(&FieldDetail) -> &str| {
        let widths = details.iter().map(|detail| of(detail).chars().count());
        widths.max().unwrap_or(0)
    };
    let names = widest(|detail| &detail.name);
    let values = widest(|detail| &detail.value);
    for detail in details {
        let line = format!(
            "{margin}{:<names$}  {:<values$}  {}",
            detail.name, detail.value, detail.meaning
        );
        page.push_str(line.trim_end());
        page.push('\n');
    }
}
