//! Changes of the configuration as people read them: what is added, changed, removed, key by key.
//!
//! Used by all commands that change the configuration.

use serde_json::Value;

use super::client::{self, CommandOutput, Screen, Tone};
use crate::api::{Changed, Finding, ResourceChange};

/// Shows what a dry run has answered. Gives the version that it was compared with, if there is something left to
/// do: there are changes, and not only they were asked for.
///
/// # Errors
/// The answer is not understood, or standard output is closed.
pub fn show(looked: Value, only: bool, telling: &CommandOutput) -> anyhow::Result<Option<u64>> {
    let shown: Changed = client::decode(looked.clone())?;
    let is_over = only || shown.changes.is_empty();
    if is_over || !telling.is_for_programs() {
        telling.done(looked, |shown: Changed| {
            let text = render(&shown.changes, Screen::of_stdout());
            render_warnings(&shown.warnings) + &text + &render_secrets(&shown.secrets)
        })?;
    }
    Ok((!is_over).then_some(shown.version))
}

/// The changes, one resource after the other, and how many there are.
pub fn render(changes: &[ResourceChange], screen: Screen) -> String {
    let mut text = String::new();
    let mut line = |tone: Tone, line: String| {
        text.push_str(&screen.paint(tone, &line));
        text.push('\n');
    };
    let mut counts = [0usize; 3];
    for change in changes {
        let (at, mark, tone) = match change.action.as_str() {
            "added" => (0, '+', Tone::Good),
            "removed" => (2, '-', Tone::Bad),
            _ => (1, '~', Tone::Warning),
        };
        counts[at] += 1;
        line(tone, format!("{mark} {}", change.resource));
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
            line(tone, said);
        }
    }
    let [added, changed, removed] = counts;
    text.push_str(&format!(
        "{added} added, {changed} changed, {removed} removed"
    ));
    text
}

/// Warnings of the server, one a line.
fn render_warnings(warnings: &[Finding]) -> String {
    warnings
        .iter()
        .map(|one| match one.field.as_str() {
            "" => format!("warning: {}\n", one.message),
            field => format!("warning: {field}: {}\n", one.message),
        })
        .collect()
}

/// Files with secrets that were read again.
fn render_secrets(keys: &[String]) -> String {
    keys.iter()
        .map(|key| format!("\nread again: {key}"))
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
            render(&changes, Screen::default()),
            "+ accounts/new\n    rate = 5\n~ operators/up\n    rate: 50 → (not set)\n\
             - routes/44\n    rate = [\"up\"]\n1 added, 1 changed, 1 removed"
        );
        let colour = Screen {
            in_colour: true,
            ..Screen::default()
        };
        assert!(render(&changes, colour).contains("\x1b[32m+ accounts/new\x1b[0m\n"));
    }
}
