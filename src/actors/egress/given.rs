//! A connection that an operator's gateway has made to us: handed from the listener to the session that serves it.
//!
//! Invariants: it is taken once, so that a session that is started again ends; it counts against
//! `sgip.max_connections` as long as the session is there.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::actors::runtime::link::Wire;
use crate::actors::runtime::locks::lock;

/// See the file's documentation.
#[derive(Clone)]
pub struct Given {
    /// With the address of the gateway.
    wire: Arc<Mutex<Option<(Wire, String)>>>,
    _counted: Arc<Counted>,
}

/// A connection counts until this is dropped.
pub struct Counted(Arc<AtomicUsize>);

// === impl Given ===

impl Given {
    pub fn new(wire: Wire, peer: String, counted: Counted) -> Self {
        Self {
            wire: Arc::new(Mutex::new(Some((wire, peer)))),
            _counted: Arc::new(counted),
        }
    }

    pub fn take(&self) -> Option<(Wire, String)> {
        lock(&self.wire).take()
    }
}

// === impl Counted ===

impl Counted {
    pub fn new(open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(open))
    }

    /// How many there are with this one.
    pub fn so_many(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
