//! Lists messages.
use super::failure::failed;
use crate::store::*;
use tokio_postgres::Client;
pub async fn search(_: &Client, _: &Search) -> Result<Vec<Stored>, StoreError> {
    Err(failed("not built yet"))
}
