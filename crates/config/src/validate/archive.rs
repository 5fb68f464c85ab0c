//! Checks of `[archive]`. The URL holds a password, so no message repeats any of it.

use super::Findings;
use crate::{ArchiveFormat, Config};

pub(super) fn check_archive(config: &Config, found: &mut Findings) {
    let archive = &config.archive;
    let needs_url = archive.enabled && archive.format == ArchiveFormat::Database;
    found.require(
        "archive.database_url",
        archive.database_url.is_some() || !needs_url,
        "is missing, and archive.format is \"database\"",
    );
}
