//! What names a lane of callbacks.

use std::sync::Arc;

use crate::domain::callback::target::CallbackTarget;

/// Names a lane.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LaneKey {
    pub(super) host: HostKey,
    path: Arc<str>,
}

/// Whether by HTTPS, port and host.
pub(super) type HostKey = (bool, u16, Arc<str>);

// === impl LaneKey ===

impl LaneKey {
    /// That of a URL, with its path as far as that is the same for each message.
    pub(super) fn of(target: &CallbackTarget, path: &Arc<str>) -> Self {
        Self {
            host: (target.is_https(), target.port(), target.host().into()),
            path: Arc::clone(path),
        }
    }
}
