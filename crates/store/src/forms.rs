//! The port for what correlation has learned: the form of the ids in an operator's receipts
//! (`message_id = "auto"`).
//!
//! Read at start, written when a form is learned or changes, which is rare.

use super::Reply;
use super::cold::{ColdRecord as _, ColdTables};
use super::meta::MetaRow;

/// Learned forms of operators' message ids.
pub trait FormStore {
    /// The form of each operator, by its interned name; what the numbers mean is the caller's.
    fn message_id_forms(&self) -> Reply<Vec<(u32, u8)>>;

    /// Stores the form of an operator, replacing the earlier one.
    fn keep_message_id_form(&self, operator: u32, form: u8) -> Reply<()>;
}

/// What their keys in the table `meta` begin with, in front of the operator's number.
pub(crate) const KEY: &str = "message_id_form:";

impl<S: ColdTables> FormStore for S {
    fn message_id_forms(&self) -> Reply<Vec<(u32, u8)>> {
        self.look_up(MetaRow::starting_with(KEY), |rows| {
            let rows = MetaRow::all(rows)?;
            let known = rows.iter().filter_map(|row| {
                let (operator, form) = row.numbered(KEY)?;
                Some((operator, u8::try_from(form).ok()?))
            });
            Ok(known.collect())
        })
    }

    fn keep_message_id_form(&self, operator: u32, form: u8) -> Reply<()> {
        let row = MetaRow::new(format!("{KEY}{operator}"), form);
        self.change(vec![row.put()], |_| Ok(()))
    }
}
