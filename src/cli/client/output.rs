//! How commands print what an SMSC answers: `-o table|json|csv|yaml`, once or again and again (`--watch`).

use std::io::Write as _;
use std::time::Duration;

use anyhow::Context as _;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::page::OutputPage;
use super::screen::{Screen, Tone};
use super::{AdminClient, AdminConnection, decode, print_line};
use crate::cli::said;

/// How an answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OutputFormat {
    /// For people.
    Table,
    /// What the admin API answers, as it is.
    Json,
    /// A line of names and a line per entry.
    Csv,
    /// What the admin API answers, as YAML.
    Yaml,
}

/// Which SMSC is asked to show something, and how its answer is printed.
#[derive(Debug, clap::Args)]
pub struct Listing {
    #[command(flatten)]
    output: ListOutput,
    /// Show it again and again, every two seconds or every so many.
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "2",
        value_parser = clap::value_parser!(u32).range(1..=86_400),
        help_heading = "Output"
    )]
    watch: Option<u32>,
    #[command(flatten)]
    connection: AdminConnection,
}

/// Which SMSC is told to do something, and how its answer is printed.
#[derive(Debug, clap::Args)]
pub struct CommandOutput {
    /// How to print the answer: `table` says it in words.
    #[arg(
        short,
        long = "output",
        value_name = "FORMAT",
        value_parser = ["table", "json", "yaml"],
        default_value = "table",
        help_heading = "Output"
    )]
    output: String,
    /// Print what the admin API answers: short for -o json.
    #[arg(long, conflicts_with = "output", hide = true)]
    json: bool,
    #[command(flatten)]
    connection: AdminConnection,
}

/// How something is printed that is a list.
#[derive(Debug, clap::Args)]
pub struct ListOutput {
    /// How to print it.
    #[arg(
        short,
        long = "output",
        value_name = "FORMAT",
        value_enum,
        hide_possible_values = true,
        default_value = "table",
        help = "How to print it: table, json (what the admin API answers), csv or yaml",
        help_heading = "Output"
    )]
    output: OutputFormat,
    /// Print what the admin API answers: short for -o json.
    #[arg(long, conflicts_with = "output", hide = true)]
    json: bool,
}

// === impl Listing ===

impl Listing {
    /// Finds address and token.
    ///
    /// # Errors
    /// As [`AdminConnection::open`].
    pub fn open(&self) -> anyhow::Result<AdminClient> {
        self.connection.open()
    }

    /// Whether something else than words is wanted.
    pub fn is_for_programs(&self) -> bool {
        self.output.format() != OutputFormat::Table
    }

    /// Prints what is at a path.
    ///
    /// # Errors
    /// The SMSC cannot be reached, or it refuses.
    pub fn show<T: DeserializeOwned>(
        &self,
        path: &str,
        page: impl Fn(T) -> OutputPage,
    ) -> anyhow::Result<()> {
        self.show_all(|client| client.get(path), |json| Ok(page(decode(json)?)))
    }

    /// Prints what came of something that was told: the answer for programs, else in words.
    ///
    /// # Errors
    /// The answer is not understood, or standard output is closed.
    pub fn done<T: DeserializeOwned>(
        &self,
        json: Value,
        words: impl FnOnce(T) -> String,
    ) -> anyhow::Result<()> {
        match self.output.format() {
            OutputFormat::Json => print_line(&as_json(&json)?),
            OutputFormat::Yaml => print_line(&as_yaml(&json)?),
            OutputFormat::Table | OutputFormat::Csv => print_line(&words(decode(json)?)),
        }
    }

    /// Prints what `ask` finds out.
    ///
    /// # Errors
    /// The SMSC cannot be reached, or it refuses; with `--watch` only the first time.
    pub fn show_all(
        &self,
        ask: impl Fn(&AdminClient) -> anyhow::Result<Value>,
        page: impl Fn(Value) -> anyhow::Result<OutputPage>,
    ) -> anyhow::Result<()> {
        let client = self.open()?;
        let text = |screen| {
            let json = ask(&client)?;
            self.output.text(&json, screen, || page(json.clone()))
        };
        let first = text(Screen::of_stdout())?;
        let Some(seconds) = self.watch else {
            return print_line(&first);
        };
        let mut shown = first;
        loop {
            match Screen::of_stdout() {
                screen if screen.width.is_some() => redraw(&shown, seconds, screen)?,
                _ => print_line(&shown)?,
            }
            super::pause(Duration::from_secs(seconds.into()));
            shown = match text(Screen::of_stdout()) {
                Ok(text) => text,
                Err(error) => format!("error: {}", said(&error)),
            };
        }
    }
}

