//! Values and tables, as wide as the terminal, or as CSV.
//!
//! On a terminal a table that is too wide leaves columns out and says which; no value is ever cut. Elsewhere it has
//! the width that it needs. As CSV a value is what the admin API gives: no thousands separators, times in RFC 3339.

use std::cmp::Ordering;
use std::fmt::Display;

use unicode_width::UnicodeWidthStr as _;

use super::screen::{Screen, Tone};
use super::{ago, number, said_time, time};
use crate::domain::csv;
use crate::domain::visible::is_hidden;

/// Blanks between two columns.
pub const BETWEEN: usize = 2;

/// One value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableCell {
    /// For people.
    pub(super) shown: String,
    /// For programs.
    pub(super) raw: String,
    is_number: bool,
    tone: Tone,
}

/// Rows below one line of titles.
#[derive(Debug, Clone, Default)]
pub struct OutputTable {
    titles: Vec<String>,
    /// Titles of columns in the order in which they are left out where there is no room; others stay.
    dispensable: Vec<String>,
    rows: Vec<Vec<TableCell>>,
    /// Titles are not shown.
    is_headless: bool,
}

/// Which columns of a table there is room for.
#[derive(Debug)]
pub struct Fitting {
    /// By their places.
    pub columns: Vec<usize>,
    /// Of every column, also of those that are left out.
    pub widths: Vec<usize>,
    /// The titles of those that are left out.
    pub dropped: Vec<String>,
}

/// A table of records. Each column has a title, the place at which it is left out where there is no room (as of
/// [`OutputTable::with_columns`]; without one it stays), and the cell of a record, before which there may be `let`.
macro_rules! table_of {
    ($records:expr, |$record:pat_param| {
        $(let $name:ident $(: $type:ty)? = $value:expr;)*
        $($title:literal $([$order:literal])? => $cell:expr,)+
    }) => {{
        let mut table = $crate::cli::client::OutputTable::with_columns(&[
            $(($title, 0 $(+ $order)?)),+
        ]);
        for $record in $records {
            $(let $name $(: $type)? = $value;)*
            table.row([$($crate::cli::client::TableCell::from($cell)),+]);
        }
        table
    }};
}
pub(crate) use table_of;

// === impl TableCell ===

impl TableCell {
    fn new(shown: impl Into<String>, raw: impl Into<String>) -> Self {
        Self {
            shown: visible(&shown.into()),
            raw: visible(&raw.into()),
            ..Self::default()
        }
    }

    /// `1,234`, to the right.
    pub fn number(value: impl Into<u64>) -> Self {
        let value = value.into();
        Self {
            is_number: true,
            ..Self::new(number(value), value.to_string())
        }
    }

    /// A name, and a mark behind it that programs do not get.
    pub fn marked(name: impl Display, mark: &str) -> Self {
        Self::new(format!("{name}{mark}"), name.to_string())
    }

    /// Anything else that stands to the right: `3/500`, `12.3 ms`.
    pub fn right(text: impl Display) -> Self {
        Self {
            is_number: true,
            ..Self::from(text.to_string())
        }
    }

    /// A number or a word as programs write it, too.
    pub fn plain(value: impl Display) -> Self {
        Self::from(value.to_string())
    }

    /// What a group has in common, as filters call it: `none` for what has nothing there.
    pub fn group(key: &str) -> Self {
        match key {
            "" => "none".into(),
            key => key.into(),
        }
    }

    /// A moment of the API.
    pub fn time(moment: Option<&str>) -> Self {
        Self::new(time(moment), moment.unwrap_or_default())
    }

    /// A moment that a receipt says.
    pub fn said_time(moment: Option<&str>) -> Self {
        Self::new(said_time(moment), moment.unwrap_or_default())
    }

    /// A moment of the API, shown by how long ago it was.
    pub fn ago(moment: Option<&str>) -> Self {
        Self {
            is_number: true,
            ..Self::new(ago(moment), moment.unwrap_or_default())
        }
    }

    /// A state, in the colour that fits.
    pub fn state(text: impl Into<String>) -> Self {
        let text = text.into();
        let tone = Tone::of_state(&text);
        Self {
            tone,
            ..Self::from(text)
        }
    }

    pub fn text(&self) -> String {
        self.shown.replace('\n', " ")
    }

    pub fn is_number(&self) -> bool {
        self.is_number
    }

    pub fn tone(&self) -> Tone {
        self.tone
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// Which of two stands first: numbers by their values, then everything else.
    fn compare(&self, other: &Self) -> Ordering {
        // Ids have more digits than a fraction holds.
        let whole = |cell: &Self| cell.raw.parse::<i128>().ok();
        match (self.value(), other.value()) {
            (Some(one), Some(two)) => one
                .total_cmp(&two)
                .then_with(|| whole(self).cmp(&whole(other))),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => self.raw.cmp(&other.raw),
        }
    }

    /// As a number; of `9.4 s` and `3/500` the first.
    fn value(&self) -> Option<f64> {
        let first = self.raw.split([' ', '/']).next();
        let number = first.filter(|_| self.is_number).unwrap_or(&self.raw);
        // Names such as inf and nan are none.
        let has_digit = number.bytes().any(|octet| octet.is_ascii_digit());
        number.parse().ok().filter(|_| has_digit)
    }
}

impl From<String> for TableCell {
    fn from(text: String) -> Self {
        Self::new(text.clone(), text)
    }
}

impl From<&str> for TableCell {
    fn from(text: &str) -> Self {
        Self::new(text, text)
    }
}

impl From<Option<String>> for TableCell {
    fn from(text: Option<String>) -> Self {
        Self::from(text.unwrap_or_default())
    }
}

// === impl OutputTable ===

impl OutputTable {
    /// An empty one with these titles.
    pub fn new(titles: &[&str]) -> Self {
        Self {
            titles: titles.iter().map(|title| (*title).to_owned()).collect(),
            ..Self::default()
        }
    }

