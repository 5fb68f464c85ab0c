//! The forms of operators' ids on PostgreSQL, in the table `meta`.

use super::PgStore;
use crate::Reply;
use crate::forms::{self, FormStore};

impl FormStore for PgStore {
    fn message_id_forms(&self) -> Reply<Vec<(u32, u8)>> {
        self.read_meta(forms::SELECT, forms::of_meta)
    }

    fn keep_message_id_form(&self, operator: u32, form: u8) -> Reply<()> {
        self.set_meta(forms::key(operator), i64::from(form))
    }
}
