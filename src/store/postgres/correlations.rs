//! What other programs read: `smpp.message_correlations`, and the look-up of old correlations.
use super::Shared;
use super::failure::failed;
use crate::store::StoreError;
use std::time::Duration;
#[derive(Debug, Default)]
pub struct Counts {}
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct CorrelationCounts {}
impl Counts {
    pub fn read(&self) -> CorrelationCounts {
        CorrelationCounts {}
    }
}
pub async fn sweep(_: &Shared) -> Result<u64, StoreError> {
    Err(failed("not built yet"))
}
pub async fn find(
    _: &tokio_postgres::Client,
    _: &[u128],
    _: Duration,
) -> Result<Vec<Option<u64>>, StoreError> {
    Err(failed("not built yet"))
}
