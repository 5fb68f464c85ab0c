//! `settings!`: tables and word lists of the configuration, written once.
//!
//! The declaration of a table gives the struct with its documentation, its defaults, the reader that knows
//! every key, the checks of single values, equality, and the rows of docs/configuration.md: they
//! cannot drift apart.

/// Declares tables and choices.
///
/// Of a table each field has: documentation, marks, name, type (with `as Type` when it is written differently than it is
/// kept), default. A mark is a function of `mark`: `@required`, `@at_least(1)`, `@must(|text| …, "is no …; write …")`.
///
/// A choice is between words; `for` an enumeration of the domain with the same names, which it becomes by `into`.
macro_rules! settings {
    (@one
        $(#[doc = $table_doc:literal])+
        pub struct $table:ident {
            $(
                $(#[doc = $doc:literal])+
                $(@ $mark:ident $(( $($argument:expr),+ $(,)? ))?)*
                $field:ident : $kept:ty $(as $written:ty)? = $default:expr
            ),+ $(,)?
        }
    ) => {
        $(#[doc = $table_doc])+
        #[derive(Debug, Clone)]
        pub struct $table {
            $(
                $(#[doc = $doc])+
                pub $field: $kept,
            )+
        }

        impl Default for $table {
            fn default() -> Self {
                Self { $( $field: $default, )+ }
            }
        }

        impl PartialEq for $table {
            fn eq(&self, other: &Self) -> bool {
                $crate::setting::Setting::same(self, other)
            }
        }

        impl $table {
            /// Every key of the table.
            pub(crate) const KEYS: &'static [&'static str] = &[$( stringify!($field) ),+];
        }

        impl $crate::setting::Setting for $table {
            type Single = Self;

            const TABLE: bool = true;

            fn kind() -> String {
                "table".to_owned()
            }

            fn read(
                value: &figment::value::Value,
                key: &str,
                reader: &mut $crate::setting::SettingReader<'_>,
            ) -> Option<Self> {
                let table = reader.table(value, key, Self::KEYS)?;
                let mut read = Self::default();
                $(
                    if let Some(value) = table.get(stringify!($field)) {
                        let key = $crate::setting::join(key, stringify!($field));
                        type Written = $crate::section::written!($kept $(, $written)?);
                        let field =
                            <Written as $crate::setting::Setting>::read(value, &key, reader);
                        if let Some(field) = field {
                            read.$field = <$kept>::from(field);
                        }
                    }
                )+
                Some(read)
            }

            fn schema() -> serde_json::Value {
                use $crate::setting::{Setting, Write};
                let default = Self::default().write(Write::SHOWN);
                let mut fields = Vec::new();
                $({
                    type Written = $crate::section::written!($kept $(, $written)?);
                    let marks: &[$crate::mark::MarkWords] =
                        &[$( $crate::mark::$mark::<$kept>($( $($argument),+ )?).words ),*];
                    fields.push($crate::schema::SchemaField {
                        name: stringify!($field),
                        schema: $crate::mark::bounded(<Written as Setting>::schema(), marks),
                        doc: $crate::mark::doc_of(&[$( $doc ),+], marks),
                        required: $crate::mark::is_required(marks),
                    });
                })+
                $crate::schema::table(&[$( $table_doc.trim() ),+].join(" "), fields, default)
            }

            fn show(&self) -> String {
                String::new()
            }

            fn write(
                &self,
                how: $crate::setting::Write,
            ) -> Option<serde_json::Value> {
                use $crate::setting::Setting;
                let default = Self::default();
                let mut table = serde_json::Map::new();
                $({
                    type Written = $crate::section::written!($kept $(, $written)?);
                    if how.every_key || !Setting::same(&self.$field, &default.$field) {
                        match <Written as Setting>::write(&Written::from(self.$field.clone()), how) {
                            Some(value) => {
                                table.insert(stringify!($field).to_owned(), value);
                            }
                            None if how.every_key && !<Written as Setting>::HIDDEN => {
                                table.insert(stringify!($field).to_owned(), serde_json::Value::Null);
                            }
                            None => {}
                        }
                    }
                })+
                Some(serde_json::Value::Object(table))
            }

            fn same(&self, other: &Self) -> bool {
                $( $crate::setting::Setting::same(&self.$field, &other.$field) )&&+
            }

            fn each(&self, key: &str, look: &mut dyn FnMut(&Self, &str)) {
                look(self, key);
            }

            fn check(&self, key: &str, problems: &mut Vec<$crate::problem::ConfigProblem>) {
                use $crate::setting::{Setting, join};
                $({
                    let key = join(key, stringify!($field));
                    $(
                        $crate::mark::$mark::<$kept>($( $($argument),+ )?)
                            .check(&self.$field, &key, problems);
                    )*
                    Setting::each(&self.$field, &key, &mut |one, key| {
                        Setting::check(one, key, problems);
                    });
                })+
            }

            fn describe(
                &self,
                mut entry: $crate::setting::ReferenceEntry,
                out: &mut Vec<$crate::setting::ReferenceEntry>,
            ) {
                use $crate::setting::{EntryShape, ReferenceEntry, Setting, join};
                let key = entry.key.clone();
                if !key.is_empty() {
                    entry.kind = Self::kind();
                    entry.shape = EntryShape::Table;
                    out.push(entry);
                }
                // What follows the head of a table belongs to it: tables in this one come last.
                let mut tables = Vec::new();
                $({
                    type Written = $crate::section::written!($kept $(, $written)?);
                    let marks: &[$crate::mark::MarkWords] =
                        &[$( $crate::mark::$mark::<$kept>($( $($argument),+ )?).words ),*];
                    let entry = ReferenceEntry::new(
                        join(&key, stringify!($field)),
                        $crate::mark::doc_of(&[$( $doc ),+], marks),
                        $crate::mark::is_required(marks),
                    );
                    let list = if <Written as Setting>::TABLE { &mut tables } else { &mut *out };
                    <Written as Setting>::describe(&Written::from(self.$field.clone()), entry, list);
                })+
                out.append(&mut tables);
            }

            fn describe_new(key: &str, out: &mut Vec<$crate::setting::ReferenceEntry>) {
                let mut own = Vec::new();
                let head =
                    $crate::setting::ReferenceEntry::new(key.to_owned(), String::new(), false);
                Self::default().describe(head, &mut own);
                // The head of a list of tables is already there.
                out.extend(own.into_iter().skip(1));
            }
        }
    };
    (@one
        $(#[$attribute:meta])+
        pub enum $name:ident for $domain:path {
            $( $(#[doc = $doc:literal])+ $variant:ident = $word:literal ),+ $(,)?
        }
    ) => {
        $crate::section::settings! { @one
            $(#[$attribute])+
            pub enum $name {
                $( $(#[doc = $doc])+ $variant = $word ),+
            }
        }

        impl From<$name> for $domain {
            fn from(word: $name) -> Self {
                match word {
                    $( $name::$variant => Self::$variant, )+
                }
            }
        }
    };
    (@one
        $(#[$attribute:meta])+
        pub enum $name:ident {
            $( $(#[doc = $doc:literal])+ $variant:ident = $word:literal ),+ $(,)?
        }
    ) => {
        $(#[$attribute])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $( $(#[doc = $doc])+ $variant, )+
        }

        impl $name {
            /// The word in the configuration.
            pub fn as_str(self) -> &'static str {
                match self {
                    $( Self::$variant => $word, )+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl $crate::setting::Leaf for $name {
            const EXAMPLE: &'static str = "one of them, in quotes";

            fn kind() -> String {
                let words = [$( concat!("\"", $word, "\"") ),+];
                match words.as_slice() {
                    [only] => (*only).to_owned(),
                    [first @ .., last] => format!("{} or {last}", first.join(", ")),
                    [] => String::new(),
                }
            }

            fn parse(value: &figment::value::Value) -> Option<Self> {
                match value.as_str()? {
                    $( $word => Some(Self::$variant), )+
                    _ => None,
                }
            }

            fn schema() -> serde_json::Value {
                let words = [$( ($word, [$( $doc.trim() ),+].join(" ")) ),+];
                $crate::schema::choice(&words)
            }

            fn show(&self) -> String {
                format!("\"{}\"", self.as_str())
            }
        }
    };
    ($(
        $(#[$($about:tt)*])+
        pub $what:ident $name:ident $(for $($domain:ident)::+)? { $($body:tt)* }
    )+) => {$(
        $crate::section::settings! { @one
            $(#[$($about)*])+
            pub $what $name $(for $($domain)::+)? { $($body)* }
        }
    )+};
}

/// The type as it is written: the second one if there is one.
macro_rules! written {
    ($kept:ty) => {
        $kept
    };
    ($kept:ty, $written:ty) => {
        $written
    };
}

pub(super) use {settings, written};
