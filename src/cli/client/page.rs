//! What a command shows: sentences, facts and tables.

use anyhow::bail;
use unicode_width::UnicodeWidthStr as _;

use super::screen::{Screen, Tone};
use super::table::{BETWEEN, OutputTable, TableCell, csv_line};
use crate::cli::exit::WrongCommandLine;

/// Everything that a command shows.
#[derive(Debug, Clone, Default)]
pub struct OutputPage {
    parts: Vec<OutputPart>,
    /// Titles of columns are not shown.
    is_headless: bool,
}

#[derive(Debug, Clone)]
enum OutputPart {
    Text(String),
    Facts(Vec<(String, TableCell)>),
    Table(OutputTable),
    /// A table that is not what CSV has.
    Aside(OutputTable),
    /// What CSV has in the place of what is shown.
    Csv(OutputTable),
}

// === impl OutputPage ===

impl OutputPage {
    /// One sentence or several.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.parts.push(OutputPart::Text(text.into()));
        self
    }

    /// Names with their values; those without a value are left out.
    pub fn facts<N: Into<String>>(
        mut self,
        facts: impl IntoIterator<Item = (N, TableCell)>,
    ) -> Self {
        let facts = facts.into_iter().map(|(name, cell)| (name.into(), cell));
        self.parts.push(OutputPart::Facts(facts.collect()));
        self
    }

    pub fn table(mut self, table: OutputTable) -> Self {
        self.parts.push(OutputPart::Table(table));
        self
    }

    /// A table that CSV leaves out.
    pub fn aside(mut self, table: OutputTable) -> Self {
        self.parts.push(OutputPart::Aside(table));
        self
    }

    /// What CSV has, in the place of what is shown.
    pub fn csv_as(mut self, table: OutputTable) -> Self {
        self.parts.push(OutputPart::Csv(table));
        self
    }

    /// A sentence for people in place of a table without rows; programs get its titles.
    pub fn nothing(table: &OutputTable, said: impl Into<String>) -> Self {
        Self::default().text(said).csv_as(table.clone())
    }

    /// A table; a sentence for people in its place where it has no rows.
    pub fn list(table: OutputTable, nothing: &str) -> Self {
        if table.rows().is_empty() {
            Self::nothing(&table, nothing)
        } else {
            table.into()
        }
    }

    /// For people, without a line end.
    pub fn render(&self, screen: Screen) -> String {
        let mut lines = Vec::new();
        for part in &self.parts {
            match part {
                OutputPart::Text(text) if text.is_empty() => {}
                OutputPart::Csv(_) => {}
                OutputPart::Text(text) => lines.push(text.clone()),
                OutputPart::Facts(facts) => lines.extend(fact_lines(facts, screen)),
                OutputPart::Table(table) | OutputPart::Aside(table) => {
                    let (more, dropped) = table.lines(screen);
                    lines.extend(more);
                    if !dropped.is_empty() {
                        let said = format!(
                            "no room for: {} (a wider terminal, or -o wide)",
                            dropped.join(", ")
                        );
                        lines.push(screen.paint(Tone::Quiet, &said));
                    }
                }
            }
        }
        lines.join("\n")
    }

    /// For programs (RFC 4180, with line feeds): the first table, or else the facts, with a line of names. `None` for what
    /// is said in sentences alone.
    pub fn csv(&self) -> Option<String> {
        let own = self.parts.iter().find_map(|part| match part {
            OutputPart::Csv(table) => Some(table.csv()),
            _ => None,
        });
        let table = || {
            self.parts.iter().find_map(|part| match part {
                OutputPart::Table(table) => Some(table.csv()),
                _ => None,
            })
        };
        let facts = || {
            self.parts.iter().find_map(|part| match part {
                OutputPart::Facts(facts) => {
                    let names = facts.iter().map(|(name, _)| name.replace(' ', "_"));
                    let values = facts.iter().map(|(_, cell)| cell.raw.clone());
                    let names = if self.is_headless {
                        String::new()
                    } else {
                        csv_line(names)
                    };
                    Some(names + &csv_line(values))
                }
                _ => None,
            })
        };
        own.or_else(table).or_else(facts)
    }
}

// === what programs ask of lists ===

impl OutputPage {
    /// Its tables sorted by a column, by its title or as CSV has it.
    ///
    /// # Errors
    /// No table has this column.
    pub fn sorted_by(mut self, column: &str) -> anyhow::Result<Self> {
        let mut known: Vec<String> = Vec::new();
        let mut is_sorted = false;
        for part in &mut self.parts {
            if let OutputPart::Table(table) | OutputPart::Csv(table) = part {
                is_sorted |= table.sort_by(column);
                let titles = table.titles().iter().map(|title| title.replace(' ', "_"));
                let new: Vec<String> = titles.filter(|title| !known.contains(title)).collect();
                known.extend(new);
            }
        }
        // Facts and sentences have no columns.
        if is_sorted || known.is_empty() {
            return Ok(self);
        }
        bail!(WrongCommandLine(format!(
            "--sort-by {column}: the columns are {}",
            known.join(", ")
        )))
    }

    /// Without the titles of columns; in CSV, without the names of facts.
    pub fn without_headers(mut self) -> Self {
        for part in &mut self.parts {
            match part {
                OutputPart::Table(table) | OutputPart::Aside(table) | OutputPart::Csv(table) => {
                    table.leave_out_titles();
                }
                OutputPart::Text(_) | OutputPart::Facts(_) => {}
            }
        }
        self.is_headless = true;
        self
    }

