//! The port for how far the commands of a stream were taken, so that a consumer that has to be made anew begins behind them.
//!
//! Read when a source of commands connects, written every few seconds while commands are taken. In the table `meta`, a row for
//! each number of a mark.

use super::Reply;
use super::cold::{ColdRecord as _, ColdTables};
use super::meta::MetaRow;

/// How far the commands of a stream were taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamMark {
    /// When the stream was made, Unix nanoseconds: another one of its name was made at another time.
    pub created: i64,
    /// All commands up to this sequence are done with.
    pub floor: u64,
    /// What is done with above the floor came after this time, Unix milliseconds.
    pub floor_at: i64,
    /// The highest sequence that was delivered.
    pub highest: u64,
}

/// Marks of streams.
pub trait StreamMarkStore {
    /// The rows of all marks, for [`StreamMark::find`].
    fn stream_marks(&self) -> Reply<Vec<(String, i64)>>;

    /// Stores the rows of a mark ([`StreamMark::rows`]), replacing the earlier ones.
    fn keep_stream_mark(&self, rows: Vec<(String, i64)>) -> Reply<()>;
}

/// What the keys in the table `meta` begin with.
pub(crate) const KEY: &str = "stream_mark:";

impl<S: ColdTables> StreamMarkStore for S {
    fn stream_marks(&self) -> Reply<Vec<(String, i64)>> {
        self.look_up(MetaRow::starting_with(KEY), |rows| {
            let rows = MetaRow::all(rows)?.into_iter();
            Ok(rows.map(|row| (row.key, row.value)).collect())
        })
    }

    fn keep_stream_mark(&self, rows: Vec<(String, i64)>) -> Reply<()> {
        let rows = rows.into_iter();
        let puts = rows.map(|(key, value)| MetaRow::new(key, value).put());
        self.change(puts.collect(), |_| Ok(()))
    }
}

// === impl StreamMark ===

impl StreamMark {
    /// Its rows under this name.
    pub fn rows(&self, name: &str) -> Vec<(String, i64)> {
        let values = [
            self.created,
            self.floor as i64,
            self.floor_at,
            self.highest as i64,
        ];
        Self::keys(name).into_iter().zip(values).collect()
    }

    /// The mark of this name, if it is there.
    pub fn find(name: &str, rows: &[(String, i64)]) -> Option<Self> {
        let value = |key: String| Some(rows.iter().find(|(other, _)| *other == key)?.1);
        let [created, floor, floor_at, highest] = Self::keys(name).map(value);
        Some(Self {
            created: created?,
            floor: floor? as u64,
            floor_at: floor_at?,
            highest: highest? as u64,
        })
    }

    fn keys(name: &str) -> [String; 4] {
        ["created", "floor", "floor_at", "highest"].map(|field| format!("{KEY}{field}:{name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_under_its_name_only() {
        let mark = StreamMark {
            created: 4,
            floor: 3,
            floor_at: 2,
            highest: 7,
        };
        let mut rows = mark.rows("a/S/x.y");
        rows.extend(StreamMark::default().rows("a/S/x"));
        assert_eq!(StreamMark::find("a/S/x.y", &rows), Some(mark));
        assert_eq!(StreamMark::find("S/x.y", &rows), None);
    }
}
