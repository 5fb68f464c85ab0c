//! Checks of `[archive]`. The URL holds a password, so no message repeats any of it.

use super::Findings;
use crate::{ArchiveFormat, Config};

pub(super) fn check_archive(config: &Config, found: &mut Findings) {
    let archive = &config.archive;
    found.at_least_one("archive.rotate_mib", archive.rotate_mib);
    found.check_positive("archive.rotate_every", archive.rotate_every);
    found.check_positive("archive.wait_for_node", archive.wait_for_node);
    found.check_positive("archive.database_timeout", archive.database_timeout);
    if let Some(url) = &archive.database_url {
        found.check_postgres_url("archive.database_url", url);
    }
    let needs_url = archive.enabled && archive.format == ArchiveFormat::Database;
    found.require(
        "archive.database_url",
        archive.database_url.is_some() || !needs_url,
        "is missing, and archive.format is \"database\"",
    );
}
