//! Entries of the audit log, from the admin API and from the HTTP API for accounts.

use super::NodeContext;
use crate::clock;
use crate::store::StoreError;
use crate::store::access::AuditRow;

/// A request that commanded or changed something, as its entry of the audit log says it.
#[derive(Debug, Clone, Default)]
pub struct AuditNote {
    pub token: String,
    pub role: String,
    pub address: String,
    pub method: String,
    pub path: String,
    /// The HTTP status of the answer.
    pub status: u16,
    /// What the path does not say: what was changed, that a text was read, the name and role of a created
    /// token, how many refused requests this entry stands for.
    pub detail: String,
    /// The version of the configuration that it made, 0 for none.
    pub version: u64,
}

/// Writes an entry of the audit log, with the time and this node.
///
/// # Errors
/// The store does not answer.
pub async fn write_audit(node: &NodeContext, note: AuditNote) -> Result<(), StoreError> {
    let row = AuditRow {
        id: node.ids.next_anyway(clock::now_ms()),
        token: note.token,
        role: note.role,
        address: note.address,
        method: note.method,
        path: note.path,
        status: note.status,
        node: node.ids.node(),
        detail: note.detail,
        version: note.version,
    };
    node.store.audit(row).await
}
