//! Low-water mark, retention, names, spilled blocks.
use super::Shared;
use super::failure::failed;
use crate::store::StoreError;
use tokio_postgres::Client;
pub async fn intern(_: &Client, _: &str) -> Result<u32, StoreError> {
    Err(failed("not built yet"))
}
pub async fn spill_block(_: &Shared, _: u32, _: u64, _: &[u8]) -> Result<(), StoreError> {
    Err(failed("not built yet"))
}
pub async fn unspill_block(_: &Shared, _: u32, _: u64) -> Result<Option<Vec<u8>>, StoreError> {
    Err(failed("not built yet"))
}
pub async fn advance(_: &Shared) -> Result<(), StoreError> {
    Err(failed("not built yet"))
}
pub async fn retire(_: &Shared, _: i64, _: usize) -> Result<u64, StoreError> {
    Err(failed("not built yet"))
}
