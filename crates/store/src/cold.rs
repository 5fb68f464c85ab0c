//! Tables that are read and written rarely. A record of one is declared once, with [`record!`], and each of its
//! statements is one text for both databases.
//!
//! Their ports are implemented for everything that runs such statements ([`ColdTables`]). What is part of the commits of
//! messages has statements of its own for each database.

use crate::{Reply, StoreError, StoreResult, signed};
use bytes::Bytes;
use smsc_domain::access::{AccessRole, KeyRole};

/// A value of a column, as both databases have it. A truth is 0 or 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColdValue {
    Null,
    Integer(i64),
    Text(String),
    Octets(Vec<u8>),
}

/// A statement, and the values of `$1`, `$2` and so on in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColdStatement {
    pub sql: String,
    pub values: Vec<ColdValue>,
    /// Without a row that it finds or writes, nothing behind it is run, and the change has no rows.
    pub is_condition: bool,
}

/// A row of an answer, whose columns are taken in their order.
#[derive(Debug)]
pub struct ColdRow(pub std::vec::IntoIter<ColdValue>);

/// What a transaction has done.
#[derive(Debug, Default)]
pub struct ColdChange {
    /// Rows that were found, written or deleted.
    pub rows: u64,
    /// What its last statement has returned.
    pub returned: Vec<ColdRow>,
}

/// A database that runs statements of cold tables.
pub trait ColdTables {
    /// Runs a statement that lists or counts, beside the other questions of administrators. `read` makes the answer of its
    /// rows.
    fn select<T: Send + 'static>(
        &self,
        statement: ColdStatement,
        read: fn(Vec<ColdRow>) -> StoreResult<T>,
    ) -> Reply<T>;

    /// Runs a statement that reads what nodes need, such as a row by its key or a small table whole: no list and no count
    /// holds it up. `read` makes the answer of its rows.
    fn look_up<T: Send + 'static>(
        &self,
        statement: ColdStatement,
        read: fn(Vec<ColdRow>) -> StoreResult<T>,
    ) -> Reply<T>;

    /// The octets of a column that is text where they are text.
    fn octets(kept: Option<ColdValue>) -> Bytes;

    /// Runs statements as one transaction, conditions in front of what writes. `read` makes the answer of what they have
    /// done.
    fn change<T: Send + 'static>(
        &self,
        statements: Vec<ColdStatement>,
        read: impl FnOnce(ColdChange) -> StoreResult<T> + Send + 'static,
    ) -> Reply<T>;
}

/// A type of columns.
pub trait ColdColumn: Sized {
    fn to_value(&self) -> ColdValue;

    /// `None` if it is no value of this type.
    fn of_value(value: ColdValue) -> Option<Self>;
}

/// A record of a cold table, as [`record!`] declares it.
pub trait ColdRecord: Sized {
    const TABLE: &'static str;
    const COLUMNS: &'static [&'static str];

    fn values(&self) -> Vec<ColdValue>;

    /// # Errors
    /// A column holds no value of its type.
    fn read(row: ColdRow) -> StoreResult<Self>;

    /// The statement that writes it; `conflict` is its `ON CONFLICT`, or empty.
    fn insert(&self, conflict: &str) -> ColdStatement {
        let places = 1..=Self::COLUMNS.len();
        let places: Vec<String> = places.map(|place| format!("${place}")).collect();
        let (table, columns) = (Self::TABLE, Self::COLUMNS.join(", "));
        let places = places.join(", ");
        let sql = format!("INSERT INTO {table}({columns}) VALUES({places}) {conflict}");
        ColdStatement::new(sql, self.values())
    }

    /// The statement that reads those that `rest` says: `WHERE`, `ORDER BY` and so on.
    fn select(rest: &str, values: Vec<ColdValue>) -> ColdStatement {
        let (table, columns) = (Self::TABLE, Self::COLUMNS.join(", "));
        ColdStatement::new(format!("SELECT {columns} FROM {table} {rest}"), values)
    }

    /// The statement that deletes those that `rest` says, and gives them.
    fn delete(rest: &str, values: Vec<ColdValue>) -> ColdStatement {
        let (table, columns) = (Self::TABLE, Self::COLUMNS.join(", "));
        let sql = format!("DELETE FROM {table} {rest} RETURNING {columns}");
        ColdStatement::new(sql, values)
    }

    /// # Errors
    /// As [`ColdRecord::read`].
    fn all(rows: Vec<ColdRow>) -> StoreResult<Vec<Self>> {
        rows.into_iter().map(Self::read).collect()
    }

    /// The first of the rows.
    ///
    /// # Errors
    /// As [`ColdRecord::read`].
    fn first(rows: Vec<ColdRow>) -> StoreResult<Option<Self>> {
        rows.into_iter().next().map(Self::read).transpose()
    }
}

