//! Placeholder until the merge.
use std::ops::Range;

use super::PgStore;
use super::failure::failed;
use crate::store::archive::{Archive, Each, Erased};
use crate::store::{Reply, StoreError};

impl Archive for PgStore {
    fn export(&self, _: Range<u64>, _: &mut Each<'_>) -> Result<(), StoreError> {
        Err(failed("not yet"))
    }
    fn erase_text(&self, _: i64, _: usize) -> Reply<u64> {
        self.shared.ask(async { Ok(0) })
    }
    fn erase_msisdn(&self, _: String) -> Reply<Erased> {
        self.shared.ask(async { Err(failed("not yet")) })
    }
}