/// Puts the text in the place of what was there, as far as the terminal has lines for it.
fn redraw(text: &str, seconds: u32, screen: Screen) -> anyhow::Result<()> {
    let now = jiff::Timestamp::from_millisecond(crate::clock::now_ms())?;
    let head = format!(
        "every {seconds} s, {}; Ctrl-C ends",
        now.strftime("%H:%M:%S UTC")
    );
    let room = screen.height.unwrap_or(usize::MAX).saturating_sub(3).max(1);
    let (all, mut page) = (text.lines().count(), String::from("\x1b[H"));
    let mut line = |text: &str| page.push_str(&format!("{text}\x1b[K\n"));
    line(&screen.paint(Tone::Quiet, &head));
    text.lines().take(room).for_each(&mut line);
    if all > room {
        line(&screen.paint(Tone::Quiet, &format!("{} more lines", all - room)));
    }
    page.push_str("\x1b[J");
    let mut out = std::io::stdout().lock();
    out.write_all(page.as_bytes())?;
    Ok(out.flush()?)
}

// === impl CommandOutput ===

impl CommandOutput {
    /// Finds address and token.
    ///
    /// # Errors
    /// As [`AdminConnection::open`].
    pub fn open(&self) -> anyhow::Result<AdminClient> {
        self.connection.open()
    }

    /// Takes what nothing else has given from a configuration file.
    pub fn or_config(mut self, file: &std::path::Path) -> Self {
        self.connection = self.connection.or_config(file);
        self
    }

    /// Whether something else than words is wanted.
    pub fn is_for_programs(&self) -> bool {
        self.json || self.output != "table"
    }

    /// Prints what came of it: the answer for programs, else in words.
    ///
    /// # Errors
    /// The answer is not understood, or standard output is closed.
    pub fn done<T: DeserializeOwned>(
        &self,
        json: Value,
        words: impl FnOnce(T) -> String,
    ) -> anyhow::Result<()> {
        print_line(&match self.output.as_str() {
            _ if self.json => as_json(&json)?,
            "json" => as_json(&json)?,
            "yaml" => as_yaml(&json)?,
            _ => words(decode(json)?),
        })
    }
}

// === impl ListOutput ===

impl ListOutput {
    fn format(&self) -> OutputFormat {
        if self.json {
            OutputFormat::Json
        } else {
            self.output
        }
    }

    /// Prints something that was not asked of an SMSC.
    ///
    /// # Errors
    /// Standard output is closed.
    pub fn print(&self, json: &Value, page: impl FnOnce() -> OutputPage) -> anyhow::Result<()> {
        print_line(&self.text(json, Screen::of_stdout(), || Ok(page()))?)
    }

    fn text(
        &self,
        json: &Value,
        screen: Screen,
        page: impl FnOnce() -> anyhow::Result<OutputPage>,
    ) -> anyhow::Result<String> {
        match self.format() {
            OutputFormat::Table => Ok(page()?.render(screen)),
            OutputFormat::Csv => {
                let csv = page()?.csv();
                let csv = csv.context("-o csv: this is no list; use -o json or -o yaml")?;
                Ok(csv.trim_end().to_owned())
            }
            OutputFormat::Json => as_json(json),
            OutputFormat::Yaml => as_yaml(json),
        }
    }
}

fn as_json(json: &Value) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(json)?)
}

fn as_yaml(json: &Value) -> anyhow::Result<String> {
    Ok(serde_saphyr::to_string(json)?.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::parsed;

    #[test]
    fn the_format_is_chosen_once() {
        let format = |line: &[&str]| parsed::<ListOutput>(line).map(|output| output.format());
        assert_eq!(format(&["x"]).unwrap(), OutputFormat::Table);
        assert_eq!(format(&["x", "--json"]).unwrap(), OutputFormat::Json);
        assert_eq!(format(&["x", "-o", "csv"]).unwrap(), OutputFormat::Csv);
        assert!(format(&["x", "-o", "xml"]).is_err());
        assert!(format(&["x", "-o", "csv", "--json"]).is_err());
        // What is told to do something answers with no list.
        assert!(parsed::<CommandOutput>(&["x", "-o", "csv"]).is_err());
        let watch = |line: &[&str]| parsed::<Listing>(line).map(|listing| listing.watch);
        assert_eq!(watch(&["x", "--watch"]).unwrap(), Some(2));
        assert_eq!(watch(&["x", "--watch=9"]).unwrap(), Some(9));
        assert!(watch(&["x", "--watch=0"]).is_err());
    }

    #[test]
    fn yaml_says_the_same_as_json() {
        let json =
            json!({"queues": [{"name": "no", "waiting": 3, "at": null, "text": "a: b #\n"}]});
        let yaml = as_yaml(&json).unwrap();
        assert!(yaml.contains("waiting: 3"), "{yaml}");
        assert!(yaml.contains("\"no\"") || yaml.contains("'no'"), "{yaml}");
    }
}
