//! Entries of the audit log, from the admin API and from the HTTP API for accounts.

use super::NodeContext;
use crate::clock;
use crate::pb::NoteAudit;
use crate::store::StoreError;
use crate::store::access::AuditRow;

/// Writes an entry of the audit log, with the time and this node.
///
/// # Errors
/// The store does not answer.
pub async fn write_audit(node: &NodeContext, note: NoteAudit) -> Result<(), StoreError> {
    let row = AuditRow {
        id: node.ids.next_anyway(clock::now_ms()),
        token: note.token,
        role: note.role,
        address: note.address,
        method: note.method,
        path: note.path,
        status: note.status as u16,
        node: node.ids.node(),
        detail: note.detail,
    };
    node.store.audit(row).await
}
