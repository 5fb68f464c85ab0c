//! What the rows of each table and index look like, by the schema of the new store.
//!
//! A row that does not look like one of its table is none; and a page that no tree leads to any more belongs to the table
//! whose rows its own look like.

use rusqlite::Connection;

use super::btree::RawValue;

/// Tables of which a row may only come from a page in its tree: any other may hold one that was revoked.
const ONLY_IN_TREE: [&str; 2] = ["tokens", "api_keys"];

/// Numbers of 32 bits: no reader takes a larger one.
const NARROW: [&str; 8] = [
    "account", "attempt", "attempts", "node", "number", "operator", "queue", "sender",
];

/// How the rows of a B-tree are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeUse {
    /// A table with rowids.
    Rowid,
    /// A table WITHOUT ROWID.
    Keyed,
    Index,
}

/// A table or an index.
#[derive(Debug, Clone)]
pub struct TableShape {
    pub name: String,
    pub tree: TreeUse,
    columns: Vec<ColumnShape>,
    /// Columns that every row has; later releases have added the others.
    least: usize,
    /// Where rows of it may be missing.
    pub lost: Vec<LostRange>,
    /// `lost` once it is complete, ascending and apart from one another.
    missing: Vec<(i64, i64)>,
}

#[derive(Debug, Clone)]
struct ColumnShape {
    name: String,
    kind: String,
    /// It is the rowid, which is not repeated in the row.
    is_rowid: bool,
    is_required: bool,
}

/// Keys between which something may be missing, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostRange {
    pub low: i64,
    pub high: i64,
    /// The page that could not be read; 0 for rows of one that could.
    pub page: u32,
}

/// How many columns these tables had before later releases added some.
pub fn first_columns(table: &str) -> Option<usize> {
    match table {
        "sent" | "fin" | "change" => Some(6),
        "resent" => Some(7),
        "parked" | "outbox" => Some(5),
        "audit" => Some(8),
        "dead" => Some(6),
        "cdr" => Some(22),
        _ => None,
    }
}

/// The tables and indexes of a store, but for the schema itself.
pub fn shapes(connection: &Connection) -> rusqlite::Result<Vec<TableShape>> {
    let mut statement = connection.prepare(
        "SELECT s.type, s.name, s.tbl_name, l.wr FROM sqlite_schema s
         JOIN pragma_table_list l ON l.name = s.tbl_name AND l.schema = 'main'
         WHERE s.rootpage > 0 ORDER BY s.rootpage",
    )?;
    let mut rows = statement.query([])?;
    let mut shapes = Vec::new();
    while let Some(row) = rows.next()? {
        let (kind, name, table): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let has_rowids = !row.get::<_, bool>(3)?;
        let of_table = columns(connection, &table, has_rowids)?;
        let (tree, columns) = match &*kind {
            "table" if has_rowids => (TreeUse::Rowid, of_table),
            "table" => (TreeUse::Keyed, of_table),
            _ => (TreeUse::Index, indexed(connection, &name, &of_table)?),
        };
        shapes.push(TableShape::new(name, tree, columns));
    }
    Ok(shapes)
}

fn columns(
    connection: &Connection,
    table: &str,
    has_rowids: bool,
) -> rusqlite::Result<Vec<ColumnShape>> {
    connection
        .prepare("SELECT name, type, \"notnull\", pk FROM pragma_table_info(?1)")?
        .query_map([table], |row| {
            let (kind, pk): (String, i64) = (row.get(1)?, row.get(3)?);
            Ok(ColumnShape {
                name: row.get(0)?,
                is_rowid: has_rowids && pk == 1 && kind == "INTEGER",
                is_required: row.get(2)? || !has_rowids && pk > 0,
                kind,
            })
        })?
        .collect()
}

/// The columns of an index: those of its table, and the key of the row.
fn indexed(
    connection: &Connection,
    index: &str,
    of_table: &[ColumnShape],
) -> rusqlite::Result<Vec<ColumnShape>> {
    connection
        .prepare("SELECT cid FROM pragma_index_xinfo(?1) ORDER BY seqno")?
        .query_map([index], |row| {
            let column = usize::try_from(row.get::<_, i64>(0)?);
            let column = column.ok().and_then(|column| of_table.get(column));
            Ok(match column {
                Some(column) if !column.is_rowid => column.clone(),
                _ => ColumnShape {
                    name: "rowid".to_owned(),
                    kind: "INT".to_owned(),
                    is_rowid: false,
                    is_required: true,
                },
            })
        })?
        .collect()
}

