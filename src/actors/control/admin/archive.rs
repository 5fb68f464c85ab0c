//! How the archive stands: what waits is the store's, what was written is this node's.

use std::sync::Arc;

use super::context::AdminContext;
use crate::api::{Archive, time};
use crate::config::ArchiveFormat;
use crate::pb::Refusal;
use crate::store::outbox::EventReader;
use crate::telemetry::metrics::ReaderLabel;

/// The archive as it stands.
pub async fn show(admin: Arc<AdminContext>) -> Result<Archive, Refusal> {
    let node = &admin.node;
    let config = node.config();
    let section = &config.archive;
    if !section.enabled {
        return Ok(Archive::default());
    }
    let waiting = node.store.backlog().await?;
    let mine = waiting
        .iter()
        .find(|one| one.reader == EventReader::Archive);
    let dir = config.archive_dir().display().to_string();
    let reader = EventReader::Archive.name();
    let read = node.metrics.outbox_read.get(&ReaderLabel { reader });
    Ok(Archive {
        enabled: true,
        format: section.format.to_string(),
        dir: match section.format {
            ArchiveFormat::Database => String::new(),
            ArchiveFormat::Jsonl | ArchiveFormat::Parquet => dir,
        },
        waiting: mine.map_or(0, |one| one.events),
        oldest_at: mine.and_then(|one| time(one.oldest_at)),
        writes_here: node.local_lease.is_janitor(),
        messages: read.map_or(0, |counter| counter.get()),
        octets: node.metrics.archive_octets.get(),
        failures: node.metrics.archive_failures.get(),
    })
}
