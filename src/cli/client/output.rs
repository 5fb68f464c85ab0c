//! How commands print what an SMSC answers: `-o table|wide|name|json|jsonl|csv|yaml`, once or again and again
//! (`--watch`).

use std::io::Write as _;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::page::OutputPage;
use super::screen::{Screen, Tone};
use super::{AdminClient, AdminConnection, decode, print_line};
use crate::cli::exit::WrongCommandLine;
use crate::cli::said;

/// Members of answers about one thing, whose lists are parts of it.
const OF_ONE: &[&str] = &["name", "id", "number", "account"];

/// The lists of answers that have several: those that CSV has.
const LISTS: &[&str] = &["binds", "groups"];

/// How an answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OutputFormat {
    /// For people.
    Table,
    /// For people, with every column however narrow the terminal is.
    Wide,
    /// The first column alone: the names.
    Name,
    /// What the admin API answers, as it is.
    Json,
    /// What it answers, an entry of the list in each line.
    Jsonl,
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
        help = "How to print it: table, wide (all columns), name (the first column), json (what the admin API answers), \
                jsonl (an entry in each line), csv or yaml",
        help_heading = "Output"
    )]
    output: OutputFormat,
    /// Without the titles of columns, in table, wide and csv.
    #[arg(long, help_heading = "Output")]
    no_headers: bool,
    /// Sort by this column, in table, wide, name and csv.
    #[arg(long, value_name = "COLUMN", help_heading = "Output")]
    sort_by: Option<String>,
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
        print_line(&match self.output.format() {
            OutputFormat::Json => as_json(&json)?,
            OutputFormat::Jsonl => as_lines(&json),
            OutputFormat::Yaml => as_yaml(&json)?,
            OutputFormat::Table | OutputFormat::Wide | OutputFormat::Name | OutputFormat::Csv => {
                words(decode(json)?)
            }
        })
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
        let page = || {
            let page = page()?;
            let page = match &self.sort_by {
                Some(column) => page.sorted_by(column)?,
                None => page,
            };
            anyhow::Ok(if self.no_headers {
                page.without_headers()
            } else {
                page
            })
        };
        match self.format() {
            OutputFormat::Table => Ok(page()?.render(screen)),
            OutputFormat::Wide => {
                let wide = Screen {
                    width: None,
                    ..screen
                };
                Ok(page()?.render(wide))
            }
            OutputFormat::Name => {
                let names = page()?.names();
                names.ok_or_else(|| no_list("name"))
            }
            OutputFormat::Csv => {
                let csv = page()?.csv();
                let csv = csv.ok_or_else(|| no_list("csv"))?;
                Ok(csv.trim_end().to_owned())
            }
            OutputFormat::Json => as_json(json),
            OutputFormat::Jsonl => Ok(as_lines(json)),
            OutputFormat::Yaml => as_yaml(json),
        }
    }
}

fn no_list(format: &str) -> anyhow::Error {
    let said = format!("-o {format}: this is no list; use -o json or -o yaml");
    WrongCommandLine(said).into()
}

fn as_json(json: &Value) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(json)?)
}

/// Each entry of the list that an answer is, or else all of it, in a line.
fn as_lines(json: &Value) -> String {
    let is_one = OF_ONE.iter().any(|member| json.get(member).is_some());
    let members = json.as_object().into_iter().flatten();
    let mut lists: Vec<(&String, &Vec<Value>)> = members
        .filter_map(|(name, value)| Some((name, value.as_array()?)))
        .filter(|_| !is_one)
        .collect();
    if lists.len() > 1 {
        lists.retain(|(name, _)| LISTS.contains(&name.as_str()));
    }
    match lists.as_slice() {
        [(_, list)] => {
            let lines: Vec<String> = list.iter().map(Value::to_string).collect();
            lines.join("\n")
        }
        _ => json.to_string(),
    }
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
        for (given, read) in [
            ("csv", OutputFormat::Csv),
            ("jsonl", OutputFormat::Jsonl),
            ("name", OutputFormat::Name),
            ("wide", OutputFormat::Wide),
        ] {
            assert_eq!(format(&["x", "-o", given]).unwrap(), read);
        }
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
    fn a_list_is_printed_by_names_by_lines_and_sorted() {
        let json = json!({"queues": [{"name": "b", "waiting": 10}, {"name": "a", "waiting": 9}], "next_before": null});
        let page = || {
            let mut table = crate::cli::client::OutputTable::new(&["queue", "in flight"]);
            for one in json["queues"].as_array().unwrap() {
                let name = one["name"].as_str().unwrap();
                let number = one["waiting"].as_u64().unwrap();
                table.row([name.into(), crate::cli::client::TableCell::number(number)]);
            }
            Ok(OutputPage::from(table))
        };
        let text = |line: &[&str]| {
            let words = [&["x"][..], line].concat();
            let output = parsed::<ListOutput>(&words).unwrap();
            output.text(&json, Screen::default(), page)
        };
        let read = |line: &[&str]| text(line).unwrap();
        assert_eq!(read(&["-o", "name"]), "b\na");
        assert_eq!(read(&["-o", "name", "--sort-by", "queue"]), "a\nb");
        assert_eq!(
            read(&["-o", "csv", "--sort-by", "in_flight", "--no-headers"]),
            "a,9\nb,10"
        );
        assert_eq!(
            read(&["-o", "jsonl"]),
            "{\"name\":\"b\",\"waiting\":10}\n{\"name\":\"a\",\"waiting\":9}"
        );
        assert_eq!(
            read(&["--no-headers"]),
            "b             10\na              9"
        );
        let wrong = text(&["--sort-by", "depth"]).unwrap_err().to_string();
        assert!(wrong.contains("queue, in_flight"), "{wrong}");
        for (json, lines) in [
            (json!({"count": 1}), "{\"count\":1}"),
            (json!({"operators": [1], "binds": [2, 3]}), "2\n3"),
            (json!({"buckets": [1], "groups": [], "by": "error"}), ""),
            // Lists of one thing.
            (
                json!({"name": "up", "nodes": [1]}),
                "{\"name\":\"up\",\"nodes\":[1]}",
            ),
        ] {
            assert_eq!(as_lines(&json), lines);
        }
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
