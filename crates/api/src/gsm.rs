//! GSM networks, as the admin API shows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::settings::Resource;

/// `GET /v1/gsm`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GsmNetworks {
    /// Of the whole configuration.
    pub version: u64,
    pub gsm: Vec<Resource>,
}
