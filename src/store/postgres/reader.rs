//! Reads messages.
use super::failure::failed;
use crate::store::*;
use tokio_postgres::Client;
pub async fn load(_: &Client, _: &[u64]) -> Result<Vec<Option<Stored>>, StoreError> {
    Err(failed("not built yet"))
}
pub async fn parked(_: &Client, _: usize) -> Result<Vec<ParkedRow>, StoreError> {
    Err(failed("not built yet"))
}
pub async fn highest_id(_: &Client) -> Result<u64, StoreError> {
    Err(failed("not built yet"))
}
pub async fn names(_: &Client) -> Result<Vec<(u32, String)>, StoreError> {
    Err(failed("not built yet"))
}
pub async fn history(_: &Client, _: u64) -> Result<Option<History>, StoreError> {
    Err(failed("not built yet"))
}
