//! Files named in a configuration change: only some may be named through the API.

use super::error::SettingsError;
use super::state::ConfigState;
use crate::config::{self, Config};
use crate::domain::settings::Resources;

impl ConfigState {
    /// Whether every file that the resources name may be named through the API. Blocks.
    pub(super) fn check_files(
        &self,
        before: &Resources,
        after: &Resources,
    ) -> Result<(), SettingsError> {
        let file = self.file.load();
        let folder = file.http.files_dir.as_deref();
        let own = file.resources();
        let mut found = config::files_out_of_reach(after, folder, &[before, &own]);
        // The file may have been edited since it was read: `smsc apply` sends its current content.
        if !found.is_empty()
            && let Some(Ok(now)) = self.path.as_ref().map(|path| Config::load(Some(path)))
        {
            found = config::files_out_of_reach(after, folder, &[before, &own, &now.resources()]);
        }
        SettingsError::if_any(found)
    }
}
