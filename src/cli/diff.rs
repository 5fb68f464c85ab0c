//! Changes of the configuration as people read them: what is added, changed, removed, key by key.
//!
//! Used by `smsc apply` and `smsc config`. Coloured on a terminal, unless NO_COLOR is set.

use std::io::IsTerminal as _;

use serde_json::Value;

use crate::api::{Finding, ResourceChange};

const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const RED: &str = "\x1b[31m";
const PLAIN: &str = "\x1b[0m";

/// Whether to use colours on standard output.
pub fn in_colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// The changes, one resource after the other, and how many there are.
pub fn render(changes: &[ResourceChange], colour: bool) -> String {
    let mut text = String::new();
    let mut line = |paint: &str, line: String| match colour {
        true => text.push_str(&format!("{paint}{line}{PLAIN}\n")),
        false => text.push_str(&format!("{line}\n")),
    };
    let mut counts = [0usize; 3];
    for change in changes {
        let (at, mark, paint) = match change.action.as_str() {
            "added" => (0, '+', GREEN),
            "removed" => (2, '-', RED),
            _ => (1, '~', YELLOW),
        };
        counts[at] += 1;
        line(paint, format!("{mark} {}", change.resource));
        for field in &change.fields {
            let said = match mark {
                '+' => format!("    {} = {}", field.field, shown(&field.after)),
                '-' => format!("    {} = {}", field.field, shown(&field.before)),
                _ => format!(
                    "    {}: {} → {}",
                    field.field,
                    shown(&field.before),
                    shown(&field.after)
                ),
            };
            line(paint, said);
        }
    }
    let [added, changed, removed] = counts;
    text.push_str(&format!(
        "{added} added, {changed} changed, {removed} removed"
    ));
    text
}

/// Warnings of the server, one a line.
pub fn render_warnings(warnings: &[Finding]) -> String {
    warnings
        .iter()
        .map(|one| match one.field.as_str() {
            "" => format!("warning: {}\n", one.message),
            field => format!("warning: {field}: {}\n", one.message),
        })
        .collect()
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "(not set)".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::FieldChange;

    #[test]
    fn shows_key_by_key() {
        let change = |resource: &str, action: &str, before: Value, after: Value| ResourceChange {
            resource: resource.to_owned(),
            action: action.to_owned(),
            fields: vec![FieldChange {
                field: "rate".to_owned(),
                before,
                after,
            }],
        };
        let changes = [
            change("accounts/new", "added", Value::Null, json!(5)),
            change("operators/up", "changed", json!(50), Value::Null),
            change("routes/44", "removed", json!(["up"]), Value::Null),
        ];
        assert_eq!(
            render(&changes, false),
            "+ accounts/new\n    rate = 5\n~ operators/up\n    rate: 50 → (not set)\n\
             - routes/44\n    rate = [\"up\"]\n1 added, 1 changed, 1 removed"
        );
        assert!(render(&changes, true).contains("\x1b[32m+ accounts/new\x1b[0m\n"));
    }
}