    /// An empty one with these titles. Columns with a number are left out where there is no room: 1 is the first to go.
    pub fn with_columns(columns: &[(&str, u8)]) -> Self {
        let titles: Vec<&str> = columns.iter().map(|(title, _)| *title).collect();
        let mut dispensable: Vec<_> = columns.iter().filter(|(_, order)| *order > 0).collect();
        dispensable.sort_by_key(|(_, order)| *order);
        let dispensable: Vec<&str> = dispensable.iter().map(|(title, _)| *title).collect();
        Self::new(&titles).dropping(&dispensable)
    }

    /// Names columns that a narrow terminal may do without, the least important one first.
    pub fn dropping(mut self, titles: &[&str]) -> Self {
        debug_assert!(
            titles
                .iter()
                .all(|one| self.titles.iter().any(|title| title == one)),
            "a column that is left out exists"
        );
        self.dispensable = titles.iter().map(|title| (*title).to_owned()).collect();
        self
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = TableCell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// What is shown in so many columns of a screen.
    pub fn fitting(&self, width: Option<usize>) -> Fitting {
        let widths: Vec<usize> = (0..self.titles.len()).map(|at| self.width_of(at)).collect();
        let mut columns: Vec<usize> = (0..self.titles.len()).collect();
        let mut dropped = Vec::new();
        let is_too_wide = |columns: &[usize]| {
            let all: usize = columns.iter().map(|at| widths[*at] + BETWEEN).sum();
            width.is_some_and(|width| all.saturating_sub(BETWEEN) > width)
        };
        for title in &self.dispensable {
            if !is_too_wide(&columns) {
                break;
            }
            columns.retain(|at| self.titles[*at] != *title);
            dropped.push(title.clone());
        }
        Fitting {
            columns,
            widths,
            dropped,
        }
    }

    pub fn titles(&self) -> &[String] {
        &self.titles
    }

    /// Titles are not shown.
    pub(super) fn leave_out_titles(&mut self) {
        self.is_headless = true;
    }

    /// Sorts the rows by a column, numbers by their value; false if there is no such column.
    pub(super) fn sort_by(&mut self, column: &str) -> bool {
        let is_it = |title: &String| title == column || title.replace(' ', "_") == column;
        let Some(at) = self.titles.iter().position(is_it) else {
            return false;
        };
        self.rows.sort_by(|one, other| one[at].compare(&other[at]));
        true
    }

    pub fn rows(&self) -> &[Vec<TableCell>] {
        &self.rows
    }

    /// The lines of it, and those columns for which there is no room.
    pub(super) fn lines(&self, screen: Screen) -> (Vec<String>, Vec<String>) {
        let Fitting {
            columns: left,
            widths,
            dropped,
        } = self.fitting(screen.width);
        let line = |cell: &dyn Fn(usize) -> (String, bool, Tone)| {
            let cells: Vec<String> = left
                .iter()
                .enumerate()
                .map(|(place, at)| {
                    let (text, to_the_right, tone) = cell(*at);
                    let gap = " ".repeat(widths[*at].saturating_sub(text.width()));
                    let text = screen.paint(tone, &text);
                    match (to_the_right, place + 1 == left.len()) {
                        (true, _) => format!("{gap}{text}"),
                        (false, true) => text,
                        (false, false) => format!("{text}{gap}"),
                    }
                })
                .collect();
            cells.join(&" ".repeat(BETWEEN)).trim_end().to_owned()
        };
        let is_number = |at: usize| self.rows.first().is_some_and(|row| row[at].is_number);
        let mut lines = Vec::new();
        if !self.is_headless {
            lines.push(line(&|at| {
                (self.titles[at].clone(), is_number(at), Tone::Strong)
            }));
            lines.push(line(&|at| ("─".repeat(widths[at]), false, Tone::Quiet)));
        }
        lines.extend(
            self.rows
                .iter()
                .map(|row| line(&|at| (row[at].text(), row[at].is_number, row[at].tone))),
        );
        (lines, dropped)
    }

    fn width_of(&self, at: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[at].text().width());
        cells.max().unwrap_or(0).max(self.titles[at].width())
    }

    /// As [`super::OutputPage::csv`].
    pub(super) fn csv(&self) -> String {
        let titles = self.titles.iter().map(|title| title.replace(' ', "_"));
        let mut text = if self.is_headless {
            String::new()
        } else {
            csv_line(titles)
        };
        for row in &self.rows {
            text.push_str(&csv_line(row.iter().map(|cell| cell.raw.clone())));
        }
        text
    }
}

/// One line (RFC 4180, with a line feed).
pub(super) fn csv_line(values: impl Iterator<Item = String>) -> String {
    let fields: Vec<String> = values
        .map(|value| csv::field(&value).into_owned())
        .collect();
    fields.join(",") + "\n"
}

/// The text without anything that a terminal would obey: peers choose some of what is shown.
pub fn visible(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\n' => '\n',
            hidden if is_hidden(hidden) => '\u{FFFD}',
            other => other,
        })
        .collect()
}