/// Ranges without those that touch one another, ascending.
pub fn merge(mut ranges: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    ranges.sort_unstable();
    let mut merged: Vec<(i64, i64)> = Vec::new();
    for (low, high) in ranges {
        match merged.last_mut() {
            Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
            _ => merged.push((low, high)),
        }
    }
    merged
}

// === impl TableShape ===

impl TableShape {
    fn new(name: String, tree: TreeUse, columns: Vec<ColumnShape>) -> Self {
        Self {
            least: first_columns(&name).unwrap_or(columns.len()),
            name,
            tree,
            columns,
            lost: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// That of the list of tables and indexes, which begins on page 1.
    pub fn schema() -> Self {
        let column = |name: &str, kind: &str| ColumnShape {
            name: name.to_owned(),
            kind: kind.to_owned(),
            is_rowid: false,
            is_required: name != "sql",
        };
        let kinds = [
            ("type", "TEXT"),
            ("name", "TEXT"),
            ("tbl_name", "TEXT"),
            ("rootpage", "INT"),
            ("sql", "TEXT"),
        ];
        let columns = kinds.map(|(name, kind)| column(name, kind)).to_vec();
        Self::new("sqlite_schema".to_owned(), TreeUse::Rowid, columns)
    }

    pub fn is_table(&self) -> bool {
        self.tree != TreeUse::Index
    }

    /// Whether a page outside the trees may be taken for one of it.
    pub fn may_be_found(&self) -> bool {
        !ONLY_IN_TREE.contains(&&*self.name) && self.columns.iter().all(|one| !one.kind.is_empty())
    }

    /// Whether a row looks like one of it.
    pub fn fits(&self, rowid: Option<i64>, fields: &[RawValue]) -> bool {
        let length = self.least..=self.columns.len();
        let is_narrow = |column: &ColumnShape| NARROW.contains(&&*column.name);
        let has_rowid = self.columns.iter().find(|column| column.is_rowid);
        let is_key = match rowid {
            Some(rowid) if has_rowid.is_some_and(is_narrow) => u32::try_from(rowid).is_ok(),
            _ => true,
        };
        is_key
            && rowid.is_some() == (self.tree == TreeUse::Rowid)
            && length.contains(&fields.len())
            && fields
                .iter()
                .zip(&self.columns)
                .all(|(field, column)| column.fits(field))
    }

    /// What the rows of a tree are ordered by, as far as that is a number; 0 where it is none.
    pub fn key(&self, rowid: Option<i64>, fields: &[RawValue]) -> i64 {
        rowid
            .or_else(|| fields.first().and_then(RawValue::int))
            .unwrap_or(0)
    }

    /// All ranges in which rows may be missing are known.
    pub fn complete(&mut self) {
        self.missing = merge(self.lost.iter().map(|lost| (lost.low, lost.high)).collect());
    }

    /// Whether a row with this key may be one that is missing, when the ranges are complete.
    pub fn may_miss(&self, key: i64) -> bool {
        let first = self.missing.partition_point(|(_, high)| *high < key);
        self.missing.get(first).is_some_and(|(low, _)| *low <= key)
    }

    /// The values of a row by the columns of the table, and the names of those.
    pub fn values(&self, rowid: Option<i64>, mut fields: Vec<RawValue>) -> Vec<RawValue> {
        for (field, column) in fields.iter_mut().zip(&self.columns) {
            if let Some(rowid) = rowid.filter(|_| column.is_rowid) {
                *field = RawValue::Int(rowid);
            }
        }
        fields
    }

    /// A statement that inserts a row of so many values, unless there is one with its key.
    pub fn insert(&self, values: usize) -> String {
        let names: Vec<&str> = (self.columns.iter().take(values))
            .map(|column| &*column.name)
            .collect();
        let marks = vec!["?"; values].join(",");
        format!(
            "INSERT OR IGNORE INTO {}(\"{}\") VALUES({marks})",
            self.name,
            names.join("\",\"")
        )
    }
}

// === impl ColumnShape ===

impl ColumnShape {
    fn fits(&self, field: &RawValue) -> bool {
        match field {
            RawValue::Null => self.is_rowid || !self.is_required,
            _ if self.is_rowid => false,
            RawValue::Int(number) => {
                let is_narrow = NARROW.contains(&&*self.name);
                let is_number = self.is_number() || self.kind.is_empty();
                is_number && (!is_narrow || u32::try_from(*number).is_ok())
            }
            RawValue::Real(_) => false,
            RawValue::Text(octets) => !self.is_number() && std::str::from_utf8(octets).is_ok(),
            // Octets that are no text may be in a column for text.
            RawValue::Blob(_) => !self.is_number(),
        }
    }

    fn is_number(&self) -> bool {
        matches!(&*self.kind, "INT" | "INTEGER")
    }
}
