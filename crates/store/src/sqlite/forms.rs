//! The forms of operators' ids on SQLite, in the table `meta`.

use super::schema::{read_meta, set_meta, sql_failed};
use super::{SqliteStore, writer};
use crate::Reply;
use crate::forms::{self, FormStore};

impl FormStore for SqliteStore {
    fn message_id_forms(&self) -> Reply<Vec<(u32, u8)>> {
        self.admin.ask(|connection| {
            read_meta(connection, forms::SELECT, forms::of_meta).map_err(sql_failed)
        })
    }

    fn keep_message_id_form(&self, operator: u32, form: u8) -> Reply<()> {
        writer::transact(&self.shared, move |connection, _| {
            set_meta(connection, &forms::key(operator), u64::from(form))
        })
    }
}