/// Declares a record with the columns of its table, which have the names of its fields unless another one is given.
macro_rules! record {
    ($(#[$meta:meta])* pub struct $Record:ident in $table:literal {
        $($(#[$doc:meta])* pub $field:ident: $type:ty $(as $column:literal)?,)+
    }) => {
        $(#[$meta])*
        pub struct $Record {
            $($(#[$doc])* pub $field: $type,)+
        }

        impl $crate::cold::ColdRecord for $Record {
            const TABLE: &'static str = $table;
            const COLUMNS: &'static [&'static str] =
                &[$($crate::cold::column!($field $($column)?)),+];

            fn values(&self) -> Vec<$crate::cold::ColdValue> {
                $crate::cold::values![$(self.$field),+]
            }

            fn read(mut row: $crate::cold::ColdRow) -> Result<Self, $crate::StoreError> {
                Ok(Self {
                    $($field: row.take(concat!($table, ".", stringify!($field)))?,)+
                })
            }
        }
    };
}
pub(crate) use record;

macro_rules! column {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $column:literal) => {
        $column
    };
}
pub(crate) use column;

/// The values of a statement.
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        vec![$($crate::cold::ColdColumn::to_value(&$value)),*]
    };
}
pub(crate) use values;

/// The statements that note when tokens or keys were last used; `sql` takes a name as `$1` and its time as `$2`. In the same
/// order on each node, so that no two wait for each other.
pub fn note_uses(sql: &str, mut used: Vec<(String, i64)>) -> Vec<ColdStatement> {
    used.sort_unstable();
    let used = used.into_iter();
    used.map(|(name, at)| ColdStatement::new(sql, values![name, at]))
        .collect()
}

/// The ids of messages, which are the only column.
///
/// # Errors
/// One is no number.
pub fn ids_of(rows: Vec<ColdRow>) -> StoreResult<Vec<u64>> {
    let rows = rows.into_iter();
    rows.map(|mut row| row.take("the id of a message"))
        .collect()
}

// === impl ColdStatement ===

impl ColdStatement {
    pub fn new(sql: impl Into<String>, values: Vec<ColdValue>) -> Self {
        Self {
            sql: sql.into(),
            values,
            is_condition: false,
        }
    }

    /// It is a condition of what is behind it.
    pub fn or_nothing(self) -> Self {
        Self {
            is_condition: true,
            ..self
        }
    }
}

// === impl ColdRow ===

impl ColdRow {
    /// The next column, which is called `name` where it is wrong.
    ///
    /// # Errors
    /// It holds no value of this type.
    pub fn take<T: ColdColumn>(&mut self, name: &str) -> StoreResult<T> {
        let value = self.0.next();
        value.and_then(T::of_value).ok_or_else(|| {
            StoreError::Failed(format!("{name} holds what cannot be there: it is damaged"))
        })
    }
}

// === impl ColdColumn ===

macro_rules! integers {
    ($($type:ty),+) => {$(
        impl ColdColumn for $type {
            fn to_value(&self) -> ColdValue {
                ColdValue::Integer(signed(*self))
            }

            fn of_value(value: ColdValue) -> Option<Self> {
                match value {
                    ColdValue::Integer(value) => value.try_into().ok(),
                    _ => None,
                }
            }
        }
    )+};
}

integers!(u8, u16, u32, i32, i64, usize);

/// Ids and limits: what is above the numbers of a database is its highest one.
impl ColdColumn for u64 {
    fn to_value(&self) -> ColdValue {
        ColdValue::Integer(signed(*self))
    }

    fn of_value(value: ColdValue) -> Option<Self> {
        i64::of_value(value).map(|value| value as Self)
    }
}

impl ColdColumn for bool {
    fn to_value(&self) -> ColdValue {
        ColdValue::Integer(i64::from(*self))
    }

    fn of_value(value: ColdValue) -> Option<Self> {
        i64::of_value(value).map(|value| value != 0)
    }
}

impl ColdColumn for String {
    fn to_value(&self) -> ColdValue {
        ColdValue::Text(self.clone())
    }

    fn of_value(value: ColdValue) -> Option<Self> {
        match value {
            ColdValue::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl<const LENGTH: usize> ColdColumn for [u8; LENGTH] {
    fn to_value(&self) -> ColdValue {
        ColdValue::Octets(self.to_vec())
    }

    fn of_value(value: ColdValue) -> Option<Self> {
        Vec::<u8>::of_value(value)?.try_into().ok()
    }
}

impl ColdColumn for Vec<u8> {
    fn to_value(&self) -> ColdValue {
        ColdValue::Octets(self.clone())
    }

    fn of_value(value: ColdValue) -> Option<Self> {
        match value {
            ColdValue::Octets(octets) => Some(octets),
            _ => None,
        }
    }
}

impl<T: ColdColumn> ColdColumn for Option<T> {
    fn to_value(&self) -> ColdValue {
        self.as_ref().map_or(ColdValue::Null, T::to_value)
    }

    fn of_value(value: ColdValue) -> Option<Self> {
        if value == ColdValue::Null {
            Some(None)
        } else {
            T::of_value(value).map(Some)
        }
    }
}

/// Words without blanks, as one text.
impl ColdColumn for Vec<String> {
    fn to_value(&self) -> ColdValue {
        ColdValue::Text(self.join(" "))
    }

    fn of_value(value: ColdValue) -> Option<Self> {
        let words = String::of_value(value)?;
        Some(words.split_whitespace().map(str::to_owned).collect())
    }
}

macro_rules! roles {
    ($($Role:ty),+) => {$(
        /// One of a newer release may only read.
        impl ColdColumn for $Role {
            fn to_value(&self) -> ColdValue {
                ColdValue::Text(self.as_str().to_owned())
            }

            fn of_value(value: ColdValue) -> Option<Self> {
                let name = String::of_value(value)?;
                Some(Self::from_name(&name).unwrap_or(Self::Read))
            }
        }
    )+};
}

roles!(AccessRole, KeyRole);

#[cfg(test)]
mod tests {
    use super::*;

    record! {
        #[derive(Debug, PartialEq)]
        pub struct SampleRow in "samples" {
            pub id: u64,
            pub is_mo: bool as "kind",
            pub role: KeyRole,
            pub words: Vec<String>,
            pub hash: [u8; 2],
            pub until: Option<i64>,
        }
    }

    fn sample() -> SampleRow {
        SampleRow {
            id: 7,
            is_mo: true,
            role: KeyRole::Both,
            words: vec!["a".to_owned(), "b".to_owned()],
            hash: [1, 2],
            until: None,
        }
    }

    #[test]
    fn a_record_is_written_and_read_by_its_columns() {
        let insert = sample().insert("ON CONFLICT(id) DO NOTHING");
        assert_eq!(
            insert.sql,
            "INSERT INTO samples(id, kind, role, words, hash, until) VALUES($1, $2, $3, $4, $5, $6) \
             ON CONFLICT(id) DO NOTHING"
        );
        assert_eq!(
            SampleRow::select("WHERE id = $1", values![7_u64]).sql,
            "SELECT id, kind, role, words, hash, until FROM samples WHERE id = $1"
        );
        assert_eq!(
            SampleRow::read(ColdRow(insert.values.into_iter())),
            Ok(sample())
        );
    }

    #[test]
    fn a_wrong_value_is_named() {
        let mut values = sample().values();
        values[4] = ColdValue::Octets(vec![1]);
        let read = SampleRow::read(ColdRow(values.into_iter()));
        assert!(read.unwrap_err().to_string().contains("samples.hash"));
        assert!(SampleRow::read(ColdRow(Vec::new().into_iter())).is_err());
    }

    #[test]
    fn numbers_beyond_those_of_a_database_are_its_highest_one() {
        assert_eq!(u64::MAX.to_value(), ColdValue::Integer(i64::MAX));
        assert_eq!(u8::of_value(ColdValue::Integer(256)), None);
    }

    #[test]
    fn a_role_of_a_newer_release_may_only_read() {
        let newer = || ColdValue::Text("everything".to_owned());
        assert_eq!(AccessRole::of_value(newer()), Some(AccessRole::Read));
        assert_eq!(KeyRole::of_value(newer()), Some(KeyRole::Read));
    }
}