    /// The first column of the first table, a value in each line; nothing in place of an empty table. `None` where there is
    /// no list.
    pub fn names(&self) -> Option<String> {
        let of_table = self.parts.iter().find_map(|part| match part {
            OutputPart::Table(table) => {
                let names = table.rows().iter().filter_map(|row| row.first());
                let names = names.map(|cell| cell.raw.as_str());
                Some(names.collect::<Vec<_>>().join("\n"))
            }
            _ => None,
        });
        let is_empty_list = self
            .parts
            .iter()
            .any(|part| matches!(part, OutputPart::Csv(_)));
        of_table.or(is_empty_list.then(String::new))
    }
}

impl From<OutputTable> for OutputPage {
    fn from(table: OutputTable) -> Self {
        Self::default().table(table)
    }
}

/// A name and a value in each line; further lines of a value stand below it.
fn fact_lines(facts: &[(String, TableCell)], screen: Screen) -> Vec<String> {
    let names = facts.iter().map(|(name, _)| name.width());
    let width = names.max().unwrap_or(0) + BETWEEN;
    let mut lines = Vec::new();
    for (name, cell) in facts.iter().filter(|(_, cell)| !cell.is_empty()) {
        for (at, line) in cell.shown.lines().enumerate() {
            let name = if at == 0 { name.as_str() } else { "" };
            let gap = " ".repeat(width - name.width());
            let name = screen.paint(Tone::Quiet, name);
            lines.push(format!("{name}{gap}{}", screen.paint(cell.tone(), line)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> OutputTable {
        let mut table = OutputTable::new(&["queue", "state", "waiting", "failed"])
            .dropping(&["failed", "waiting"]);
        table.row([
            "operator:up".into(),
            TableCell::state("served"),
            TableCell::number(1_234_567u64),
            TableCell::number(3u64),
        ]);
        table
    }

    fn wide(width: usize) -> Screen {
        Screen {
            width: Some(width),
            ..Screen::default()
        }
    }

    #[test]
    fn columns_go_where_there_is_no_room_and_no_value_is_cut() {
        let page = OutputPage::from(table());
        let all = page.render(Screen::default());
        assert_eq!(
            all,
            "queue        state     waiting  failed\n\
             ───────────  ──────  ─────────  ──────\n\
             operator:up  served  1,234,567       3"
        );
        assert_eq!(page.render(wide(38)), all);
        let narrow = page.render(wide(37));
        assert!(
            narrow.contains("1,234,567")
                && narrow.ends_with("no room for: failed (a wider terminal, or -o wide)")
        );
        let narrowest = page.render(wide(5));
        assert!(narrowest.contains("operator:up  served\n"), "{narrowest}");
    }

    #[test]
    fn programs_get_plain_values() {
        let mut table = table();
        table.row([
            "a \"b\", c".into(),
            "x".into(),
            TableCell::number(0u64),
            "".into(),
        ]);
        assert_eq!(
            OutputPage::default()
                .aside(OutputTable::new(&["none"]))
                .table(table)
                .csv()
                .unwrap(),
            "queue,state,waiting,failed\noperator:up,served,1234567,3\n\"a \"\"b\"\", c\",x,0,\n"
        );
        let facts = [
            ("last used", TableCell::time(Some("2023-11-14T22:13:20Z"))),
            ("x", "".into()),
        ];
        let page = OutputPage::default().facts(facts);
        assert_eq!(page.csv().unwrap(), "last_used,x\n2023-11-14T22:13:20Z,\n");
        let headless = page.clone().without_headers();
        assert_eq!(headless.csv().unwrap(), "2023-11-14T22:13:20Z,\n");
        assert_eq!(OutputPage::default().text("a sentence").csv(), None);
        assert_eq!(
            page.render(Screen::default()),
            "last used  2023-11-14 22:13:20 UTC"
        );
    }

    #[test]
    fn rows_are_sorted_by_the_values_of_numbers() {
        let mut table = OutputTable::new(&["id", "after", "name"]);
        for (id, after, name) in [
            ("1853010945916928001", "10.5 s", "nan"),
            ("1853010945916928000", "9.4 s", "1A"),
            ("9", "", "10"),
            ("", "3/500", "9"),
        ] {
            table.row([id.into(), TableCell::right(after), name.into()]);
        }
        table.row([TableCell::marked(7, "*"), "".into(), "inf".into()]);
        let page = OutputPage::from(table);
        for (column, sorted) in [
            ("id", "7\n9\n1853010945916928000\n1853010945916928001\n"),
            ("after", "\n1853010945916928000\n1853010945916928001\n9\n7"),
            ("name", "\n9\n1853010945916928000\n7\n1853010945916928001"),
        ] {
            let names = page.clone().sorted_by(column).unwrap().names();
            assert_eq!(names.as_deref(), Some(sorted), "{column}");
        }
        let empty = OutputPage::nothing(&OutputTable::new(&["in flight"]), "none");
        assert!(empty.clone().sorted_by("in_flight").is_ok());
        assert!(empty.sorted_by("depth").is_err());
    }

    #[test]
    fn what_a_peer_has_chosen_cannot_command_the_terminal() {
        let mut table = OutputTable::new(&["error"]);
        table.row(["bad\u{1b}[2J\nline".into()]);
        let text = OutputPage::from(table).render(Screen::default());
        assert!(text.ends_with("bad\u{FFFD}[2J line"), "{text:?}");
    }
}
